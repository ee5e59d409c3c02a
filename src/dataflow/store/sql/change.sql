-- name: made_from
-- The published results whose run read some chunks of a dataset, each with the job that made it. Of a new version only
-- who read an older one; all of them if the chunks are :wrong. Here and below each run is looked up by itself (joined,
-- PostgreSQL would read all runs there ever were), and only of what is asked for (hence the inner DISTINCT).
SELECT DISTINCT made.chunk_id, made.dataid, r.job_id
FROM (SELECT DISTINCT i.run_id, (SELECT run.job_id FROM run WHERE run.run_id = i.run_id) AS job_id,
             (SELECT run.dataid FROM run WHERE run.run_id = i.run_id) AS dataid
      FROM chunk c JOIN run_input i ON i.chunk_id = c.chunk_id AND (:wrong OR i.version < c.version)
      WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch)) AS r
JOIN job_output o ON o.job_id = r.job_id
JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = r.dataid AND made.run_id = r.run_id

-- name: tried_with
-- Work whose last run read some chunks in an older version, and which no published result can speak for: it failed, or
-- it is done without a result that a run made.
SELECT DISTINCT w.job_id, w.dataid, w.state
FROM (SELECT DISTINCT i.run_id, (SELECT run.work_id FROM run WHERE run.run_id = i.run_id) AS work_id
      FROM chunk c JOIN run_input i ON i.chunk_id = c.chunk_id AND i.version < c.version
      WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch)) AS r
JOIN work w ON w.work_id = r.work_id AND w.run_id = r.run_id
WHERE w.state IN ('FAILED', 'INVALID')
      AND EXISTS (SELECT 1 FROM job_input x WHERE x.job_id = w.job_id AND x.dataset_id = :dataset_id)
   OR w.state = 'DONE' AND NOT EXISTS (
      SELECT 1 FROM job_output o JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = w.dataid
      WHERE o.job_id = w.job_id AND made.run_id IS NOT NULL)

-- name: done_without_output
-- Work without outputs that is done with some wrong chunks, or with what was made from them.
WITH RECURSIVE reached (chunk_id) AS (
    SELECT ids.id FROM $ids
    UNION
    SELECT made.chunk_id
    FROM reached
    JOIN run_input i ON i.chunk_id = reached.chunk_id
    JOIN job_output o ON o.job_id = (SELECT run.job_id FROM run WHERE run.run_id = i.run_id)
    JOIN chunk made ON made.dataset_id = o.dataset_id AND made.run_id = i.run_id
                   AND made.dataid = (SELECT run.dataid FROM run WHERE run.run_id = i.run_id))
SELECT DISTINCT w.job_id, w.dataid
FROM reached
JOIN run_input i ON i.chunk_id = reached.chunk_id
JOIN work w ON w.work_id = (SELECT run.work_id FROM run WHERE run.run_id = i.run_id) AND w.run_id = i.run_id
WHERE w.state = 'DONE' AND NOT EXISTS (SELECT 1 FROM job_output o WHERE o.job_id = w.job_id)

-- name: states_of
-- The states of some work.
SELECT w.job_id, w.dataid, w.state FROM $calls
CROSS JOIN work w
WHERE w.job_id = calls.job_id AND w.dataid = calls.dataid

-- name: outputs_of
-- The published outputs of some work.
SELECT made.chunk_id, made.dataid, o.job_id
FROM $calls
CROSS JOIN job_output o
CROSS JOIN chunk made
WHERE o.job_id = calls.job_id AND made.dataset_id = o.dataset_id AND made.dataid = calls.dataid AND made.version > 0

-- name: made_down_the_line
-- The current results that were made from some stale chunks, directly or through others. What is stale already has been
-- passed on before, and what its job ignores is not passed on; unless the data is :wrong.
WITH RECURSIVE reached (chunk_id, job_id, ignores) AS (
    SELECT ids.id, CAST(0 AS bigint), FALSE FROM $ids
    UNION
    SELECT made.chunk_id, j.job_id, j.on_change = 'ignore'
    FROM reached
    JOIN run_input i ON i.chunk_id = reached.chunk_id
    JOIN job j ON j.job_id = (SELECT run.job_id FROM run WHERE run.run_id = i.run_id)
              AND (:wrong OR j.on_change <> 'ignore')
    JOIN job_output o ON o.job_id = j.job_id
    JOIN chunk made ON made.dataset_id = o.dataset_id AND made.run_id = i.run_id
                   AND made.dataid = (SELECT run.dataid FROM run WHERE run.run_id = i.run_id)
    WHERE :wrong OR NOT made.stale)
