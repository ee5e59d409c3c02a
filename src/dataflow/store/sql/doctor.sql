-- name: live_runs
-- Runs whose lease is good, to ask the kernel whether their processes live.
SELECT r.run_id, r.job, r.dataid, r.host, r.claimant
FROM run r
WHERE r.ended_at IS NULL AND r.lease_until > $lease_now AND r.clock_id = $clock_id
ORDER BY r.run_id

-- name: miscounted_work
-- Work whose count of missing inputs is not that of its own rows in work_input.
SELECT j.name, w.dataid, w.missing FROM work w JOIN job j ON j.job_id = w.job_id
WHERE w.missing <> (SELECT count(*) FROM work_input x WHERE x.work_id = w.work_id AND x.present < x.needed)
ORDER BY w.work_id LIMIT :most

-- name: orphaned_running
-- Work that says it is running although its run has ended, or never was.
SELECT j.name, w.dataid, w.run_id FROM work w JOIN job j ON j.job_id = w.job_id
WHERE w.state = 'RUNNING'
  AND NOT EXISTS (SELECT 1 FROM run r WHERE r.run_id = w.run_id AND r.ended_at IS NULL)
ORDER BY w.work_id LIMIT :most
