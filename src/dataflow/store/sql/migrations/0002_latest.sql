-- The mapping `latest`: of each such input, which ready chunk is the newest and the last work that it covers, as
-- places in order ('' for none). The row is also what is locked by those who move the one or make work by the other.
ALTER TABLE job_input ADD COLUMN newest $sort NOT NULL DEFAULT '';
ALTER TABLE job_input ADD COLUMN reach $sort NOT NULL DEFAULT '';
