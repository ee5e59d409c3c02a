-- name: pause
-- Pauses every job; nothing if all are paused.
INSERT INTO pause (pause_id, actor, why, at) VALUES (1, :actor, :why, $now_at)
ON CONFLICT (pause_id) DO NOTHING

-- name: resume
DELETE FROM pause

-- name: find_pause
SELECT actor, why, at FROM pause

-- name: find_max_running
SELECT max_running FROM job WHERE job_id = :job_id $for_update

-- name: scale
-- The next revision, so that a claim under way that has read the old limit starts nothing.
UPDATE job SET max_running = :max_running, revision = revision + 1, modified_at = $now_at WHERE job_id = :job_id

-- name: find_pool
-- The size of a pool. Its row is what claims of its jobs lock, so that they count one after the other.
SELECT size FROM pool WHERE name = :pool $for_update

-- name: pool_size
SELECT size FROM pool WHERE name = :pool

-- name: pool_uses
-- Runs of all jobs in a pool that may be at work: the live ones, and the revoked until they have ended.
SELECT j.name, r.run_id FROM job j JOIN run r ON r.job_id = j.job_id
WHERE j.pool = :pool AND j.pool <> '' AND r.ended_at IS NULL
  AND r.lease_until > $lease_now AND r.clock_id = $clock_id
UNION
SELECT j.name, r.run_id FROM run r JOIN job j ON j.job_id = r.job_id
WHERE r.outcome = 'CANCELLED' AND r.clock_id = $clock_id AND r.lease_until > $lease_then AND j.pool = :pool
ORDER BY 2

-- name: pools_named
SELECT name FROM pool WHERE name IN (SELECT ids.id FROM $names)

-- name: list_pools
SELECT name, size FROM pool ORDER BY name

-- name: set_pool
INSERT INTO pool (name, size) VALUES (:pool, :size)
ON CONFLICT (name) DO UPDATE SET size = excluded.size

-- name: pool_jobs
SELECT name FROM job WHERE pool = :pool AND pool <> '' ORDER BY name

-- name: remove_pool
DELETE FROM pool WHERE name = :pool

-- name: quarantined
-- Work of a job that its runs' deaths have quarantined, among its few FAILED ones.
SELECT count(*) FROM work
WHERE job_id = :job_id AND state = 'FAILED' AND state <> 'DONE' AND state <> 'RUNNING' AND quarantined
