-- online
-- Chunks and work are counted by status over parts of a dataset without reading their rows. A step that was interrupted
-- can be taken again: PostgreSQL leaves an index behind that is not valid.

-- Chunks that are there but not ready, in order; what asked for chunk_odd finds this one.
DROP INDEX $concurrently IF EXISTS chunk_unready;
CREATE INDEX $concurrently chunk_unready ON chunk (dataset_id, sort_key, withdrawn, stale, dirty_run_id)
WHERE stale OR withdrawn OR dirty_run_id IS NOT NULL;
DROP INDEX $concurrently IF EXISTS chunk_odd;

-- Open work that an operator has called for again.
DROP INDEX $concurrently IF EXISTS work_resubmitted;
CREATE INDEX $concurrently work_resubmitted ON work (job_id, hold, sort_key)
WHERE resubmitted AND state <> 'DONE' AND state <> 'RUNNING' AND state <> 'FAILED' AND state <> 'INVALID';

-- Outputs that a job got when it had work: what was done before has no chunk there. All other done work has its chunks.
CREATE TABLE IF NOT EXISTS late_output (dataset_id bigint NOT NULL PRIMARY KEY);
INSERT INTO late_output (dataset_id)
SELECT o.dataset_id FROM job_output o
WHERE EXISTS (SELECT 1 FROM work w
              WHERE w.job_id = o.job_id AND w.state = 'DONE'
                AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.dataset_id = o.dataset_id AND c.dataid = w.dataid))
ON CONFLICT DO NOTHING;

-- How many runs of each job had each outcome, up to the run that meta names, also those that were purged since; and the
-- runs up to there that had not ended.
CREATE TABLE IF NOT EXISTS run_tally (
    job text NOT NULL,
    outcome text NOT NULL,
    runs bigint NOT NULL,
    last_at $time NOT NULL,
    PRIMARY KEY (job, outcome)
);
CREATE TABLE IF NOT EXISTS run_untallied (run_id bigint NOT NULL PRIMARY KEY);
INSERT INTO meta (key, value) VALUES ('tallied', '0') ON CONFLICT DO NOTHING;
