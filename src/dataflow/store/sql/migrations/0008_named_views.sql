-- What `dataflow sql` reads most, with names in place of ids.
DROP VIEW IF EXISTS named_chunk;
CREATE VIEW named_chunk AS
SELECT d.name AS dataset, s.dataid, s.status, s.version, s.location, coalesce(j.name, '') AS job, s.modified_at
FROM chunk_status s
JOIN dataset d ON d.dataset_id = s.dataset_id
LEFT JOIN job j ON j.job_id = s.job_id;

DROP VIEW IF EXISTS named_work;
CREATE VIEW named_work AS
SELECT j.name AS job, w.dataid, w.state, w.hold OR j.hold AS hold, w.resubmitted, w.missing, w.attempts,
       nullif(w.run_id, 0) AS run_id, w.reason, w.called_at, w.modified_at
FROM work w
JOIN job j ON j.job_id = w.job_id;

DROP VIEW IF EXISTS named_run_input;
CREATE VIEW named_run_input AS
SELECT i.run_id, r.job, r.dataid, d.name AS dataset, c.dataid AS input_dataid, i.version
FROM run_input i
JOIN run r ON r.run_id = i.run_id
JOIN chunk c ON c.chunk_id = i.chunk_id
JOIN dataset d ON d.dataset_id = c.dataset_id;
