-- name: begin_token
-- Nothing if an earlier call used the token; one that is still committing is waited for (PostgreSQL only).
INSERT INTO verb_token (token, action, answer, at) VALUES (:token, :action, '', $now_at) ON CONFLICT DO NOTHING

-- name: find_token
-- The answer an earlier call with this token got.
SELECT answer FROM verb_token WHERE token = :token

-- name: keep_token
UPDATE verb_token SET answer = :answer WHERE token = :token

-- name: list_named
-- The work of a batch with its state, locked.
SELECT w.work_id, w.dataid, w.sort_key, w.state, w.hold, w.run_id
FROM work w
WHERE w.job_id = :job_id AND w.dataid IN (SELECT batch.dataid FROM $batch)
ORDER BY w.work_id $for_update

-- name: list_in_state
-- A job's work in one state, in order, after a place in order.
SELECT dataid, sort_key FROM work
WHERE job_id = :job_id AND state = :state AND sort_key > :after
ORDER BY sort_key LIMIT :most

-- name: list_between
-- A job's work from one place in order to another, both included.
SELECT dataid, sort_key FROM work
WHERE job_id = :job_id AND sort_key >= :first AND sort_key <= :last
ORDER BY sort_key

-- name: hold_work
UPDATE work SET hold = :hold, modified_at = $now_at
WHERE job_id = :job_id AND dataid IN (SELECT batch.dataid FROM $batch) AND hold <> :hold

-- name: hold_job
UPDATE job SET hold = :hold, modified_at = $now_at WHERE job_id = :job_id AND hold <> :hold

-- name: wait_briefly
-- Later claims queue behind who waits for those under way: only for a moment, then it tries again (PostgreSQL only).
SELECT set_config('lock_timeout', '200ms', TRUE)

-- name: await_claims
-- Claims under way share this lock from their first statement; once it is to be had, each has committed (PostgreSQL only).
SELECT pg_advisory_xact_lock(hashtext('dataflow claim'), 'work'::regclass::oid::integer)

-- name: revoke_run
-- An operator takes a run's work away: it can no longer renew, finish or publish.
UPDATE run SET ended_at = $now_at, outcome = 'CANCELLED', reason = :reason
WHERE run_id = :run_id AND ended_at IS NULL
RETURNING work_id, job, dataid, host

-- name: revoke_work
UPDATE work SET state = :state, reason = :reason, resubmitted = FALSE, not_before = NULL, modified_at = $now_at
WHERE work_id = :work_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING state

-- name: acknowledge
-- The revoked run's children are dead: its work need not wait for the lease.
UPDATE run SET lease_until = $lease_now, has_kill_command = FALSE
WHERE run_id = :run_id AND claimant = :claimant AND $ending
RETURNING work_id

-- name: acknowledge_work
UPDATE work
SET not_before = NULL, state = CASE WHEN missing = 0 THEN 'CLAIMABLE' ELSE 'WAITING' END, modified_at = $now_at
WHERE work_id = :work_id AND run_id = :run_id AND state = 'WAITING' AND not_before IS NOT NULL

-- name: mark
-- An operator says how the work stands.
UPDATE work
SET state = :state, reason = :reason, resubmitted = FALSE, not_before = NULL, attempts = 0, losses = 0, returns = 0,
    quarantined = FALSE, modified_at = $now_at
WHERE work_id = :work_id AND state = :from_state

-- name: next_runs
-- The last of so many runs after a place; none at the end.
SELECT max(run_id) FROM (SELECT run_id FROM run WHERE run_id > :after ORDER BY run_id LIMIT :most) AS part

-- name: purge_runs
-- Ended runs older than a time, from one place to another, except each work's last one and those a chunk names. Counted,
-- as PostgreSQL would turn NOT EXISTS into a join that reads all work and all chunks for each batch.
DELETE FROM run
WHERE run_id > :after AND run_id <= :last AND ended_at < :before
  AND (SELECT count(*) FROM work w WHERE w.work_id = run.work_id AND w.run_id = run.run_id) = 0
  AND (SELECT count(*) FROM job_output o JOIN chunk c ON c.dataset_id = o.dataset_id AND c.dataid = run.dataid
       WHERE o.job_id = run.job_id AND (c.run_id = run.run_id OR c.dirty_run_id = run.run_id)) = 0

-- name: purge_pins
-- What runs read that are no more, from one place to another.
DELETE FROM run_input
WHERE run_id > :after AND run_id <= :last
  AND (SELECT count(*) FROM run r WHERE r.run_id = run_input.run_id) = 0

-- name: next_lines
-- The last of so many lines of the journal after a place; none at the end.
SELECT max(journal_id)
FROM (SELECT journal_id FROM journal WHERE journal_id > :after ORDER BY journal_id LIMIT :most) AS part

-- name: purge_journal
DELETE FROM journal WHERE journal_id > :after AND journal_id <= :last AND at < :before

-- name: forget_token
DELETE FROM verb_token WHERE token = :token

-- name: purge_tokens
DELETE FROM verb_token WHERE at < :before
