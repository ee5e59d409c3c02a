-- name: lock_inputs
-- Keeps a re-publish of an input out until the pins are compared (PostgreSQL only).
SELECT c.chunk_id FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
WHERE i.run_id = :run_id ORDER BY c.chunk_id FOR SHARE OF c

-- name: end_run
-- The run's one accepted outcome: only while it has not ended and its lease still runs.
UPDATE run
SET ended_at = $now_at, outcome = :outcome, exit_code = :exit_code, reason = :reason, answers = :answers
WHERE run_id = :run_id AND claimant = :claimant AND ended_at IS NULL
  AND lease_until > $lease_now AND clock_id = $clock_id
RETURNING work_id

-- name: find_run
-- How a run stands, to tell why it may not finish.
SELECT claimant, outcome, reason, lease_until > $lease_now AND clock_id = $clock_id FROM run WHERE run_id = :run_id

-- name: lock_work
-- Keeps an input that arrives out until the work is settled (PostgreSQL only).
SELECT 1 FROM work WHERE work_id = :work_id FOR UPDATE

-- name: count_moved_pins
-- Inputs that are no longer what the run read, and such as are there by now but were not read: the run was forced
-- without them, or the job has got other inputs since its claim. Those of them that are merely stale, in the version
-- read; and those that were found to be wrong. And how many inputs have several chunks, of which the caller has to ask.
SELECT (SELECT count(*) FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
        WHERE i.run_id = :run_id
          AND (c.version <> i.version OR c.withdrawn OR c.stale OR c.dirty_run_id IS NOT NULL))
     + (SELECT count(*) FROM run r
        JOIN work_input x ON x.work_id = r.work_id AND x.needed > 0 AND x.present >= x.needed
        JOIN job_input j ON j.job_id = r.job_id AND j.position = x.position
             AND j.mapping IN ('same', 'previous', 'latest')
        WHERE r.run_id = :run_id AND NOT EXISTS (
            SELECT 1 FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
            WHERE i.run_id = r.run_id AND i.position = x.position AND c.dataset_id = j.dataset_id
              AND CASE j.mapping WHEN 'same' THEN c.dataid = r.dataid
                                 WHEN 'previous' THEN c.dataid <> r.dataid ELSE TRUE END)),
       (SELECT count(*) FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
        WHERE i.run_id = :run_id AND c.stale
          AND c.version = i.version AND NOT c.withdrawn AND c.dirty_run_id IS NULL),
       (SELECT count(*) FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
        WHERE i.run_id = :run_id AND i.version <= c.wrong_version),
       (SELECT count(*) FROM run r JOIN job_input j ON j.job_id = r.job_id
        WHERE r.run_id = :run_id AND j.mapping NOT IN ('same', 'previous', 'latest'))

-- name: count_newer_inputs
-- Inputs that have a newer version than the run read.
SELECT count(*) FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
WHERE i.run_id = :run_id AND c.version <> i.version

-- name: work_done
-- The work's outputs are published from what its inputs are now.
UPDATE work
SET state = 'DONE', resubmitted = FALSE, attempts = 0, losses = 0, returns = 0, not_before = NULL, reason = '',
    modified_at = $now_at
WHERE work_id = :work_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING state, incident_id

-- name: work_outdated
-- An input changed while the run was at it: whatever came of the old version, the new one is still to be tried.
UPDATE work
SET state = CASE WHEN missing = 0 THEN 'CLAIMABLE' ELSE 'WAITING' END,
    resubmitted = FALSE, attempts = 0, losses = 0, returns = 0, not_before = NULL,
    reason = 'an input changed while it ran', called_at = $now_at, called_run_id = run_id, modified_at = $now_at
WHERE work_id = :work_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING state

-- name: work_failed
-- The attempt failed: another one later while attempts are left.
UPDATE work
SET attempts = attempts + 1, reason = :reason, modified_at = $now_at,
    not_before = CASE WHEN attempts < :retries THEN $lease_now + :retry_delay_seconds END,
    not_before_clock = $clock_id,
    state = CASE WHEN attempts < :retries THEN 'WAITING' ELSE 'FAILED' END
WHERE work_id = :work_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING state

-- name: attempts_of
-- How many attempts of a work have failed before.
SELECT attempts FROM work WHERE work_id = :work_id

-- name: work_ended
-- The checks said no, or the error is final.
UPDATE work SET state = :state, reason = :reason, modified_at = $now_at
WHERE work_id = :work_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING state

-- name: work_returned
-- Handed back without using an attempt: at once, or after a wait that doubles each time.
UPDATE work
SET returns = returns + CASE WHEN :delay_seconds > 0 THEN 1 ELSE 0 END, reason = :reason, modified_at = $now_at,
    not_before = CASE WHEN :delay_seconds > 0
                      THEN $lease_now + $least(:delay_seconds * (1 << $least(returns, 10)), 600) END,
    not_before_clock = $clock_id,
    state = CASE WHEN :delay_seconds > 0 OR missing > 0 THEN 'WAITING' ELSE 'CLAIMABLE' END
WHERE work_id = :work_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING state
