-- name: lock
-- Who moves what the inputs mapped `latest` of a job cover, or makes work that they may cover, does it alone: else a
-- new chunk and new work would each miss the other. So does who changes chunks that call for no work because the job's
-- schedule leaves their days out. All of the job's inputs at once, in order (PostgreSQL only).
SELECT 1 FROM job_input WHERE job_id = :job_id ORDER BY position FOR UPDATE

-- name: reach
-- The newest ready chunk of an input and the last work that it covers.
SELECT newest, reach FROM job_input WHERE job_id = :job_id AND position = :position

-- name: reaches
-- What is kept about a job's inputs mapped `latest` or `all`.
SELECT position, newest, reach FROM job_input
WHERE job_id = :job_id AND mapping IN ('latest', 'all') ORDER BY position

-- name: newest_ready
-- The newest ready chunk of a dataset before a place in order. What is after that place is known not to be ready, so
-- that chunks which stop being ready one after the other are each passed once.
SELECT dataid, sort_key FROM chunk
WHERE dataset_id = :dataset_id AND sort_key < :before
  AND version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL
ORDER BY sort_key DESC LIMIT 1

-- name: set_reach
UPDATE job_input SET newest = :newest, reach = :reach WHERE job_id = :job_id AND position = :position

-- name: work_between
-- A job's work after one place in order up to another. The dataids say no more than that, to an index.
SELECT dataid, sort_key FROM work
WHERE job_id = :job_id AND dataid >= :first AND dataid <= :last AND sort_key > :after AND sort_key <= :until

-- name: pin
-- The newest ready chunk of an input, if it covers the work: as a run will read it. Not looked for among the chunks,
-- of which any number may have stopped being ready.
SELECT i.position, c.chunk_id, c.dataid, c.version, c.location, c.size, c.checked, c.dirty_run_id
FROM job_input i JOIN chunk c ON c.dataset_id = i.dataset_id AND c.sort_key = i.newest
WHERE i.job_id = :job_id AND i.position = :position AND :sort_key <= i.reach
