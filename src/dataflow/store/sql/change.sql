-- name: made_from
-- The published results whose run read some chunks of a dataset, each with the job that made it. Of a new version only
-- who read an older one; all of them if the chunks are :wrong.
SELECT DISTINCT made.chunk_id, made.dataid, r.job_id
FROM chunk c
JOIN run_input i ON i.chunk_id = c.chunk_id AND (:wrong OR i.version < c.version)
JOIN run r ON r.run_id = i.run_id
JOIN job_output o ON o.job_id = r.job_id
JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = r.dataid AND made.run_id = r.run_id
WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch)

-- name: tried_with
-- Work whose last run read some chunks in an older version, and which no published result can speak for: it failed, or
-- it is done without a result that a run made.
SELECT DISTINCT w.job_id, w.dataid, w.state
FROM chunk c
JOIN run_input i ON i.chunk_id = c.chunk_id AND i.version < c.version
JOIN run r ON r.run_id = i.run_id
JOIN work w ON w.work_id = r.work_id AND w.run_id = r.run_id
WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch)
  AND (w.state IN ('FAILED', 'INVALID')
       AND EXISTS (SELECT 1 FROM job_input x WHERE x.job_id = w.job_id AND x.dataset_id = c.dataset_id)
       OR w.state = 'DONE' AND NOT EXISTS (
           SELECT 1 FROM job_output o JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = w.dataid
           WHERE o.job_id = w.job_id AND made.run_id IS NOT NULL))

-- name: outputs_of
-- The published outputs of some work.
SELECT made.chunk_id, made.dataid, o.job_id
FROM $calls
CROSS JOIN job_output o
CROSS JOIN chunk made
WHERE o.job_id = calls.job_id AND made.dataset_id = o.dataset_id AND made.dataid = calls.dataid AND made.version > 0

-- name: made_down_the_line
-- The current results that were made from some stale chunks, directly or through others. What is stale already has been
-- passed on before; what its job ignores is not passed on, unless the data is :wrong.
WITH RECURSIVE reached (chunk_id, job_id) AS (
    SELECT ids.id, 0 FROM $ids
    UNION
    SELECT made.chunk_id, r.job_id
    FROM reached
    JOIN run_input i ON i.chunk_id = reached.chunk_id
    JOIN run r ON r.run_id = i.run_id
    JOIN job j ON j.job_id = r.job_id AND (:wrong OR j.on_change <> 'ignore')
    JOIN job_output o ON o.job_id = r.job_id
    JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = r.dataid AND made.run_id = r.run_id
    WHERE NOT made.stale)
SELECT reached.chunk_id, c.dataid, reached.job_id
FROM reached JOIN chunk c ON c.chunk_id = reached.chunk_id
WHERE reached.job_id > 0 AND NOT c.stale

-- name: make_stale
-- Marks results stale, and says which were ready. :outdated when their own inputs have changed.
UPDATE chunk SET stale = TRUE, outdated = :outdated, modified_at = $now_at
WHERE chunk_id IN (SELECT ids.id FROM $ids) AND NOT stale
RETURNING chunk_id, dataset_id, dataid, sort_key, (NOT withdrawn AND dirty_run_id IS NULL)

-- name: make_outdated
-- Of what was stale because of a stale input: now its own inputs have changed.
UPDATE chunk SET outdated = TRUE
WHERE chunk_id IN (SELECT ids.id FROM $ids) AND NOT outdated

-- name: lock_outputs
-- Keeps registrations out of what some jobs produce (PostgreSQL only).
SELECT 1 FROM dataset
WHERE dataset_id IN (SELECT o.dataset_id FROM job_output o WHERE o.job_id IN (SELECT ids.id FROM $ids))
ORDER BY dataset_id FOR SHARE

-- name: policies
-- Of some jobs those that do not simply redo a result whose inputs change, with the store's own time.
SELECT job_id, on_change, late_after_seconds, $now_seconds FROM job
WHERE job_id IN (SELECT ids.id FROM $ids) AND (on_change <> 'rerun' OR late_after_seconds > 0)

-- name: late_among
-- The calls to work whose result was published before a time.
SELECT DISTINCT calls.job_id, calls.dataid
FROM $calls
CROSS JOIN job_output o
CROSS JOIN chunk made
CROSS JOIN run r
WHERE o.job_id = calls.job_id AND made.dataset_id = o.dataset_id AND made.dataid = calls.dataid
  AND r.run_id = made.run_id AND r.ended_at < :before

