-- name: flags
-- What a claim looks at in one work beside its state.
SELECT w.hold, j.hold, j.max_running, j.ordered, w.sort_key FROM work w JOIN job j ON j.job_id = w.job_id
WHERE w.work_id = :work_id

-- name: job_hold
SELECT hold FROM job WHERE job_id = :job_id

-- name: held_by
-- Who last put a job (no dataid) or one work on hold, and why. A hold on several works is one line without a dataid.
SELECT actor, why FROM journal
WHERE job = :job AND (action = 'hold' OR action = 'mark' AND to_state = 'HOLD')
  AND (:dataid = '' AND dataid = '' AND items = 1
       OR :dataid <> '' AND (dataid = :dataid OR dataid = '' AND items > 1))
ORDER BY journal_id DESC LIMIT 1

-- name: first_claimable
-- The work that the next claim of an unordered job takes; it locks nothing.
SELECT dataid FROM work
WHERE job_id = :job_id AND state = 'CLAIMABLE' AND hold = FALSE AND state <> 'DONE' AND state <> 'RUNNING'
ORDER BY priority DESC, sort_key LIMIT 1

-- name: last_claimable
-- The same of a job that takes the newest first.
SELECT dataid FROM work
WHERE job_id = :job_id AND state = 'CLAIMABLE' AND hold = FALSE AND state <> 'DONE' AND state <> 'RUNNING'
ORDER BY priority DESC, sort_key DESC LIMIT 1

-- name: first_waiting
-- The first waiting work of a job, in claim order, that no calendar has skipped.
SELECT w.dataid FROM work w
WHERE w.job_id = :job_id AND w.state = 'WAITING' AND w.state <> 'DONE' AND w.state <> 'RUNNING'
  AND NOT $was_skipped
ORDER BY w.hold, w.priority DESC, w.sort_key LIMIT 1

-- name: first_unfinished
-- The only work that an ordered job may do next; it locks nothing.
SELECT dataid, state, run_id FROM work WHERE job_id = :job_id AND ordered AND state <> 'DONE' ORDER BY sort_key LIMIT 1

-- name: last_done
-- The dataid of the newest run that went well. By run, as work that is done has no order of its own to look it up by.
SELECT dataid FROM run WHERE job_id = :job_id AND outcome = 'DONE' ORDER BY run_id DESC LIMIT 1

-- name: any_done
SELECT dataid FROM work WHERE job_id = :job_id AND state = 'DONE' LIMIT 1

-- name: output_chunk
-- What is published where a work writes.
SELECT chunk_id, version, withdrawn, stale, dirty_run_id, outdated, run_id FROM chunk
WHERE dataset_id = :dataset_id AND dataid = :dataid

-- name: calendar
-- A dataset whose chunks become ready as time passes, with the store's own time.
SELECT c.expression, d.timezone, d.grain, c.start_at, c.end_at, c.catchup, c.cursor_at, c.due_at, $now_seconds
FROM calendar c JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE c.dataset_id = :dataset_id

-- name: has_kill_command
-- Whether the work of a run may outlive its process.
SELECT has_kill_command FROM run WHERE run_id = :run_id
