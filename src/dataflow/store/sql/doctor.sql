-- name: live_runs
-- Runs whose lease is good, to ask the kernel whether their processes live.
SELECT r.run_id, r.job, r.dataid, r.host, r.claimant
FROM run r
WHERE r.ended_at IS NULL AND r.lease_until > $lease_now AND r.clock_id = $clock_id
ORDER BY +r.run_id

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

-- name: suspect_jobs
-- The jobs that the oracle is to be asked about one by one. Of those whose inputs are all mapped `same` only such as break
-- its rule somewhere, which is asked of all at once; the rule for the others is not in SQL.
SELECT j.name FROM job j WHERE j.job_id IN (
    SELECT w.job_id FROM work w
    WHERE w.state = 'CLAIMABLE' AND w.missing > 0 OR w.state = 'WAITING' AND w.missing = 0 AND w.not_before IS NULL
    UNION
    SELECT w.job_id FROM work w
    WHERE w.missing <> (SELECT count(*) FROM job_input i
                        WHERE i.job_id = w.job_id AND NOT EXISTS (
                            SELECT 1 FROM chunk c
                            WHERE c.dataset_id = i.dataset_id AND c.dataid = w.dataid
                              AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL))
    UNION
    SELECT i.job_id FROM job_input i JOIN chunk c ON c.dataset_id = i.dataset_id
    WHERE i.mapping = 'same' AND c.version > 0 AND NOT c.withdrawn AND NOT c.stale AND c.dirty_run_id IS NULL
      AND NOT EXISTS (SELECT 1 FROM work w WHERE w.job_id = i.job_id AND w.dataid = c.dataid)
    UNION
    SELECT i.job_id FROM job_input i
    WHERE i.mapping <> 'same' AND (i.newest <> '' OR EXISTS (SELECT 1 FROM chunk c WHERE c.dataset_id = i.dataset_id)
                                   OR EXISTS (SELECT 1 FROM work w WHERE w.job_id = i.job_id)))
ORDER BY j.name