SELECT reached.chunk_id, c.dataid, reached.job_id, reached.ignores
FROM reached JOIN chunk c ON c.chunk_id = reached.chunk_id
WHERE reached.job_id > 0

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

-- name: results
-- What is published of some work, and by which run.
SELECT c.chunk_id, c.dataid, d.name, c.stale, c.withdrawn, c.dirty_run_id, c.run_id
FROM job_output o
JOIN dataset d ON d.dataset_id = o.dataset_id
JOIN chunk c ON c.dataset_id = o.dataset_id
WHERE o.job_id = :job_id AND c.dataid IN (SELECT batch.dataid FROM $batch) AND c.version > 0
ORDER BY c.sort_key, d.dataset_id

-- name: lock_pins
-- Keeps what some runs have read from becoming stale until it is looked at (PostgreSQL only).
SELECT c.chunk_id FROM chunk c
WHERE c.chunk_id IN (SELECT i.chunk_id FROM run_input i WHERE i.run_id IN (SELECT ids.id FROM $ids))
ORDER BY c.chunk_id FOR SHARE

-- name: stale_pins
-- What some runs have read that is stale, each with the job that produces it.
SELECT i.run_id, d.name, c.dataid, coalesce(j.name, '')
FROM run_input i
JOIN chunk c ON c.chunk_id = i.chunk_id
JOIN dataset d ON d.dataset_id = c.dataset_id
LEFT JOIN job_output o ON o.dataset_id = c.dataset_id
LEFT JOIN job j ON j.job_id = o.job_id
WHERE i.run_id IN (SELECT ids.id FROM $ids) AND c.stale
ORDER BY i.run_id, d.name, c.sort_key

-- name: make_current
-- Results that are kept as they are, and which of them can be read.
UPDATE chunk
SET stale = FALSE, outdated = FALSE, modified_at = $now_at,
    wrong_version = CASE WHEN wrong_version < version THEN wrong_version ELSE version - 1 END
WHERE chunk_id IN (SELECT ids.id FROM $ids) AND stale
RETURNING chunk_id, dataset_id, dataid, sort_key, (NOT withdrawn AND dirty_run_id IS NULL)

-- name: settle
-- The work of a result that an operator keeps, in any state but RUNNING.
UPDATE work
SET state = 'DONE', resubmitted = FALSE, attempts = 0, losses = 0, returns = 0, not_before = NULL, reason = :reason,
    modified_at = $now_at
WHERE (job_id, dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls) AND state <> 'RUNNING'

-- name: settle_followers
-- Work that was open only because an input was stale, which is current again in the version that was read.
UPDATE work
SET state = 'DONE', attempts = 0, losses = 0, returns = 0, not_before = NULL, reason = '', modified_at = $now_at
WHERE (job_id, dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls)
  AND state IN ('WAITING', 'CLAIMABLE') AND NOT resubmitted

-- name: current_again
-- Results that were stale only because of some chunks which are current again.
SELECT DISTINCT made.chunk_id, made.dataid, r.job_id
FROM (SELECT DISTINCT i.run_id, (SELECT run.job_id FROM run WHERE run.run_id = i.run_id) AS job_id,
             (SELECT run.dataid FROM run WHERE run.run_id = i.run_id) AS dataid
      FROM run_input i WHERE i.chunk_id IN (SELECT ids.id FROM $ids)) AS r
JOIN job_output o ON o.job_id = r.job_id
JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = r.dataid AND made.run_id = r.run_id
WHERE made.stale AND NOT made.outdated
  AND NOT EXISTS (SELECT 1 FROM run_input x JOIN chunk p ON p.chunk_id = x.chunk_id
                  WHERE x.run_id = made.run_id AND p.stale)

-- name: make_wrong
-- Chunks whose current version is wrong, or was made from wrong data.
UPDATE chunk SET wrong_version = version WHERE chunk_id IN (SELECT ids.id FROM $ids)

-- name: chunk_ids
SELECT chunk_id FROM chunk WHERE dataset_id = :dataset_id AND dataid IN (SELECT batch.dataid FROM $batch)

-- name: work_of
-- The work that produces some chunks, locked.
SELECT w.dataid, w.state, w.run_id
FROM work w
WHERE w.job_id = :job_id AND w.dataid IN (SELECT batch.dataid FROM $batch)
ORDER BY w.work_id $for_update
