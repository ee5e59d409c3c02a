-- name: job_ids
SELECT job_id, name, kind, hold, grain, grain_timezone FROM job ORDER BY name

-- name: all_work
-- How much work each job has, done or not; from the narrowest index.
SELECT job_id, count(*) FROM work GROUP BY job_id

-- name: open_work
-- Unfinished work by job, state and hold, and when the oldest was called for. All jobs at once: of a million
-- rows PostgreSQL reads all faster than those of one job.
SELECT job_id, state, hold, count(*), min(called_at) FROM work
WHERE state <> 'DONE' AND state <> 'RUNNING'
GROUP BY job_id, state, hold
UNION ALL
SELECT w.job_id, w.state, w.hold, count(*), min(w.called_at)
FROM job j
CROSS JOIN run r
JOIN work w ON w.work_id = r.work_id
WHERE r.job_id = j.job_id AND r.ended_at IS NULL AND w.state = 'RUNNING'
GROUP BY w.job_id, w.state, w.hold

-- name: first_in_state
-- The first work in order in a state; most often it is also the oldest.
SELECT dataid, reason, called_at FROM work
WHERE job_id = :job_id AND state = :state AND state <> 'DONE' AND state <> 'RUNNING' AND hold = FALSE
ORDER BY priority DESC, sort_key LIMIT 1

-- name: work_since
-- The first work in a state, in order, that was called for at a moment.
SELECT dataid, reason FROM work
WHERE job_id = :job_id AND state = :state AND state <> 'DONE' AND state <> 'RUNNING' AND hold = FALSE
  AND called_at = :called_at
ORDER BY priority DESC, sort_key LIMIT 1

-- name: paced_jobs
-- Jobs whose work may be called for before its turn: they read earlier chunks of their own output, so each run
-- calls for the next dataid, or a calendar, itself or through other jobs, whose interval may end after another input
-- is ready.
WITH RECURSIVE $paced
SELECT i.job_id FROM job_input i
JOIN job_output o ON o.dataset_id = i.dataset_id AND o.job_id = i.job_id
WHERE i.mapping = 'previous' OR i.mapping LIKE 'window(%, -%'
UNION SELECT i.job_id FROM job_input i JOIN calendar c ON c.dataset_id = i.dataset_id
WHERE i.mapping NOT IN ('latest', 'all')
UNION SELECT job_id FROM paced

-- name: first_called
-- The waiting work before a place in order that was called for first.
SELECT dataid, sort_key, called_at, reason FROM work
WHERE job_id = :job_id AND state = 'WAITING' AND state <> 'DONE' AND state <> 'RUNNING' AND hold = FALSE
  AND sort_key < :before
ORDER BY called_at, sort_key LIMIT 1

-- name: first_paced
-- The same of a paced job, called for by a chunk that it has not produced itself; not work that lacks a calendar's
-- interval: that has not ended, or is overdue, or is never added. Nor work that a calendar upstream has not reached.
WITH RECURSIVE $paced
SELECT w.dataid, w.sort_key, w.called_at, w.reason FROM work w
WHERE w.job_id = :job_id AND w.state = 'WAITING' AND w.hold = FALSE AND w.sort_key < :before
  AND EXISTS (SELECT 1 FROM work_input x
      JOIN job_input i ON i.job_id = w.job_id AND i.position = x.position AND i.mapping NOT IN ('latest', 'all')
      WHERE x.work_id = w.work_id AND x.present > 0
        AND NOT EXISTS (SELECT 1 FROM job_output o WHERE o.dataset_id = i.dataset_id AND o.job_id = w.job_id))
  AND NOT EXISTS (SELECT 1 FROM work_input x
      JOIN job_input i ON i.job_id = w.job_id AND i.position = x.position AND i.mapping NOT IN ('latest', 'all')
      JOIN calendar c ON c.dataset_id = i.dataset_id
      WHERE x.work_id = w.work_id AND x.present < x.needed)
  AND w.sort_key <= coalesce((SELECT min(coalesce(
          (SELECT max(k.sort_key) FROM chunk k WHERE k.dataset_id = p.calendar_id), ''))
      FROM paced p WHERE p.job_id = :job_id), w.sort_key)
