-- name: one_snapshot
-- All counts are of one moment (PostgreSQL only; on SQLite every transaction that reads is).
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY

-- name: by_index
-- Every search below is of an index in its own order, or of one entry. While PostgreSQL has no statistics about a million
-- rows, after a large fill, it would sort or hash them all instead (PostgreSQL only).
SELECT set_config('enable_sort', 'off', TRUE), set_config('enable_bitmapscan', 'off', TRUE),
       set_config('enable_seqscan', 'off', TRUE), set_config('enable_hashjoin', 'off', TRUE),
       set_config('enable_mergejoin', 'off', TRUE), set_config('enable_nestloop', 'on', TRUE),
       set_config('jit', 'off', TRUE)

-- name: by_merge
-- From here to the next by_index, two indexes are read side by side (PostgreSQL only).
SELECT set_config('enable_mergejoin', 'on', TRUE), set_config('enable_nestloop', 'off', TRUE)

-- name: producer
-- The job that produces a dataset, whether it is on hold, and whether its done work may lack chunks there.
SELECT j.job_id, j.hold, EXISTS (SELECT 1 FROM late_output l WHERE l.dataset_id = o.dataset_id)
FROM job_output o JOIN job j ON j.job_id = o.job_id
WHERE o.dataset_id = :dataset_id

-- name: strata
-- Which states, holds and priorities a job's open work has: for each of them work_open is in the order of dataids. Found
-- one by one, as there are few among many entries.
WITH RECURSIVE part (state, hold) AS (
    SELECT 'WAITING', FALSE UNION ALL SELECT 'WAITING', TRUE UNION ALL SELECT 'CLAIMABLE', FALSE
    UNION ALL SELECT 'CLAIMABLE', TRUE UNION ALL SELECT 'FAILED', FALSE UNION ALL SELECT 'FAILED', TRUE
    UNION ALL SELECT 'INVALID', FALSE UNION ALL SELECT 'INVALID', TRUE),
stratum (state, hold, priority) AS (
    SELECT p.state, p.hold,
           (SELECT w.priority FROM work w
            WHERE w.job_id = :job_id AND w.state = p.state AND w.hold = p.hold AND w.state <> 'DONE' AND w.state <> 'RUNNING'
            ORDER BY w.priority DESC LIMIT 1)
    FROM part p
    UNION ALL
    SELECT s.state, s.hold,
           (SELECT w.priority FROM work w
            WHERE w.job_id = :job_id AND w.state = s.state AND w.hold = s.hold AND w.state <> 'DONE' AND w.state <> 'RUNNING'
              AND w.priority < s.priority
            ORDER BY w.priority DESC LIMIT 1)
    FROM stratum s WHERE s.priority IS NOT NULL)
SELECT state, hold, priority FROM stratum WHERE priority IS NOT NULL

-- name: chunk_ends
SELECT (SELECT min(c.sort_key) FROM chunk c WHERE c.dataset_id = :dataset_id),
       (SELECT max(c.sort_key) FROM chunk c WHERE c.dataset_id = :dataset_id)

-- name: work_ends
SELECT (SELECT min(w.sort_key) FROM work w WHERE $one_stratum), (SELECT max(w.sort_key) FROM work w WHERE $one_stratum)

-- name: chunk_cuts
-- Every so many chunks one, in order, from one place to before another. It steps over the entries of an index, once.
WITH RECURSIVE cut (sort_key) AS (
    SELECT (SELECT c.sort_key FROM chunk c
            WHERE c.dataset_id = :dataset_id AND c.sort_key >= :first AND c.sort_key < :last
            ORDER BY c.dataset_id, c.sort_key LIMIT 1)
    UNION ALL
    SELECT (SELECT c.sort_key FROM chunk c
            WHERE c.dataset_id = :dataset_id AND c.sort_key > cut.sort_key AND c.sort_key < :last
            ORDER BY c.dataset_id, c.sort_key LIMIT 1 OFFSET :step - 1)
    FROM cut WHERE cut.sort_key IS NOT NULL)
SELECT sort_key FROM cut WHERE sort_key IS NOT NULL

-- name: work_cuts
-- The same for open work.
WITH RECURSIVE cut (sort_key) AS (
    SELECT (SELECT w.sort_key FROM work w
            WHERE $one_stratum AND w.sort_key >= :first AND w.sort_key < :last
            ORDER BY w.job_id, w.state, w.hold, w.priority DESC, w.sort_key LIMIT 1)
    UNION ALL
    SELECT (SELECT w.sort_key FROM work w
            WHERE $one_stratum AND w.sort_key > cut.sort_key AND w.sort_key < :last
            ORDER BY w.job_id, w.state, w.hold, w.priority DESC, w.sort_key LIMIT 1 OFFSET :step - 1)
    FROM cut WHERE cut.sort_key IS NOT NULL)
