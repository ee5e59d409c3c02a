-- name: fill_chunks
-- Published chunks with eight-digit dataids.
WITH RECURSIVE number (i) AS (SELECT 10000000 UNION ALL SELECT i + 1 FROM number WHERE i + 1 < 10000000 + :chunks)
INSERT INTO chunk (dataset_id, dataid, sort_key, version, modified_at)
SELECT :dataset_id, CAST(i AS text), '8' || CAST(i AS text), 1, $now_at FROM number

-- name: fill_work
-- The work these chunks call for: the first are done, the next wait for another hour, the rest is claimable.
INSERT INTO work (job_id, dataid, sort_key, state, missing, not_before, not_before_clock, called_at, modified_at)
SELECT :job_id, c.dataid, c.sort_key,
       CASE WHEN c.dataid < :first_open THEN 'DONE' WHEN c.dataid < :first_claimable THEN 'WAITING' ELSE 'CLAIMABLE' END,
       0,
       CASE WHEN c.dataid >= :first_open AND c.dataid < :first_claimable THEN $lease_now + 3600 END,
       $clock_id,
       $now_at, $now_at
FROM chunk c
WHERE c.dataset_id = :dataset_id
ORDER BY c.chunk_id

-- name: fill_work_inputs
INSERT INTO work_input (work_id, position, needed, present)
SELECT work_id, 0, 1, 1 FROM work WHERE job_id = :job_id ORDER BY work_id

-- name: fill_runs
-- One finished run of every work that is done.
INSERT INTO run (work_id, job_id, job, dataid, attempt, token, claimant, host, boot_id, pid, user_name, environment, started_at,
                 lease_seconds, grace_seconds, lease_until, clock_id, ended_at, outcome, exit_code)
SELECT work_id, job_id, 'bench', dataid, 1, 'done ' || dataid, 'bench', 'bench', 'bench', 1, 'bench', 'bench', $now_at,
       300, 10, 0, $clock_id, $now_at, 'DONE', 0
FROM work WHERE job_id = :job_id AND state = 'DONE' ORDER BY work_id

-- name: fill_journal
-- The moves of these runs.
INSERT INTO journal (at, actor, action, job, dataid, run_id, from_state, to_state)
SELECT r.started_at, 'bench@bench', move.action, 'bench', r.dataid, r.run_id, move.from_state, move.to_state
FROM run r
CROSS JOIN (SELECT 'claim' AS action, 'CLAIMABLE' AS from_state, 'RUNNING' AS to_state
            UNION ALL SELECT 'finish', 'RUNNING', 'DONE') AS move
WHERE r.job_id = :job_id ORDER BY r.run_id

-- name: fill_pins
INSERT INTO run_input (run_id, position, chunk_id, version)
SELECT r.run_id, 0, c.chunk_id, 1
FROM run r JOIN chunk c ON c.dataset_id = :dataset_id AND c.dataid = r.dataid
WHERE r.job_id = :job_id ORDER BY r.run_id

-- name: fill_outputs
INSERT INTO chunk (dataset_id, dataid, sort_key, version, run_id, modified_at)
SELECT :dataset_id, w.dataid, w.sort_key, 1, r.run_id, $now_at
FROM run r JOIN work w ON w.work_id = r.work_id
WHERE r.job_id = :job_id ORDER BY r.run_id

-- name: fill_old_runs
-- Runs of every work that is done, long ended; one in 1,000 works was INVALID at first, all others failed.
WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < :attempts)
INSERT INTO run (work_id, job_id, job, dataid, attempt, token, claimant, host, boot_id, pid, user_name, environment, started_at,
                 lease_seconds, grace_seconds, lease_until, clock_id, ended_at, outcome, exit_code)
SELECT work_id, job_id, 'bench', dataid, i, 'old ' || dataid || ' ' || CAST(i AS text), 'bench', 'bench', 'bench', 1, 'bench',
       'bench', '2020-01-01T00:00:00.000Z', 300, 10, 0, 'bench', '2020-01-01T00:00:01.000Z',
       CASE WHEN i = 1 AND work_id % 1000 = 0 THEN 'INVALID' ELSE 'FAILED' END, 1
FROM number CROSS JOIN work
WHERE job_id = :job_id AND state = 'DONE'

-- name: fill_old_pins
INSERT INTO run_input (run_id, position, chunk_id, version)
SELECT r.run_id, 0, c.chunk_id, 1
FROM run r JOIN chunk c ON c.dataset_id = :dataset_id AND c.dataid = r.dataid
WHERE r.clock_id = 'bench'

-- name: fill_old_journal
-- The moves of these runs.
INSERT INTO journal (at, actor, action, job, dataid, run_id, from_state, to_state)
SELECT r.started_at, 'bench@bench', move.action, 'bench', r.dataid, r.run_id, move.from_state, move.to_state
FROM run r
CROSS JOIN (SELECT 'claim' AS action, 'CLAIMABLE' AS from_state, 'RUNNING' AS to_state
            UNION ALL SELECT 'finish', 'RUNNING', 'FAILED') AS move
WHERE r.clock_id = 'bench'

-- name: count_old_runs
SELECT count(*) FROM run WHERE clock_id = 'bench'

-- name: count_work
SELECT count(*) FROM work

-- name: count_done
SELECT count(*) FROM work WHERE state = 'DONE'

-- name: empty @postgres
-- Takes the tables away again; what stays is an empty schema.
DROP TABLE meta, dataset, calendar, job, job_input, job_output, job_environment, chunk, chunk_version, work, work_input, run,
           run_input, journal, verb_token, migration, job_pair, work_deadline, pool, pause, dataset_watch, incident,
           notification, channel, delivery, worker, late_output, run_tally, run_untallied, user_account,
           api_token, web_session CASCADE

-- name: count_loaded
-- The chunks that a migration has brought to its end.
SELECT count(*) FROM chunk c JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE d.name = 'loaded' AND c.version > 0 AND NOT c.stale

-- name: count_accepted
-- Accepted outcomes of each job, and of how many chunks.
SELECT job, count(*), count(DISTINCT dataid) FROM run WHERE outcome = 'DONE' GROUP BY job ORDER BY job

-- name: fill_mixed_work
-- The work that these chunks call for, in all states, evenly mixed; one in 1,000 each has its number.
INSERT INTO work (job_id, dataid, sort_key, state, hold, resubmitted, missing, called_at, modified_at)
SELECT :job_id, c.dataid, c.sort_key,
       CASE WHEN number < 10 THEN 'FAILED' WHEN number < 15 THEN 'INVALID' WHEN number < 65 THEN 'WAITING'
            WHEN number < 165 THEN 'CLAIMABLE' ELSE 'DONE' END,
       number >= 15 AND number < 40, number >= 40 AND number < 65, 0, $now_at, $now_at
FROM (SELECT dataid, sort_key, chunk_id, chunk_id % 1000 AS number FROM chunk WHERE dataset_id = :dataset_id) AS c
ORDER BY c.chunk_id

-- name: fill_mixed_chunks
-- What is published of it: everything that is done or was, some of it stale or withdrawn.
INSERT INTO chunk (dataset_id, dataid, sort_key, version, stale, withdrawn, modified_at)
SELECT :dataset_id, w.dataid, w.sort_key, 1, w.state = 'CLAIMABLE', w.state = 'DONE' AND w.work_id % 100 = 0, $now_at
FROM work w
WHERE w.job_id = :job_id AND (w.state = 'DONE' OR w.resubmitted OR w.state = 'CLAIMABLE' AND w.work_id % 2 = 0)
ORDER BY w.work_id
