-- The last run of a work when it was called for again; 0 for none. Run ids only grow, while a wall clock can be set.
ALTER TABLE work ADD COLUMN called_run_id bigint NOT NULL DEFAULT 0;
UPDATE work SET called_run_id = coalesce(
    (SELECT max(r.run_id) FROM run r
     WHERE r.dataid = work.dataid AND r.work_id = work.work_id AND r.started_at < work.called_at), 0)
WHERE state <> 'DONE' AND run_id > 0;
