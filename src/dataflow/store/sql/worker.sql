-- name: outlook
-- What there is to do for some jobs, each looked up in an index: the first claimable work in the claim's own order, and
-- the seconds until a wait is over, an interval ends, a deadline for complete inputs passes, or a lease lapses. A clock
-- that has stopped (SQLite, after a restart of the machine) makes it due now. A kill command is not the worker's to run.
SELECT j.job_id, j.priority, w.work_id, w.priority, w.called_at,
       CASE WHEN EXISTS (SELECT 1 FROM work x WHERE x.job_id = j.job_id AND x.not_before IS NOT NULL
                         AND x.not_before_clock < $clock_id)
              OR EXISTS (SELECT 1 FROM work x WHERE x.job_id = j.job_id AND x.not_before IS NOT NULL
                         AND x.not_before_clock > $clock_id)
            THEN 0
            ELSE (SELECT min(x.not_before) FROM work x WHERE x.job_id = j.job_id AND x.not_before IS NOT NULL
                  AND x.not_before_clock = $clock_id) - $lease_then END,
       (SELECT min(c.due_at) FROM job_input i JOIN calendar c ON c.dataset_id = i.dataset_id
        WHERE i.job_id = j.job_id) - $due_now,
       (SELECT min(d.deadline) FROM work_deadline d WHERE d.job_id = j.job_id) - $due_now,
       (SELECT min(CASE WHEN r.clock_id = $clock_id THEN r.lease_until - $lease_then ELSE 0 END)
        FROM run r
        WHERE r.job_id = j.job_id AND r.ended_at IS NULL AND NOT r.has_kill_command)
FROM job j
LEFT JOIN work w ON w.work_id =
    CASE WHEN j.ordered
         THEN (SELECT o.work_id
               FROM (SELECT f.work_id, f.state, f.hold FROM work f
                     WHERE f.job_id = j.job_id AND f.ordered AND f.state <> 'DONE'
                     ORDER BY f.sort_key LIMIT 1) AS o
               WHERE o.state = 'CLAIMABLE' AND NOT o.hold)
         WHEN j.claim_order = 'newest'
         THEN (SELECT f.work_id FROM work f
               WHERE f.job_id = j.job_id AND f.state = 'CLAIMABLE' AND f.hold = FALSE AND f.state <> 'DONE'
                 AND f.state <> 'RUNNING'
                 AND f.priority = (SELECT g.priority FROM work g
                                   WHERE g.job_id = j.job_id AND g.state = 'CLAIMABLE' AND g.hold = FALSE
                                     AND g.state <> 'DONE' AND g.state <> 'RUNNING'
                                   ORDER BY g.priority DESC LIMIT 1)
               ORDER BY f.sort_key DESC LIMIT 1)
         ELSE (SELECT f.work_id FROM work f
               WHERE f.job_id = j.job_id AND f.state = 'CLAIMABLE' AND f.hold = FALSE AND f.state <> 'DONE'
                 AND f.state <> 'RUNNING'
               ORDER BY f.priority DESC, f.sort_key LIMIT 1)
         END
WHERE j.job_id IN (SELECT ids.id FROM $ids) AND NOT j.hold AND NOT EXISTS (SELECT 1 FROM pause)

-- name: job_ids
-- The jobs of these names that exist.
SELECT name, job_id FROM job WHERE name IN (SELECT ids.id FROM $names)

-- name: enlist
-- A worker that has started.
INSERT INTO worker (name, host, boot_id, pid, user_name, environment, version, streams, jobs, listening, started_at,
                    enlisted, alive_until, clock_id)
VALUES (:name, :host, :boot_id, :pid, :user_name, :environment, :version, :streams, :jobs, :listening, $now_at,
        $lease_now, $lease_now + :patience_seconds, $clock_id)
ON CONFLICT (name) DO NOTHING

-- name: renew
-- A worker's heartbeat; none if others have taken it for dead.
UPDATE worker SET alive_until = $lease_now + :patience_seconds, clock_id = $clock_id, jobs = :jobs,
                  listening = :listening
WHERE name = :name
RETURNING name

-- name: listen
-- Whether a worker waits for work, and is to be notified.
UPDATE worker SET listening = :listening WHERE name = :name AND listening <> :listening

-- name: dismiss
-- Removes a worker that has ended; only one whose heartbeat has lapsed, unless it is known to be gone.
DELETE FROM worker
WHERE name = :name AND (:gone OR alive_until <= $lease_now OR clock_id <> $clock_id)
RETURNING alive_until, clock_id

-- name: find_successor
-- A worker of a host that joined after another one's last heartbeat.
SELECT 1 FROM worker WHERE host = :host AND (clock_id <> :clock_id OR enlisted > :beat) LIMIT 1

-- name: workers
-- All workers, the oldest first, and whether their heartbeat has lapsed.
SELECT name, host, boot_id, pid, user_name, environment, version, streams, jobs, started_at,
       alive_until <= $lease_now OR clock_id <> $clock_id
FROM worker
ORDER BY started_at, name

-- name: runs_of_workers
-- What live workers are doing: the worker's name begins the names of its claimants.
SELECT substr(r.claimant, 1, 16), r.run_id, r.job, r.dataid, r.started_at
FROM run r
WHERE r.ended_at IS NULL AND substr(r.claimant, 1, 16) IN (SELECT name FROM worker)
ORDER BY r.run_id

-- name: jobs_of_claimant
-- The jobs whose live runs a claimant holds.
SELECT DISTINCT job_id FROM run WHERE ended_at IS NULL AND claimant = :claimant

-- name: wake
-- Tells waiting workers, after the commit. SQLite's see every commit by themselves.
SELECT 1 WHERE FALSE

-- name: wake @postgres
SELECT pg_notify('dataflow', current_schema())
WHERE EXISTS (SELECT 1 FROM $listeners)
