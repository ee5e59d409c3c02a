-- name: feeds
-- What all jobs read and produce.
SELECT j.name, d.name, TRUE, i.mapping FROM job_input i
JOIN job j ON j.job_id = i.job_id JOIN dataset d ON d.dataset_id = i.dataset_id
UNION ALL
SELECT j.name, d.name, FALSE, '' FROM job_output o
JOIN job j ON j.job_id = o.job_id JOIN dataset d ON d.dataset_id = o.dataset_id

-- name: chunks
-- Some chunks as they are published now.
SELECT c.chunk_id, d.name, c.dataid, c.version, c.run_id, c.stale, c.withdrawn
FROM chunk c JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE c.chunk_id IN (SELECT ids.id FROM $ids)
ORDER BY d.name, c.sort_key

-- name: published_among
-- The published chunks of a batch, in order.
SELECT c.chunk_id, c.dataid, c.sort_key FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.dataid IN (SELECT batch.dataid FROM $batch) AND c.version > 0
ORDER BY c.sort_key

-- name: published_between
-- The published chunks from one place in order to another, both included.
SELECT c.chunk_id, c.dataid, c.sort_key FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.sort_key >= :first AND c.sort_key <= :last AND c.version > 0
ORDER BY c.sort_key

-- name: made_from
-- What was made from some chunks, down the line: each published result with its run and what that read on the way.
WITH RECURSIVE reached (chunk_id) AS (
    SELECT ids.id FROM $ids
    UNION
    SELECT made.chunk_id
    FROM reached
    JOIN run_input i ON i.chunk_id = reached.chunk_id
    JOIN run r ON r.run_id = i.run_id
    JOIN job_output o ON o.job_id = r.job_id
    JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = r.dataid AND made.run_id = r.run_id)
SELECT DISTINCT i.chunk_id, i.version, r.run_id, r.job, r.dataid, made.chunk_id, made.version
FROM reached
JOIN run_input i ON i.chunk_id = reached.chunk_id
JOIN run r ON r.run_id = i.run_id
JOIN job_output o ON o.job_id = r.job_id
JOIN chunk made ON made.dataset_id = o.dataset_id AND made.dataid = r.dataid AND made.run_id = r.run_id
ORDER BY r.run_id, made.chunk_id, i.chunk_id

-- name: read_by
-- What some runs have read, and the runs that made it, and so on: each version with the run that made it, if known.
WITH RECURSIVE reached (run_id) AS (
    SELECT ids.id FROM $ids
    UNION
    SELECT CASE WHEN c.version = i.version THEN c.run_id
                ELSE (SELECT max(v.run_id) FROM chunk_version v
                      WHERE v.chunk_id = i.chunk_id AND v.version = i.version) END
    FROM reached
    JOIN run_input i ON i.run_id = reached.run_id
    JOIN chunk c ON c.chunk_id = i.chunk_id)
SELECT r.run_id, r.job, r.dataid, i.chunk_id, i.version,
       CASE WHEN c.version = i.version THEN c.run_id
            ELSE (SELECT max(v.run_id) FROM chunk_version v
                  WHERE v.chunk_id = i.chunk_id AND v.version = i.version) END
FROM reached
JOIN run r ON r.run_id = reached.run_id
JOIN run_input i ON i.run_id = r.run_id
JOIN chunk c ON c.chunk_id = i.chunk_id
ORDER BY r.run_id, i.position, c.sort_key

-- name: readers
-- Runs that read some chunks and that no published result speaks for: at work, or done without an output.
SELECT DISTINCT r.run_id, r.job, r.dataid, i.chunk_id, i.version, r.ended_at IS NULL
FROM run_input i JOIN run r ON r.run_id = i.run_id
WHERE i.chunk_id IN (SELECT ids.id FROM $ids)
  AND (r.ended_at IS NULL OR EXISTS (
       SELECT 1 FROM work w WHERE w.work_id = r.work_id AND w.run_id = r.run_id AND w.state = 'DONE'
         AND NOT EXISTS (SELECT 1 FROM job_output o WHERE o.job_id = w.job_id)))
ORDER BY r.run_id

-- name: changed_pins
-- What a run has read that has a newer version now, was withdrawn since or is stale.
SELECT d.name, c.dataid, i.version, c.version, c.withdrawn, c.stale
FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE i.run_id = :run_id AND (c.version > i.version OR c.withdrawn OR c.stale)
ORDER BY i.position, c.sort_key

-- name: pinned
-- What a run has read, with the version that is current now.
SELECT d.name, c.dataid, i.version, c.version, c.withdrawn, c.stale
FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE i.run_id = :run_id
ORDER BY i.position, c.sort_key LIMIT :most
