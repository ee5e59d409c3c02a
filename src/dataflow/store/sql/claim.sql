-- name: look
-- The job, and whether anything must be done before a claim: a calendar is due, a lease has lapsed, a wait is over; a
-- lease or a wait ends later than it can, because the clock was set back; a deadline for complete inputs has passed.
SELECT $claiming, j.hold OR EXISTS (SELECT 1 FROM pause), j.ordered, j.max_running, j.lease_seconds, j.grace_seconds,
       j.retries, j.revision, j.script_path,
       EXISTS (SELECT 1 FROM job_input i JOIN calendar c ON c.dataset_id = i.dataset_id
               WHERE i.job_id = j.job_id AND c.due_at <= $due_now),
       EXISTS (SELECT 1 FROM run r WHERE r.job_id = j.job_id AND r.ended_at IS NULL
               AND (r.lease_until <= $lease_now OR r.lease_until > $lease_now + r.lease_seconds
                    OR r.clock_id <> $clock_id)),
       EXISTS (SELECT 1 FROM work w WHERE w.job_id = j.job_id AND w.not_before IS NOT NULL
               AND w.not_before_clock = $clock_id
               AND w.not_before > $lease_then + $longest_wait),
       EXISTS (SELECT 1 FROM work w WHERE w.job_id = j.job_id AND w.not_before IS NOT NULL
               AND w.not_before_clock = $clock_id AND w.not_before <= $lease_then),
       EXISTS (SELECT 1 FROM work w WHERE w.job_id = j.job_id AND w.not_before IS NOT NULL
               AND w.not_before_clock < $clock_id)
       OR EXISTS (SELECT 1 FROM work w WHERE w.job_id = j.job_id AND w.not_before IS NOT NULL
                  AND w.not_before_clock > $clock_id),
       EXISTS (SELECT 1 FROM work_deadline d WHERE d.job_id = j.job_id AND d.deadline <= $due_now)
FROM job j
WHERE j.job_id = :job_id

-- name: lock_job
-- A limit on running work is computed under the job row's lock (PostgreSQL only).
SELECT 1 FROM job WHERE job_id = :job_id FOR UPDATE

-- name: at_work
-- Runs of a job that may be at work: the live ones, and the revoked until they have ended. A run that lost its lease is
-- dead; what may outlive it (:outliving) matters where two must never be at work at once.
SELECT run_id FROM run
WHERE job_id = :job_id AND ended_at IS NULL
  AND (lease_until > $lease_now AND clock_id = $clock_id OR :outliving AND has_kill_command)
UNION
SELECT run_id FROM run
WHERE job_id = :job_id AND outcome = 'CANCELLED' AND clock_id = $clock_id AND lease_until > $lease_then
UNION
SELECT run_id FROM run
WHERE job_id = :job_id AND outcome = 'CANCELLED' AND has_kill_command AND :outliving
ORDER BY run_id

-- name: shorten_leases
-- A lease that ends later than it can starts now: its run counts from its last renewal, which was earlier.
UPDATE run SET lease_until = $lease_now + lease_seconds
WHERE run_id IN (SELECT run_id FROM run
                 WHERE job_id = :job_id AND outcome = 'CANCELLED' AND clock_id = $clock_id AND lease_until > $lease_then
                 UNION ALL
                 SELECT run_id FROM run WHERE job_id = :job_id AND ended_at IS NULL)
  AND lease_until > $lease_now + lease_seconds

-- name: shorten_waits
-- The same of waits, which are at most as long as the longest there is: of a lost lease, a retry or a revoked run.
-- Bounded.
UPDATE work
SET not_before = $lease_now + (SELECT $longest_wait FROM job j
                               WHERE j.job_id = :job_id)
WHERE work_id IN (SELECT work_id FROM work
                  WHERE job_id = :job_id AND not_before IS NOT NULL AND not_before_clock = $clock_id
                    AND not_before > $lease_then + (SELECT $longest_wait FROM job j
                                                    WHERE j.job_id = :job_id)
                  LIMIT 1000 $skip_locked)
  AND not_before IS NOT NULL