SELECT sort_key FROM cut WHERE sort_key IS NOT NULL

-- name: chunk_counts
-- Chunks of each part. One search of an index for each, as in all queries below: to group them all would sort them all.
SELECT batch.dataid,
       (SELECT count(*) FROM chunk c
        WHERE c.dataset_id = :dataset_id AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key)
FROM $batch

-- name: chunk_spans
-- The first and last chunk of each part, in order.
SELECT batch.dataid,
       (SELECT min(c.sort_key) FROM chunk c
        WHERE c.dataset_id = :dataset_id AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key),
       (SELECT max(c.sort_key) FROM chunk c
        WHERE c.dataset_id = :dataset_id AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key)
FROM $batch

-- name: unready_chunks
-- Chunks of each part that are not ready, and those of them that cannot be read.
SELECT batch.dataid,
       (SELECT count(*) FROM chunk c
        WHERE c.dataset_id = :dataset_id AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key
          AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)),
       (SELECT count(*) FROM chunk c
        WHERE c.dataset_id = :dataset_id AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key
          AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL) AND (c.withdrawn OR c.dirty_run_id IS NOT NULL))
FROM $batch

-- name: work
-- Open work of one stratum in each part, and the first and last of it.
SELECT batch.dataid,
       (SELECT count(*) FROM work w
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key),
       (SELECT min(w.sort_key) FROM work w
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key),
       (SELECT max(w.sort_key) FROM work w
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key)
FROM $batch

-- name: work_with_chunk
-- How much of it has a chunk. Asked for each among the columns, as PostgreSQL would turn EXISTS into a join of
-- everything; a place in order has one chunk.
SELECT batch.dataid,
       (SELECT count((SELECT 1 FROM chunk c WHERE c.dataset_id = :dataset_id AND c.sort_key = w.sort_key))
        FROM work w
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key)
FROM $batch

-- name: work_beside_chunks @postgres
-- The same, side by side: quicker where much of the work has a chunk.
SELECT batch.dataid,
       (SELECT count(*) FROM work w CROSS JOIN chunk c
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key
          AND c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
          AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key)
FROM $batch

-- name: work_with_unready
-- How much of it has a chunk that is not ready, and one that cannot be read.
SELECT batch.dataid,
       (SELECT count((SELECT 1 FROM chunk c
                    WHERE c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
                      AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)))
        FROM work w
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key),
       (SELECT count((SELECT 1 FROM chunk c
                    WHERE c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
                      AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)
                      AND (c.withdrawn OR c.dirty_run_id IS NOT NULL)))
        FROM work w
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key)
FROM $batch

-- name: work_beside_unready @postgres
SELECT batch.dataid,
       (SELECT count(*) FROM work w CROSS JOIN chunk c
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key
          AND c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
          AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key
          AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)),
       (SELECT count(*) FROM work w CROSS JOIN chunk c
        WHERE $one_stratum AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key
          AND c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
          AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key
          AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL) AND (c.withdrawn OR c.dirty_run_id IS NOT NULL))
FROM $batch

-- name: resubmitted
SELECT batch.dataid,
       (SELECT count(*) FROM work w
        WHERE $resubmitted AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key)
FROM $batch

-- name: resubmitted_with_chunk
SELECT batch.dataid,
       (SELECT count((SELECT 1 FROM chunk c WHERE c.dataset_id = :dataset_id AND c.sort_key = w.sort_key))
        FROM work w
        WHERE $resubmitted AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key)
FROM $batch

-- name: resubmitted_beside_chunks @postgres
-- The same, side by side: quicker where much of the work has a chunk.
SELECT batch.dataid,
       (SELECT count(*) FROM work w CROSS JOIN chunk c
        WHERE $resubmitted AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key
          AND c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
          AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key)
FROM $batch

-- name: resubmitted_with_unready
SELECT batch.dataid,
       (SELECT count((SELECT 1 FROM chunk c
                    WHERE c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
                      AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)))
        FROM work w
        WHERE $resubmitted AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key),
       (SELECT count((SELECT 1 FROM chunk c
                    WHERE c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
                      AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)
                      AND (c.withdrawn OR c.dirty_run_id IS NOT NULL)))
        FROM work w
        WHERE $resubmitted AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key)
FROM $batch

-- name: resubmitted_beside_unready @postgres
SELECT batch.dataid,
       (SELECT count(*) FROM work w CROSS JOIN chunk c
        WHERE $resubmitted AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key
          AND c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
          AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key
          AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)),
       (SELECT count(*) FROM work w CROSS JOIN chunk c
        WHERE $resubmitted AND w.sort_key >= batch.dataid AND w.sort_key < batch.sort_key
          AND c.dataset_id = :dataset_id AND c.sort_key = w.sort_key
          AND c.sort_key >= batch.dataid AND c.sort_key < batch.sort_key
          AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL) AND (c.withdrawn OR c.dirty_run_id IS NOT NULL))
