-- name: lock_tally
-- One process tallies at a time, and none while runs are purged (PostgreSQL only).
SELECT 1 FROM meta WHERE key = 'tallied' FOR UPDATE

-- name: tallied
-- Up to which run outcomes are tallied.
SELECT CAST(value AS bigint) FROM meta WHERE key = 'tallied'

-- name: set_tallied
UPDATE meta SET value = CAST(:run_id AS text) WHERE key = 'tallied'

-- name: next_settled
-- The last of so many runs after one, all of them started a while ago: the claim of each has been committed by now.
SELECT max(run_id) FROM (SELECT run_id, started_at FROM run WHERE run_id > :after ORDER BY run_id LIMIT :most) AS part
WHERE started_at < :before

-- name: last_of_batch
-- The last of exactly so many runs after one, if it started a while ago.
SELECT run_id FROM (SELECT run_id, started_at FROM run WHERE run_id > :after ORDER BY run_id
                    LIMIT 1 OFFSET :most - 1) AS part
WHERE started_at < :before

-- name: tally_ended
INSERT INTO run_tally (job, outcome, runs, last_at)
SELECT job, outcome, count(*), max(ended_at) FROM run
WHERE run_id > :after AND run_id <= :last AND ended_at IS NOT NULL GROUP BY job, outcome
ON CONFLICT (job, outcome) DO UPDATE
SET runs = run_tally.runs + excluded.runs,
    last_at = CASE WHEN excluded.last_at > run_tally.last_at THEN excluded.last_at ELSE run_tally.last_at END

-- name: remember_running
INSERT INTO run_untallied (run_id)
SELECT run_id FROM run WHERE run_id > :after AND run_id <= :last AND ended_at IS NULL

-- name: tally_late
-- Those that have ended since.
INSERT INTO run_tally (job, outcome, runs, last_at)
SELECT r.job, r.outcome, count(*), max(r.ended_at) FROM run_untallied u JOIN run r ON r.run_id = u.run_id
WHERE r.ended_at IS NOT NULL GROUP BY r.job, r.outcome
ON CONFLICT (job, outcome) DO UPDATE
SET runs = run_tally.runs + excluded.runs,
    last_at = CASE WHEN excluded.last_at > run_tally.last_at THEN excluded.last_at ELSE run_tally.last_at END

-- name: forget_late
DELETE FROM run_untallied
WHERE run_id IN (SELECT u.run_id FROM run_untallied u JOIN run r ON r.run_id = u.run_id WHERE r.ended_at IS NOT NULL)

-- name: runs
-- All runs there have ever been, by job and outcome, and when the last of them ended.
SELECT job, outcome, runs, last_at FROM run_tally
UNION ALL
SELECT job, outcome, count(*), max(ended_at) FROM run WHERE run_id > :after GROUP BY job, outcome
UNION ALL
SELECT r.job, r.outcome, count(*), max(r.ended_at) FROM run_untallied u JOIN run r ON r.run_id = u.run_id
GROUP BY r.job, r.outcome