ORDER BY w.called_at, w.sort_key LIMIT 1

-- name: skipped_work
-- Waiting work by job whose interval a calendar has skipped.
SELECT w.job_id, count(*), min(w.dataid) FROM work w
WHERE w.job_id IN (SELECT i.job_id FROM calendar c JOIN job_input i ON i.dataset_id = c.dataset_id)
  AND w.state = 'WAITING' AND w.state <> 'DONE' AND w.state <> 'RUNNING' AND w.hold = FALSE
  AND $was_skipped
GROUP BY w.job_id

-- name: asking_work
-- Done work by job whose result is stale because of its own inputs: somebody has to decide about it.
SELECT o.job_id, count(DISTINCT c.dataid), min(c.dataid) FROM chunk c
JOIN job_output o ON o.dataset_id = c.dataset_id
JOIN work w ON w.job_id = o.job_id AND w.dataid = c.dataid
WHERE (c.stale OR c.withdrawn OR c.dirty_run_id IS NOT NULL) AND c.outdated AND c.stale AND NOT c.withdrawn
  AND w.state = 'DONE'
GROUP BY o.job_id

-- name: ended_badly
-- Failed or invalid work of a job, in order.
SELECT (SELECT name FROM job WHERE job_id = :job_id), dataid, state, nullif(run_id, 0), reason, modified_at, quarantined
FROM work
WHERE job_id = :job_id AND state = :state AND state <> 'DONE' AND state <> 'RUNNING'
ORDER BY hold, priority DESC, sort_key LIMIT :most

-- name: datasets
-- All datasets, with the days of the job that produces each.
SELECT d.dataset_id, d.name, d.grain, d.timezone,
       EXISTS (SELECT 1 FROM calendar c WHERE c.dataset_id = d.dataset_id), coalesce(j.days, '')
FROM dataset d
LEFT JOIN job_output o ON o.dataset_id = d.dataset_id
LEFT JOIN job j ON j.job_id = o.job_id
ORDER BY d.name

-- name: chunk_counts
-- Chunks of each dataset with the first and the last in order; from one index.
SELECT dataset_id, count(*), min(sort_key), max(sort_key) FROM chunk GROUP BY dataset_id

-- name: odd_chunks
-- Chunks that are there but not ready.
SELECT dataset_id, count(*) FROM chunk
WHERE stale OR withdrawn OR dirty_run_id IS NOT NULL
GROUP BY dataset_id

-- name: count_between
-- Chunks from one place in order to another, both included.
SELECT count(*) FROM chunk WHERE dataset_id = :dataset_id AND sort_key >= :first AND sort_key <= :last

-- name: open_runs
-- Runs that have not ended, oldest first. With its + the order of the few is not looked for among all runs.
SELECT r.job_id, r.run_id, r.dataid, r.started_at FROM run r WHERE r.ended_at IS NULL ORDER BY +r.run_id

-- name: last_durations
-- When the last successful runs of a job started and ended.
SELECT started_at, ended_at FROM run
WHERE job_id = :job_id AND outcome = 'DONE' AND ended_at IS NOT NULL
ORDER BY run_id DESC LIMIT :most

-- name: live_streams
-- Runs that have not ended, with where they are, oldest first; as open_runs.
SELECT r.run_id, r.job, r.dataid, r.host, r.started_at FROM run r WHERE r.ended_at IS NULL ORDER BY +r.run_id

-- name: recent_runs
-- The last successful runs of all jobs.
SELECT job_id, started_at, ended_at FROM run
WHERE outcome = 'DONE' AND ended_at IS NOT NULL
ORDER BY run_id DESC LIMIT :most