FROM $batch

-- name: running
-- The few that run, with what is published of them.
SELECT w.sort_key, w.dataid, c.chunk_id IS NOT NULL, coalesce(c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL, FALSE),
       coalesce(c.withdrawn OR c.dirty_run_id IS NOT NULL, FALSE)
FROM run r
JOIN work w ON w.work_id = r.work_id
LEFT JOIN chunk c ON c.dataset_id = :dataset_id AND c.dataid = w.dataid
WHERE r.job_id = :job_id AND r.ended_at IS NULL AND w.state = 'RUNNING'
  AND w.sort_key >= :first AND w.sort_key < :last

-- name: done_without_chunk
-- Of an output that its job got later: what was done before.
SELECT w.sort_key, w.dataid FROM work w
WHERE w.job_id = :job_id AND w.state = 'DONE' AND w.sort_key >= :first AND w.sort_key < :last
  AND NOT EXISTS (SELECT 1 FROM chunk c WHERE c.dataset_id = :dataset_id AND c.dataid = w.dataid)

-- name: chunk_names
-- The dataids at some places in order; NULL where there is none. Among the columns, as above.
SELECT ids.id, (SELECT c.dataid FROM chunk c WHERE c.dataset_id = :dataset_id AND c.sort_key = ids.id) FROM $names

-- name: work_names
SELECT ids.id, (SELECT w.dataid FROM work w WHERE $one_stratum AND w.sort_key = ids.id) FROM $names

-- name: next_chunks
-- The next chunks in order after a place, as in all queries below.
SELECT c.sort_key, c.dataid FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.sort_key > :after ORDER BY c.dataset_id, c.sort_key LIMIT :most

-- name: next_unready
SELECT c.sort_key, c.dataid FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.sort_key > :after AND (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL)
ORDER BY c.dataset_id, c.sort_key LIMIT :most

-- name: next_work
SELECT w.sort_key, w.dataid FROM work w
WHERE $one_stratum AND w.sort_key > :after
ORDER BY w.job_id, w.state, w.hold, w.priority DESC, w.sort_key LIMIT :most

-- name: next_resubmitted
SELECT w.sort_key, w.dataid FROM work w
WHERE $resubmitted AND w.sort_key > :after ORDER BY w.job_id, w.hold, w.sort_key LIMIT :most

-- name: rows
-- Some chunks with the status people see, as in chunk_status and reading.chunks: a search for each, where the view would
-- read all work and all chunks. Found by their ids, as PostgreSQL without statistics would read all chunks here, too.
WITH known AS MATERIALIZED (
    SELECT batch.dataid,
           (SELECT c.chunk_id FROM chunk c WHERE c.dataset_id = :dataset_id AND c.dataid = batch.dataid) AS chunk_id,
           (SELECT w.work_id FROM work w
            WHERE w.job_id = (SELECT o.job_id FROM job_output o WHERE o.dataset_id = :dataset_id)
              AND w.dataid = batch.dataid) AS work_id
    FROM $batch)
SELECT d.name, known.dataid,
       CASE
           WHEN w.state IN ('RUNNING', 'FAILED', 'INVALID') THEN w.state
           WHEN w.state IN ('WAITING', 'CLAIMABLE') AND (w.hold OR j.hold) THEN 'HOLD'
           WHEN w.state IN ('WAITING', 'CLAIMABLE') AND w.resubmitted THEN 'RESUBMIT'
           WHEN c.chunk_id IS NULL OR c.version = 0 OR c.withdrawn OR c.dirty_run_id IS NOT NULL THEN 'PENDING'
           WHEN c.stale THEN 'STALE'
           ELSE 'READY'
       END,
       coalesce(c.version, 0),
       CASE WHEN c.chunk_id IS NULL OR w.modified_at > c.modified_at THEN w.modified_at ELSE c.modified_at END,
       coalesce(c.location, ''), c.chunk_id, coalesce(r.lacked, 0)
FROM known
CROSS JOIN dataset d
LEFT JOIN chunk c ON c.chunk_id = known.chunk_id
LEFT JOIN work w ON w.work_id = known.work_id
LEFT JOIN job j ON j.job_id = w.job_id
LEFT JOIN run r ON r.run_id = c.run_id
WHERE d.dataset_id = :dataset_id AND (known.chunk_id IS NOT NULL OR known.work_id IS NOT NULL)

-- name: readers
-- Which live runs read some chunks.
SELECT i.chunk_id, i.run_id FROM $ids CROSS JOIN run_input i CROSS JOIN run r
WHERE i.chunk_id = ids.id AND r.run_id = i.run_id
  AND r.ended_at IS NULL AND r.lease_until > $lease_now AND r.clock_id = $clock_id
ORDER BY i.run_id
