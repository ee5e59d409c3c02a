-- name: published
-- The chunks of a dataset (or the one that is named) that can be read, in order, and whether each is out of date.
SELECT c.chunk_id, c.dataid, c.version, c.location, c.stale
FROM chunk c
WHERE c.dataset_id = :dataset_id AND (:dataid = '' OR c.dataid = :dataid)
  AND c.version > 0 AND NOT c.withdrawn AND c.dirty_run_id IS NULL
ORDER BY c.sort_key

-- name: newest
-- The newest chunk of a dataset that is ready.
SELECT c.chunk_id, c.dataid, c.version, c.location, c.stale
FROM chunk c
WHERE c.dataset_id = :dataset_id
  AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
ORDER BY c.sort_key DESC LIMIT 1

-- name: of_chunk
-- All places of one chunk that are remembered, oldest first, and whether readers are given it now.
SELECT v.version, v.location, v.run_id, v.row_count, v.size, v.published_at,
       v.version = c.version AND v.location = c.location AND NOT c.withdrawn
FROM chunk c JOIN chunk_version v ON v.chunk_id = c.chunk_id
WHERE c.dataset_id = :dataset_id AND c.dataid = :dataid
ORDER BY v.version, v.published_at

-- name: chunk_flags
-- How a chunk stands, after it was locked.
SELECT version, stale FROM chunk WHERE dataset_id = :dataset_id AND dataid = :dataid

-- name: find
-- One remembered place of a version.
SELECT v.run_id, v.row_count, v.size, v.checked
FROM chunk c JOIN chunk_version v ON v.chunk_id = c.chunk_id
WHERE c.dataset_id = :dataset_id AND c.dataid = :dataid AND v.version = :version AND v.location = :location

-- name: move
-- The same rows at another place; no row when the chunk is no longer what was copied.
UPDATE chunk SET location = :location, size = :size, modified_at = $now_at
WHERE dataset_id = :dataset_id AND dataid = :dataid AND location = :from_location
RETURNING chunk_id

-- name: next_replaced
-- Chunks of a dataset, after a place, that have places which are not the current one.
SELECT DISTINCT v.chunk_id
FROM chunk c JOIN chunk_version v ON v.chunk_id = c.chunk_id
WHERE c.dataset_id = :dataset_id AND c.chunk_id > :after AND v.location <> c.location AND v.published_at < :before
ORDER BY v.chunk_id LIMIT :most

-- name: lock_chunks
-- Keeps anybody from going back to a version while it is judged (PostgreSQL only).
SELECT chunk_id FROM chunk WHERE chunk_id = ANY(:chunk_ids) ORDER BY chunk_id FOR UPDATE

-- name: list_of_chunks
-- The places of some chunks, oldest first: whether each is current, and whether it was given out before a time.
SELECT v.chunk_id, v.version, v.location, v.location = c.location, v.published_at < :before
FROM chunk_version v JOIN chunk c ON c.chunk_id = v.chunk_id
WHERE v.chunk_id IN (SELECT ids.id FROM $ids)
ORDER BY v.chunk_id, v.version, v.published_at

-- name: pinned
-- The versions that live runs read, and revoked ones that may still be ending. CROSS JOIN keeps SQLite from reading
-- every pin there ever was.
SELECT i.chunk_id, i.version
FROM run r CROSS JOIN run_input i
WHERE i.run_id = r.run_id AND r.ended_at IS NULL
UNION
SELECT i.chunk_id, i.version
FROM run r CROSS JOIN run_input i
WHERE i.run_id = r.run_id AND r.outcome = 'CANCELLED' AND r.clock_id = $clock_id AND r.lease_until > $lease_then

-- name: forget
-- A place is no longer remembered.
DELETE FROM chunk_version WHERE chunk_id = :chunk_id AND location = :location

-- name: places
-- All locations of one chunk that a reader may get.
SELECT c.location FROM chunk c WHERE c.dataset_id = :dataset_id AND c.dataid = :dataid
UNION
SELECT v.location FROM chunk c JOIN chunk_version v ON v.chunk_id = c.chunk_id
WHERE c.dataset_id = :dataset_id AND c.dataid = :dataid

-- name: readers
-- Whether a live run reads any version of a chunk.
SELECT 1
FROM run r CROSS JOIN run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
WHERE i.run_id = r.run_id AND r.ended_at IS NULL AND c.dataset_id = :dataset_id AND c.dataid = :dataid
LIMIT 1

-- name: ended_claimant
-- The claimant of a run of this work that can write no more.
SELECT r.claimant FROM run r JOIN job_output o ON o.job_id = r.job_id
WHERE r.run_id = :run_id AND r.dataid = :dataid AND o.dataset_id = :dataset_id AND r.ended_at IS NOT NULL
  AND NOT (r.outcome = 'CANCELLED' AND r.clock_id = $clock_id AND r.lease_until > $lease_now)

-- name: store_id
SELECT value FROM meta WHERE key = 'store_id'
