-- name: bad_endings
-- Work that is FAILED or INVALID by job and reason, with one of its dataids.
SELECT j.name, min(w.dataid), w.state, w.quarantined AND w.state = 'FAILED', w.reason, count(*) AS works, min(w.modified_at)
FROM job j CROSS JOIN work w
WHERE w.job_id = j.job_id AND w.state IN ('FAILED', 'INVALID') AND w.state <> 'DONE' AND w.state <> 'RUNNING'
  AND (:job = '' OR j.name = :job)
GROUP BY j.name, w.state, w.quarantined AND w.state = 'FAILED', w.reason
ORDER BY works DESC LIMIT :most

-- name: bad_work
-- The FAILED and INVALID work of a job with its reasons, in order.
SELECT dataid, state, quarantined AND state = 'FAILED', reason
FROM work
WHERE job_id = :job_id AND state IN ('FAILED', 'INVALID') AND state <> 'DONE' AND state <> 'RUNNING'
ORDER BY sort_key LIMIT :most

-- name: refused
-- Work that runs have handed back, by job and reason: one of the five answers was no.
SELECT j.name, min(w.dataid), w.reason, count(*) AS works, min(w.called_at)
FROM job j CROSS JOIN work w
WHERE w.job_id = j.job_id AND w.not_before IS NOT NULL AND w.state = 'WAITING' AND w.returns > 0 AND w.reason <> ''
  AND NOT w.hold AND NOT j.hold
GROUP BY j.name, w.reason
ORDER BY works DESC LIMIT :most

-- name: asking
-- Done work by job whose result is stale because of its own inputs; as status.asking_work, with since when.
SELECT j.name, min(c.dataid), count(DISTINCT c.dataid), min(c.modified_at)
FROM chunk c
JOIN job_output o ON o.dataset_id = c.dataset_id
JOIN job j ON j.job_id = o.job_id
JOIN work w ON w.job_id = o.job_id AND w.dataid = c.dataid
WHERE (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL) AND c.outdated AND c.stale AND NOT c.withdrawn
  AND w.state = 'DONE'
GROUP BY j.name

-- name: held_jobs
SELECT name, '', 0, modified_at FROM job WHERE hold ORDER BY name

-- name: held_work
-- Open work on hold, by job.
SELECT j.name, min(w.dataid), count(*), min(w.modified_at)
FROM job j CROSS JOIN work w
WHERE w.job_id = j.job_id AND w.state IN ('WAITING', 'CLAIMABLE') AND w.hold = TRUE
  AND w.state <> 'DONE' AND w.state <> 'RUNNING' AND NOT j.hold
GROUP BY j.name

-- name: lapsed_runs
-- Runs whose lease has lapsed and that no claim has freed, and for how long; NULL since before the machine restarted.
SELECT r.job, r.dataid, r.run_id, r.host, CASE WHEN r.clock_id = $clock_id THEN $lease_now - r.lease_until END, r.started_at
FROM run r
WHERE r.ended_at IS NULL AND (r.lease_until <= $lease_now OR r.clock_id <> $clock_id)
ORDER BY +r.run_id

-- name: lost_workers
SELECT name, host, pid, CASE WHEN clock_id = $clock_id THEN $lease_now - alive_until END, started_at FROM worker
WHERE alive_until <= $lease_now OR clock_id <> $clock_id
ORDER BY name

-- name: run_from
-- The first run from a number on, and when it started.
SELECT run_id, started_at FROM run WHERE run_id >= :run_id ORDER BY run_id LIMIT 1

-- name: outcomes_from
-- Runs from a number on by job and outcome.
SELECT job, outcome, count(*) FROM run WHERE run_id >= :run_id GROUP BY job, outcome ORDER BY job, outcome

-- name: due_next
-- The next intervals of the schedules of jobs.
SELECT j.name, d.name, c.due_at
FROM calendar c
JOIN dataset d ON d.dataset_id = c.dataset_id
JOIN job_input i ON i.dataset_id = c.dataset_id
JOIN job j ON j.job_id = i.job_id
WHERE c.due_at > $now_seconds
ORDER BY c.due_at, j.name LIMIT :most

-- name: last_results
-- The last chunks of an output in order, with the runs that made them.
SELECT c.dataid, r.run_id, r.attempt, r.outcome, r.started_at, r.ended_at, c.row_count
FROM chunk c JOIN run r ON r.run_id = c.run_id
WHERE c.dataset_id = :dataset_id
ORDER BY c.dataset_id DESC, c.sort_key DESC LIMIT :most

-- name: last_runs
-- The last run of each of a job's last works, for a job without outputs.
SELECT w.dataid, r.run_id, r.attempt, r.outcome, r.started_at, r.ended_at, NULL
FROM work w JOIN run r ON r.run_id = w.run_id
WHERE w.job_id = :job_id
ORDER BY w.job_id DESC, w.dataid DESC LIMIT :most

-- name: count_retrying
-- Work that failed and is tried again after a wait.
SELECT count(*) FROM work
WHERE job_id = :job_id AND not_before IS NOT NULL AND state = 'WAITING' AND attempts > 0