-- name: list_lapsed
-- Runs of a job that are seen to be dead: the lease has lapsed, the machine was restarted, or the claimant is gone.
-- One whose work may outlive its process is left until its kill command has run.
SELECT r.run_id, r.work_id, r.dataid, r.host, r.claimant, r.has_kill_command
FROM run r
WHERE r.job_id = :job_id AND r.ended_at IS NULL
  AND (r.lease_until <= $lease_now OR r.clock_id <> $clock_id OR r.claimant IN (SELECT ids.id FROM $names))
  AND (:any_kind OR NOT r.has_kill_command OR r.run_id IN (SELECT ids.id FROM $ids))
ORDER BY r.work_id $skip_locked

-- name: list_revoked
-- Revoked runs of a job whose work may outlive them, and whose own process is seen to be dead.
SELECT r.run_id, r.work_id, r.dataid, r.host, r.claimant, r.has_kill_command
FROM run r
WHERE r.job_id = :job_id AND r.has_kill_command AND $ending
  AND (r.lease_until <= $lease_now OR r.clock_id <> $clock_id OR r.claimant IN (SELECT ids.id FROM $names))
ORDER BY r.work_id

-- name: end_revoked
-- The kill command of a revoked run has run: nothing of it is left.
UPDATE run SET lease_until = $lease_now, has_kill_command = FALSE
WHERE run_id = :run_id AND outcome = 'CANCELLED'
RETURNING work_id

-- name: list_claimants
-- The claimants of a job's live runs on one machine, to ask the kernel whether they still live.
SELECT DISTINCT claimant FROM run
WHERE job_id = :job_id AND ended_at IS NULL AND host = :host AND boot_id = :boot_id AND claimant <> :claimant

-- name: free_run
-- Ends a dead run. The predicate is repeated: a renewal may have come in between.
UPDATE run SET ended_at = $now_at, outcome = 'LOST', reason = :reason
WHERE run_id = :run_id AND ended_at IS NULL
  AND (lease_until <= $lease_now OR clock_id <> $clock_id OR claimant IN (SELECT ids.id FROM $names))
RETURNING run_id

-- name: free_work
-- Gives a dead run's work back: at once the first time, later and later after that; after :max_crashes it is
-- quarantined.
UPDATE work
SET losses = losses + 1, modified_at = $now_at, reason = :reason,
    not_before = CASE WHEN losses = 0 OR losses + 1 >= :max_crashes THEN NULL
                      ELSE $lease_now + $least(:delay_seconds * (1 << losses), 600) END,
    not_before_clock = $clock_id, quarantined = losses + 1 >= :max_crashes,
    state = CASE WHEN losses + 1 >= :max_crashes THEN 'FAILED'
                 WHEN losses > 0 OR missing > 0 THEN 'WAITING'
                 ELSE 'CLAIMABLE' END
WHERE work_id = :work_id AND run_id = :run_id AND state = 'RUNNING'
RETURNING state, losses

-- name: list_crashes
-- The last of a work's runs that died, oldest first; from the runs of its dataid.
SELECT run_id, host, ended_at FROM (
    SELECT run_id, host, ended_at FROM run
    WHERE dataid = :dataid AND work_id = :work_id AND outcome = 'LOST'
    ORDER BY run_id DESC LIMIT :most) AS crashes
ORDER BY run_id

-- name: explain_quarantine
-- Says of quarantined work which runs it has killed.
UPDATE work SET reason = :reason WHERE work_id = :work_id

-- name: explain_last_crash
UPDATE run SET reason = :reason WHERE run_id = :run_id

-- name: promote
-- Work whose wait is over; bounded, so that a claim stays small. Materialized, or PostgreSQL may run the bounded query
-- again and take more.
WITH due AS MATERIALIZED (
    SELECT work_id FROM work
    WHERE job_id = :job_id AND not_before IS NOT NULL
      AND not_before_clock = $clock_id AND not_before <= $lease_then
      AND NOT EXISTS (SELECT 1 FROM run r WHERE r.run_id = work.run_id AND $ending)
    ORDER BY not_before LIMIT 1000 $skip_locked)
