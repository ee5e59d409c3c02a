-- name: chunks
-- Chunks of a dataset in order with the status people see, and how many chunks its run did without.
SELECT d.name, s.dataid, s.status, s.version, s.modified_at, s.location, s.chunk_id,
       coalesce((SELECT r.lacked FROM chunk c JOIN run r ON r.run_id = c.run_id WHERE c.chunk_id = s.chunk_id), 0)
FROM chunk_status s JOIN dataset d ON d.dataset_id = s.dataset_id
WHERE s.dataset_id = :dataset_id AND s.sort_key >= :first AND s.sort_key <= :last
  AND (:status = '' OR s.status = :status)
ORDER BY s.sort_key LIMIT :most

-- name: live_pins
-- Which live runs read which chunks of a dataset; from the few such runs.
SELECT i.chunk_id, i.run_id
FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
WHERE i.run_id IN (SELECT r.run_id FROM run r
                   WHERE r.ended_at IS NULL AND r.lease_until > $lease_now AND r.clock_id = $clock_id)
  AND c.dataset_id = :dataset_id
ORDER BY i.run_id

-- name: runs
-- Runs, newest first: from the narrowest index there is for what is asked. A condition on the question alone is looked
-- at once, so only one of the four reads anything. With its + the order of the few that run is not looked for in run.
SELECT r.run_id, r.job, r.dataid, r.attempt, r.outcome, r.exit_code, r.host, r.user_name, r.environment, r.script_path,
       r.script_hash, r.started_at, r.ended_at,
       CASE WHEN r.ended_at IS NULL AND r.clock_id = $clock_id THEN r.lease_until - $lease_now END,
       r.reason, r.answers, r.claimant, r.pid
FROM run r
WHERE r.run_id IN (
    SELECT run_id FROM (
        SELECT run_id FROM run
        WHERE :dataid <> '' AND dataid = :dataid AND (:job = '' OR job = :job) AND (:outcome = '' OR outcome = :outcome)
        ORDER BY run_id DESC LIMIT :most) AS of_dataid
    UNION ALL
    SELECT run_id FROM (
        SELECT run_id FROM run
        WHERE :dataid = '' AND :outcome = 'RUNNING' AND ended_at IS NULL AND (:job = '' OR job = :job)
        ORDER BY +run_id DESC LIMIT :most) AS running
    UNION ALL
    SELECT run_id FROM (
        SELECT run_id FROM run
        WHERE :dataid = '' AND :outcome <> '' AND ended_at IS NOT NULL AND outcome = :outcome
          AND (:job = '' OR job = :job)
        ORDER BY run_id DESC LIMIT :most) AS of_outcome
    UNION ALL
    SELECT run_id FROM (
        SELECT run_id FROM run
        WHERE :dataid = '' AND :outcome = '' AND (:job = '' OR job = :job)
        ORDER BY run_id DESC LIMIT :most) AS any_run)
ORDER BY r.run_id DESC

-- name: run
SELECT r.run_id, r.job, r.dataid, r.attempt, r.outcome, r.exit_code, r.host, r.user_name, r.environment, r.script_path,
       r.script_hash, r.started_at, r.ended_at,
       CASE WHEN r.ended_at IS NULL AND r.clock_id = $clock_id THEN r.lease_until - $lease_now END,
       r.reason, r.answers, r.claimant, r.pid
FROM run r
WHERE r.run_id = :run_id

-- name: work
-- One work as it stands.
SELECT w.work_id, j.name, w.dataid, w.state, w.hold OR j.hold, w.resubmitted, w.missing, w.attempts, w.losses,
       nullif(w.run_id, 0), w.reason,
       CASE WHEN w.not_before_clock = $clock_id THEN w.not_before - $lease_now WHEN w.not_before IS NOT NULL THEN 0 END,
       w.modified_at, w.quarantined AND w.state = 'FAILED'
FROM work w JOIN job j ON j.job_id = w.job_id
WHERE w.job_id = :job_id AND w.dataid = :dataid

