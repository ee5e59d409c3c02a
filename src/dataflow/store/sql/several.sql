-- name: called
-- The work that some chunks of an input mapped `pairs` call for.
SELECT p.dataid, p.chunk FROM job_pair p
WHERE p.job_id = :job_id AND p.dataset_id = :dataset_id AND p.chunk IN (SELECT batch.dataid FROM $batch)

-- name: needed
-- The chunks of an input mapped `pairs` that a work needs.
SELECT chunk FROM job_pair WHERE job_id = :job_id AND dataset_id = :dataset_id AND dataid = :dataid

-- name: needed_counts
-- How many chunks of an input mapped `pairs` each of some works needs.
SELECT p.dataid, count(*) FROM job_pair p
WHERE p.job_id = :job_id AND p.dataset_id = :dataset_id AND p.dataid IN (SELECT batch.dataid FROM $batch)
GROUP BY p.dataid

-- name: count_present
-- Some chunks of an input became ready or stopped being ready: as many as each call says. Materialized, so that SQLite
-- reads the calls once and looks each work up.
WITH moved AS MATERIALIZED (
    SELECT w.work_id, calls.position, calls.number FROM $calls
    CROSS JOIN work w WHERE w.job_id = calls.job_id AND w.dataid = calls.dataid)
UPDATE work_input SET present = present + moved.number
FROM moved
WHERE work_input.work_id = moved.work_id AND work_input.position = moved.position

-- name: set_present
-- How many ready chunks of an input there are, of work whose chunks were not counted when they became ready.
WITH counted AS MATERIALIZED (
    SELECT w.work_id, calls.position, calls.number FROM $calls
    CROSS JOIN work w WHERE w.job_id = calls.job_id AND w.dataid = calls.dataid)
UPDATE work_input SET present = counted.number
FROM counted
WHERE work_input.work_id = counted.work_id AND work_input.position = counted.position

-- name: set_needed
-- How many chunks of its inputs each of some works waits for, and until when for all of them.
WITH wanted AS MATERIALIZED (
    SELECT w.work_id, CAST(value ->> 'position' AS integer) AS position,
           CAST(value ->> 'needed' AS integer) AS needed,
           CAST(value ->> 'deadline' AS double precision) AS deadline
    FROM $records CROSS JOIN work w WHERE w.job_id = :job_id AND w.dataid = value ->> 'dataid')
UPDATE work_input SET needed = wanted.needed, deadline = wanted.deadline
FROM wanted
WHERE work_input.work_id = wanted.work_id AND work_input.position = wanted.position

-- name: insert_deadlines
INSERT INTO work_deadline (job_id, deadline, work_id)
SELECT DISTINCT w.job_id, CAST(value ->> 'deadline' AS double precision), w.work_id
FROM $records CROSS JOIN work w
WHERE w.job_id = :job_id AND w.dataid = value ->> 'dataid' AND value ->> 'deadline' IS NOT NULL
ON CONFLICT (job_id, deadline, work_id) DO NOTHING

-- name: due_deadlines
-- Work that need not wait for all chunks any more. Bounded, and what a publisher has locked is left to the next claim.
SELECT d.work_id FROM work_deadline d CROSS JOIN work w
WHERE d.job_id = :job_id AND d.deadline <= $due_now AND w.work_id = d.work_id
ORDER BY d.deadline LIMIT 1000 $skip_locked

-- name: relax
-- After the deadline one chunk is enough; with none the work goes on waiting.
UPDATE work_input SET needed = $least(needed, 1), deadline = NULL
WHERE work_id IN (SELECT ids.id FROM $ids) AND deadline <= $due_now

-- name: end_deadlines
DELETE FROM work_deadline
WHERE job_id = :job_id AND deadline <= $due_now AND work_id IN (SELECT ids.id FROM $ids)

-- name: relax_work
UPDATE work
SET missing = (SELECT count(*) FROM work_input x WHERE x.work_id = work.work_id AND x.present < x.needed)
WHERE work_id IN (SELECT ids.id FROM $ids)

-- name: promote
UPDATE work SET state = 'CLAIMABLE', reason = '', modified_at = $now_at,
    called_at = CASE WHEN run_id = 0 THEN $now_at ELSE called_at END