UPDATE work
SET state = CASE WHEN missing = 0 THEN 'CLAIMABLE' ELSE 'WAITING' END, not_before = NULL, modified_at = $now_at
WHERE work_id IN (SELECT due.work_id FROM due)
  AND state = 'WAITING'

-- name: end_old_waits
-- Work that waits since before the machine was started again, by a clock that has stopped: its wait is over. Bounded.
UPDATE work SET not_before = $lease_now, not_before_clock = $clock_id
WHERE work_id IN (SELECT work_id FROM work
                  WHERE job_id = :job_id AND not_before IS NOT NULL
                    AND (not_before_clock < $clock_id OR not_before_clock > $clock_id)
                  LIMIT 1000 $skip_locked)
  AND not_before IS NOT NULL

-- name: next_work
-- The first claimable work in order; :suspect_losses leaves out what has lost this many runs.
SELECT work_id, dataid, sort_key, attempts + losses + 1 AS attempt, state, losses, priority, called_at FROM work
WHERE job_id = :job_id AND state = 'CLAIMABLE' AND hold = FALSE AND state <> 'DONE' AND state <> 'RUNNING'
  AND losses < :suspect_losses
ORDER BY priority DESC, sort_key LIMIT 1 $skip_locked

-- name: next_newest
-- The last claimable work in order, of the highest priority there is: the same index, read from its other end.
SELECT work_id, dataid, sort_key, attempts + losses + 1 AS attempt, state, losses, priority, called_at FROM work
WHERE job_id = :job_id AND state = 'CLAIMABLE' AND hold = FALSE AND state <> 'DONE' AND state <> 'RUNNING'
  AND losses < :suspect_losses
  AND priority = (SELECT priority FROM work
                  WHERE job_id = :job_id AND state = 'CLAIMABLE' AND hold = FALSE AND state <> 'DONE'
                    AND state <> 'RUNNING' AND losses < :suspect_losses
                  ORDER BY priority DESC LIMIT 1)
ORDER BY sort_key DESC LIMIT 1 $skip_locked

-- name: next_ordered
-- The first unfinished work of an ordered job, whatever its state: nothing may overtake it.
SELECT work_id, dataid, sort_key, attempts + losses + 1 AS attempt, state, losses, hold FROM work
WHERE job_id = :job_id AND ordered AND state <> 'DONE'
ORDER BY sort_key LIMIT 1 $for_update

-- name: suspect_of
-- Whether a claimant runs work that may be what kills it. Of two that die together, one would be quarantined wrongly.
SELECT 1 FROM run r JOIN work w ON w.work_id = r.work_id JOIN job j ON j.job_id = w.job_id
WHERE r.ended_at IS NULL AND r.claimant = :claimant AND w.losses > 0 AND w.losses >= $least(2, j.max_crashes - 1)
LIMIT 1

-- name: named_work
-- One particular work.
SELECT work_id, dataid, sort_key, attempts + losses + 1 AS attempt, state, losses, hold, run_id FROM work
WHERE job_id = :job_id AND dataid = :dataid $for_update

-- name: last_run
-- The run that had a work last: where it is, and for how long it may still be at work although it was revoked.
SELECT host, has_kill_command, CASE WHEN $ending THEN lease_until - $lease_now END FROM run WHERE run_id = :run_id

-- name: earlier_work
-- Whether a job has work before a given place in order.
SELECT 1 FROM work WHERE job_id = :job_id AND sort_key < :sort_key LIMIT 1

-- name: state_of
-- The state of one work of a job.
SELECT state FROM work WHERE job_id = :job_id AND dataid = :dataid

-- name: insert_run
-- A new run with its lease, and the run that had the work before; none when the job was changed, put on hold or paused.
-- The work is locked by now, and a change of the job waits for that lock before it commits: what this sees is what the
-- run will be.
INSERT INTO run (work_id, job_id, job, dataid, attempt, token, claimant, host, boot_id, pid, user_name, environment,
                 script_path, script_hash, has_kill_command, started_at, lease_seconds, grace_seconds, lease_until,
                 clock_id)