-- name: first_open
-- The first work of a job in a given state, in claim order.
SELECT dataid FROM (
    SELECT dataid FROM work
    WHERE job_id = :job_id AND state = :state AND state <> 'DONE' AND state <> 'RUNNING'
    ORDER BY hold, priority DESC, sort_key LIMIT 1) AS open
UNION ALL
SELECT dataid FROM (
    SELECT w.dataid FROM run r JOIN work w ON w.work_id = r.work_id
    WHERE r.job_id = :job_id AND r.ended_at IS NULL AND w.state = 'RUNNING' AND w.state = :state
    ORDER BY w.hold, w.priority DESC, w.sort_key LIMIT 1) AS running

-- name: producers
-- Which job produces which dataset.
SELECT d.name, j.name FROM job_output o
JOIN dataset d ON d.dataset_id = o.dataset_id
JOIN job j ON j.job_id = o.job_id

-- name: due_calendars
-- The calendars of jobs whose next interval has ended and has not been added.
SELECT j.name, d.name, c.dataset_id, c.expression, d.timezone, d.grain, c.start_at, c.end_at, c.catchup, c.cursor_at,
       c.due_at, $now_seconds
FROM calendar c
JOIN dataset d ON d.dataset_id = c.dataset_id
JOIN job_input i ON i.dataset_id = c.dataset_id
JOIN job j ON j.job_id = i.job_id
WHERE c.due_at <= $now_seconds
ORDER BY j.name, d.name

-- name: newest_chunk
-- The newest published chunk of a dataset.
SELECT dataid, sort_key FROM chunk
WHERE dataset_id = :dataset_id AND version > 0 AND NOT withdrawn
ORDER BY sort_key DESC LIMIT 1

-- name: open_counts
-- Work that is not done, counted from the claim's own index.
SELECT j.name, w.state, w.hold OR j.hold, count(*)
FROM work w JOIN job j ON j.job_id = w.job_id
WHERE w.state <> 'DONE' AND w.state <> 'RUNNING'
GROUP BY j.name, w.state, w.hold OR j.hold
UNION ALL
SELECT j.name, w.state, w.hold OR j.hold, count(*)
FROM job j
JOIN run r ON r.job_id = j.job_id AND r.ended_at IS NULL
JOIN work w ON w.work_id = r.work_id AND w.state = 'RUNNING'
GROUP BY j.name, w.state, w.hold OR j.hold

-- name: chunk_at
SELECT dataid FROM chunk WHERE dataset_id = :dataset_id AND sort_key = :sort_key

-- name: journal
-- Lines, newest first, before a line (0: from the newest); found like runs.
SELECT journal_id, at, actor, action, job, dataset, dataid, run_id, from_state, to_state, items, why
FROM journal
WHERE journal_id IN (
    SELECT journal_id FROM (
        SELECT journal_id FROM journal
        WHERE :run_id <> 0 AND run_id = :run_id AND (:dataid = '' OR dataid = :dataid)
          AND (:job = '' OR job = :job) AND (:dataset = '' OR dataset = :dataset)
          AND (:before = 0 OR journal_id < :before)
        ORDER BY journal_id DESC LIMIT :most) AS of_run
    UNION ALL
    SELECT journal_id FROM (
        SELECT journal_id FROM journal
        WHERE :run_id = 0 AND :dataid <> '' AND dataid <> '' AND dataid = :dataid
          AND (:job = '' OR job = :job) AND (:dataset = '' OR dataset = :dataset)
          AND (:before = 0 OR journal_id < :before)
        ORDER BY journal_id DESC LIMIT :most) AS of_dataid
    UNION ALL
    SELECT journal_id FROM (
        SELECT journal_id FROM journal
        WHERE :run_id = 0 AND :dataid = '' AND (:job = '' OR job = :job) AND (:dataset = '' OR dataset = :dataset)
          AND (:before = 0 OR journal_id < :before)
        ORDER BY journal_id DESC LIMIT :most) AS any_line)
