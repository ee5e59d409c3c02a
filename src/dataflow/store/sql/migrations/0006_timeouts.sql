-- How long a run of a job may take; 0 for as long as it likes.
ALTER TABLE job ADD COLUMN timeout_seconds double precision NOT NULL DEFAULT 0;