SELECT :work_id, j.job_id, j.name, :dataid, :attempt, :token, :claimant, :host, :boot_id, :pid, :user_name, :environment,
       :script_path, :script_hash, :has_kill_command, $now_at, :lease_seconds, :grace_seconds,
       $lease_now + :lease_seconds, $clock_id
FROM job j
WHERE j.job_id = :job_id AND j.revision = :revision AND (:force OR NOT j.hold)
  AND (:force OR NOT EXISTS (SELECT 1 FROM pause))
RETURNING run_id, (SELECT w.run_id FROM work w WHERE w.work_id = :work_id) AS earlier_run_id

-- name: taken_from_work
-- The runs from which the work of a run was taken, on one machine since it was started: they may not know it yet.
SELECT run_id, claimant FROM run
WHERE job_id = :job_id AND host = :host AND boot_id = :boot_id AND work_id = :work_id AND run_id < :run_id
  AND outcome IN ('LOST', 'CANCELLED')
LIMIT :most

-- name: taken_from_job
-- The same of all work of a job that runs one at a time; in the order of the index, else PostgreSQL reads them all.
SELECT run_id, claimant FROM run
WHERE job_id = :job_id AND host = :host AND boot_id = :boot_id AND run_id < :run_id
  AND outcome IN ('LOST', 'CANCELLED')
ORDER BY work_id LIMIT :most

-- name: taken_among
-- Which of some runs of a job have lost their work, on one machine since it was started.
SELECT run_id, claimant FROM run
WHERE run_id IN (SELECT ids.id FROM $ids) AND run_id < :run_id AND job_id = :job_id AND host = :host
  AND boot_id = :boot_id AND (work_id = :work_id OR :alone) AND outcome IN ('LOST', 'CANCELLED')

-- name: take
-- Gives the work to the run, if it is still in the state it was found in and no later run has had it. Finished work
-- that is forced counts as resubmitted: should the run come to nothing, the ordinary command does it again.
UPDATE work
SET state = 'RUNNING', run_id = :run_id, not_before = NULL, reason = '', quarantined = FALSE, modified_at = $now_at,
    resubmitted = resubmitted OR state IN ('DONE', 'FAILED', 'INVALID'),
    called_at = CASE WHEN state IN ('DONE', 'FAILED', 'INVALID') THEN $now_at ELSE called_at END,
    called_run_id = CASE WHEN state IN ('DONE', 'FAILED', 'INVALID') THEN run_id ELSE called_run_id END
WHERE work_id = :work_id AND state = :state AND run_id < :run_id
RETURNING work_id

-- name: insert_forced_work
-- Work that is forced before any of its inputs called for it.
INSERT INTO work (job_id, dataid, sort_key, priority, ordered, state, missing, called_at, modified_at)
VALUES (:job_id, :dataid, :sort_key, :priority, :ordered, 'WAITING',
        (SELECT count(*) FROM job_input WHERE job_id = :job_id), $now_at, $now_at)
ON CONFLICT (job_id, dataid) DO NOTHING
RETURNING work_id

-- name: insert_forced_inputs
INSERT INTO work_input (work_id, position, needed, present)
SELECT :work_id, i.position, 1, 0 FROM job_input i WHERE i.job_id = :job_id

-- name: pin_chunk
-- An input chunk as the run will read it.
SELECT c.chunk_id, c.version, c.location, c.size, c.checked, c.dirty_run_id
FROM chunk c
WHERE c.dataset_id = :dataset_id AND c.dataid = :dataid AND c.version > 0 AND NOT c.withdrawn

-- name: pin
-- Remembers the version a run reads.
INSERT INTO run_input (run_id, position, chunk_id, version) VALUES (:run_id, :position, :chunk_id, :version)

-- name: pin_ready
-- Remembers the versions of all chunks of an input that are ready now, beside what the claim has pinned.
INSERT INTO run_input (run_id, position, chunk_id, version)
SELECT r.run_id, :position, c.chunk_id, c.version
FROM run r JOIN chunk c ON c.dataset_id = :dataset_id
WHERE r.run_id = :run_id AND r.claimant = :claimant AND r.ended_at IS NULL
  AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