WHERE work_id IN (SELECT ids.id FROM $ids) AND state = 'WAITING' AND missing = 0 AND not_before IS NULL

-- name: pin
-- Remembers the versions of some chunks of an input that are ready now.
INSERT INTO run_input (run_id, position, chunk_id, version)
SELECT :run_id, :position, c.chunk_id, c.version
FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch)
  AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL

-- name: readable
-- What `pin` would pin, as a run would read it.
SELECT :position, c.chunk_id, c.dataid, c.version, c.location, c.size, c.checked, c.dirty_run_id
FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch)
  AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
ORDER BY c.sort_key

-- name: all_readable
-- The same of all chunks of an input.
SELECT :position, c.chunk_id, c.dataid, c.version, c.location, c.size, c.checked, c.dirty_run_id
FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
ORDER BY c.sort_key

-- name: set_lacked
-- How many chunks that its work needs a run does without.
UPDATE run SET lacked = :lacked WHERE run_id = :run_id

-- name: unread_among
-- Whether a chunk of a batch is ready that a run has not read.
SELECT 1 FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch)
  AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
  AND NOT EXISTS (SELECT 1 FROM run_input i
                  WHERE i.run_id = :run_id AND i.position = :position AND i.chunk_id = c.chunk_id)
LIMIT 1

-- name: unread
-- The same of all chunks of an input.
SELECT 1 FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
  AND NOT EXISTS (SELECT 1 FROM run_input i
                  WHERE i.run_id = :run_id AND i.position = :position AND i.chunk_id = c.chunk_id)
LIMIT 1

-- name: tried_after
-- A job's work that a run has had, after a dataid.
SELECT dataid, sort_key FROM work
WHERE job_id = :job_id AND dataid > :after AND run_id > 0
ORDER BY dataid LIMIT :most

-- name: ready_count
-- How many chunks of a dataset are ready, counted up to a number.
SELECT count(*) FROM (SELECT 1 FROM chunk c
    WHERE c.dataset_id = :dataset_id AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
    LIMIT :most) AS counted

-- name: delete_pairs
DELETE FROM job_pair WHERE job_id = :job_id AND dataset_id = :dataset_id

-- name: insert_pairs
INSERT INTO job_pair (job_id, dataset_id, dataid, chunk)
SELECT :job_id, :dataset_id, batch.dataid, batch.sort_key FROM $batch
WHERE TRUE
ON CONFLICT (job_id, dataset_id, dataid, chunk) DO NOTHING

-- name: delete_unused_pairs
-- Lists of inputs that jobs no longer have, or have with another mapping.
DELETE FROM job_pair
WHERE job_id IN (SELECT ids.id FROM $ids)
  AND NOT EXISTS (SELECT 1 FROM job_input i WHERE i.job_id = job_pair.job_id AND i.dataset_id = job_pair.dataset_id
                  AND i.mapping = 'pairs')

-- name: delete_deadlines
DELETE FROM work_deadline WHERE job_id = :job_id

-- name: delete_ended_deadlines
-- Deadlines of work that is no more.
DELETE FROM work_deadline
WHERE job_id = :job_id AND NOT EXISTS (SELECT 1 FROM work w WHERE w.work_id = work_deadline.work_id)

-- name: pairs_of
-- The list of an input mapped `pairs`.
SELECT dataid, chunk FROM job_pair WHERE job_id = :job_id AND dataset_id = :dataset_id

-- name: count_pairs
SELECT count(*) FROM job_pair WHERE job_id = :job_id AND dataset_id = :dataset_id

-- name: counts
-- What is kept of a work's inputs: how many chunks it waits for, how many are ready, and until when.
SELECT position, needed, present, deadline FROM work_input WHERE work_id = :work_id ORDER BY position

-- name: lacked
SELECT lacked FROM run WHERE run_id = :run_id

-- name: relaxed
-- Inputs with a deadline that a claim has seen to be over.
SELECT w.dataid, x.position FROM job_input i
JOIN work w ON w.job_id = i.job_id
JOIN work_input x ON x.work_id = w.work_id AND x.position = i.position
WHERE i.job_id = :job_id AND i.rule LIKE 'by %' AND x.deadline IS NULL