ORDER BY journal_id DESC

-- name: lapsed_runs
-- Runs whose lease has lapsed and that no claim has freed yet.
SELECT r.run_id, r.job, r.dataid, r.host, r.claimant
FROM run r
WHERE r.ended_at IS NULL AND (r.lease_until <= $lease_now OR r.clock_id <> $clock_id)
ORDER BY +r.run_id

-- name: now
SELECT $now_seconds

-- name: kept_readiness
-- What the store keeps about one job's work, for comparison with the oracle.
SELECT w.dataid, w.state, w.missing, w.not_before IS NOT NULL FROM work w WHERE w.job_id = :job_id

-- name: oracle
-- The seeds' own rule, written slowly and plainly: work is called for by every ready chunk of an input; an input is
-- missing when its chunk is not READY. Only for inputs mapped `same`; the others are done in the caller's language.
SELECT called.dataid,
       (SELECT count(*) FROM job_input i
        WHERE i.job_id = :job_id AND i.mapping = 'same' AND NOT EXISTS (
            SELECT 1 FROM chunk c
            WHERE c.dataset_id = i.dataset_id AND c.dataid = called.dataid
              AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL))
FROM (SELECT DISTINCT c.dataid
      FROM job_input i JOIN chunk c ON c.dataset_id = i.dataset_id
      WHERE i.job_id = :job_id AND i.mapping = 'same'
        AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL) AS called

-- name: ready_dataids
SELECT dataid FROM chunk
WHERE dataset_id = :dataset_id AND version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL

-- name: earlier_runs
-- Runs of the same work before this one, since the last that was done, newest first; and whether the work was called
-- for again since: resubmitted, or forced after it had failed.
SELECT r.run_id, r.claimant, r.run_id <= w.called_run_id FROM work w JOIN run r ON r.dataid = w.dataid
WHERE w.work_id = :work_id AND r.work_id = w.work_id AND r.run_id < :run_id
  AND r.run_id > (SELECT coalesce(max(done.run_id), 0) FROM run done
                  WHERE done.dataid = w.dataid AND done.work_id = w.work_id AND done.outcome = 'DONE')
ORDER BY r.run_id DESC

-- name: newest_run
SELECT coalesce(max(run_id), 0) FROM run

-- name: last_rows
-- How many rows the last version of a dataset's chunk had: this chunk's own, else the newest one's before it.
SELECT row_count FROM chunk
WHERE dataset_id = :dataset_id AND version > 0 AND row_count IS NOT NULL
  AND (dataid = :dataid OR (:is_snapshot AND sort_key < :sort_key))
ORDER BY sort_key DESC LIMIT 1

-- name: work_counts
-- A job's work, counted by its state.
SELECT state, count(*) FROM work WHERE job_id = :job_id GROUP BY state ORDER BY state

-- name: open_work
-- A job's work that is not done, in order.
SELECT w.dataid, w.state, w.hold OR j.hold FROM work w JOIN job j ON j.job_id = w.job_id
WHERE w.job_id = :job_id AND w.state <> 'DONE' ORDER BY w.sort_key LIMIT :most

-- name: unread_work
-- How much of a job's work is done and lacks no input, and the first and the last of it: what its job reads since is
-- there already, so that nothing has it done again.
SELECT count(*),
       (SELECT dataid FROM work WHERE job_id = :job_id AND state = 'DONE' AND missing = 0 ORDER BY sort_key LIMIT 1),
       (SELECT dataid FROM work WHERE job_id = :job_id AND state = 'DONE' AND missing = 0 ORDER BY sort_key DESC LIMIT 1)
FROM work WHERE job_id = :job_id AND state = 'DONE' AND missing = 0

-- name: done_work
-- A job's work that is done, the last of it first.
SELECT dataid FROM work WHERE job_id = :job_id AND state = 'DONE' ORDER BY sort_key DESC LIMIT :most