ON CONFLICT (run_id, position, chunk_id) DO NOTHING

-- name: output_chunks
-- What is already published where the run will write.
SELECT d.dataset_id, d.name, d.location, c.chunk_id, c.sort_key, c.version
FROM job_output o
JOIN dataset d ON d.dataset_id = o.dataset_id
JOIN chunk c ON c.dataset_id = o.dataset_id AND c.dataid = :dataid
WHERE o.job_id = :job_id AND c.version > 0
ORDER BY d.dataset_id

-- name: in_place
-- Of a dataset whose dataids are all written to one place, what is in that place now, and the run that has begun to
-- overwrite it and has not finished well: it is marked at what was there then, which may be withdrawn since.
SELECT chunk_id, dataid, sort_key, version,
       (SELECT max(d.dirty_run_id) FROM chunk d WHERE d.dataset_id = :dataset_id AND d.dirty_run_id IS NOT NULL)
FROM chunk
WHERE dataset_id = :dataset_id AND version > 0 AND NOT withdrawn
ORDER BY sort_key DESC LIMIT 1

-- name: place_readers
-- Runs that read any chunk of a dataset and may be at work; from the few such runs, like `readers`.
SELECT DISTINCT i.run_id FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
WHERE i.run_id IN (SELECT r.run_id FROM run r
                   WHERE r.ended_at IS NULL AND r.lease_until > $lease_now AND r.clock_id = $clock_id
                   UNION ALL $all_ending)
  AND c.dataset_id = :dataset_id AND i.run_id <> :run_id
ORDER BY 1

-- name: readers
-- Runs that read a chunk and may be at work. From the few such runs to their pins: an index on the chunks of all pins
-- ever made would cost every claim some pages.
SELECT DISTINCT i.run_id FROM run_input i
WHERE i.run_id IN (SELECT r.run_id FROM run r
                   WHERE r.ended_at IS NULL AND r.lease_until > $lease_now AND r.clock_id = $clock_id
                   UNION ALL $all_ending)
  AND i.chunk_id = :chunk_id AND i.run_id <> :run_id
ORDER BY 1

-- name: find_by_token
-- The run an earlier call with this token made, so that a repeat after a lost answer is the same claim. One that has
-- ended since is looked for among the newest: a repeat comes within a minute.
SELECT run_id, work_id, dataid, attempt, lease_seconds, grace_seconds, FALSE FROM run
WHERE token = :token AND ended_at IS NULL
UNION ALL
SELECT run_id, work_id, dataid, attempt, lease_seconds, grace_seconds, TRUE FROM run
WHERE run_id > (SELECT max(run_id) FROM run) - 100000 AND token = :token AND ended_at IS NOT NULL

-- name: pins_of
-- What a run reads, with the chunks as they are now.
SELECT i.position, i.chunk_id, c.dataid, i.version, c.location, c.size, c.checked, c.dirty_run_id
FROM run_input i JOIN chunk c ON c.chunk_id = i.chunk_id
WHERE i.run_id = :run_id
ORDER BY i.position, c.sort_key

-- name: renew
-- One statement for all runs of a process; a lapsed lease cannot be renewed, an ended run neither.
UPDATE run SET lease_until = $lease_now + lease_seconds
WHERE run_id IN (SELECT ids.id FROM $ids) AND claimant = :claimant AND ended_at IS NULL
  AND lease_until > $lease_now AND clock_id = $clock_id
RETURNING run_id

-- name: still_held
-- Which of these runs are still the claimant's; reads only.
SELECT run_id FROM run
WHERE run_id IN (SELECT ids.id FROM $ids) AND claimant = :claimant AND ended_at IS NULL

-- name: set_script_path
-- Remembers where the job's script was first run from.
UPDATE job SET script_path = :script_path, kind = 'script' WHERE job_id = :job_id AND script_path = ''

-- name: held_by
-- Whether a claimant still holds anything.
SELECT run_id FROM run WHERE ended_at IS NULL AND claimant = :claimant LIMIT 1
