-- name: lock_registry
-- One registration at a time, so that cycles and second producers cannot slip in side by side (PostgreSQL only).
SELECT 1 FROM meta WHERE key = 'store_id' FOR UPDATE

-- name: lock_datasets
-- Keeps publishers of these datasets out until the job's work is rebuilt (PostgreSQL only).
SELECT 1 FROM dataset WHERE dataset_id = ANY(:dataset_ids) ORDER BY dataset_id FOR UPDATE

-- name: lock_work
-- Keeps claims of a job out until it is removed (PostgreSQL only).
SELECT 1 FROM work WHERE job_id = :job_id ORDER BY work_id FOR UPDATE

-- name: upsert_datasets
-- Registers datasets or changes their fields.
INSERT INTO dataset (name, hostname, "database", schemaname, tablename, username, encryptedpass, location, format,
                     grain, timezone, mode, options, fresh_within_seconds, due_by, modified_at)
SELECT value ->> 'name', value ->> 'hostname', value ->> 'database', value ->> 'schemaname', value ->> 'tablename',
       value ->> 'username', value ->> 'encryptedpass', value ->> 'location', value ->> 'format', value ->> 'grain',
       value ->> 'timezone', value ->> 'mode', value ->> 'options',
       CAST(value ->> 'fresh_within_seconds' AS double precision), value ->> 'due_by', $now_at
FROM $records
WHERE TRUE
ON CONFLICT (name) DO UPDATE
SET hostname = excluded.hostname, "database" = excluded."database", schemaname = excluded.schemaname,
    tablename = excluded.tablename, username = excluded.username, encryptedpass = excluded.encryptedpass,
    location = excluded.location, format = excluded.format, grain = excluded.grain, timezone = excluded.timezone,
    mode = excluded.mode, options = excluded.options,
    fresh_within_seconds = excluded.fresh_within_seconds, due_by = excluded.due_by, modified_at = excluded.modified_at
RETURNING name, dataset_id

-- name: bump_revisions
-- Runs of the jobs that use these datasets must read their fields again.
UPDATE job SET revision = revision + 1
WHERE job_id IN (SELECT job_id FROM job_input WHERE dataset_id IN (SELECT ids.id FROM $ids)
                 UNION SELECT job_id FROM job_output WHERE dataset_id IN (SELECT ids.id FROM $ids))

-- name: list_datasets
SELECT dataset_id, name, hostname, "database", schemaname, tablename, username, encryptedpass, location, format,
       grain, timezone, mode, options, fresh_within_seconds, due_by
FROM dataset ORDER BY name

-- name: find_datasets
SELECT dataset_id, name, hostname, "database", schemaname, tablename, username, encryptedpass, location, format,
       grain, timezone, mode, options, fresh_within_seconds, due_by
FROM dataset WHERE name IN (SELECT ids.id FROM $names)

-- name: count_chunks
SELECT count(*) FROM chunk WHERE dataset_id = :dataset_id

-- name: newest_dataids
-- The last dataids of a dataset; bounded.
SELECT dataid FROM chunk WHERE dataset_id = :dataset_id ORDER BY sort_key DESC LIMIT 1000

-- name: delete_versions
DELETE FROM chunk_version WHERE chunk_id IN (SELECT chunk_id FROM chunk WHERE dataset_id = :dataset_id)

-- name: delete_chunks
DELETE FROM chunk WHERE dataset_id = :dataset_id

-- name: delete_calendar
DELETE FROM calendar WHERE dataset_id = :dataset_id

-- name: delete_dataset
DELETE FROM dataset WHERE dataset_id = :dataset_id

-- name: upsert_jobs
-- Registers jobs or changes their settings.
INSERT INTO job (name, schedule, start_at, end_at, catchup, timezone, ordered, retries, retry_delay_seconds,
                 max_running, lease_seconds, grace_seconds, priority, timeout_seconds, grain, grain_timezone, days,
                 modified_at, pool, claim_order, retry_backoff, retry_max_delay_seconds, final_exit_codes, max_crashes,
                 on_change, late_after_seconds)
SELECT value ->> 'name', value ->> 'schedule', value ->> 'start', value ->> 'end', CAST(value ->> 'catchup' AS boolean),
       value ->> 'timezone', CAST(value ->> 'ordered' AS boolean), CAST(value ->> 'retries' AS integer),
       CAST(value ->> 'retry_delay_seconds' AS double precision), CAST(value ->> 'max_running' AS integer),
       CAST(value ->> 'lease_seconds' AS double precision), CAST(value ->> 'grace_seconds' AS double precision),
       CAST(value ->> 'priority' AS integer), CAST(value ->> 'timeout_seconds' AS double precision),
       value ->> 'grain', value ->> 'grain_timezone', value ->> 'days', $now_at,
       value ->> 'pool', value ->> 'order', CAST(value ->> 'retry_backoff' AS double precision),
       CAST(value ->> 'retry_max_delay_seconds' AS double precision), value ->> 'final_exit_codes',
       CAST(value ->> 'max_crashes' AS integer), value ->> 'on_change',
       CAST(value ->> 'late_after_seconds' AS double precision)
FROM $records
WHERE TRUE
ON CONFLICT (name) DO UPDATE
SET schedule = excluded.schedule, start_at = excluded.start_at, end_at = excluded.end_at, catchup = excluded.catchup,
    timezone = excluded.timezone, ordered = excluded.ordered, retries = excluded.retries,
    retry_delay_seconds = excluded.retry_delay_seconds, max_running = excluded.max_running,
    lease_seconds = excluded.lease_seconds, grace_seconds = excluded.grace_seconds, priority = excluded.priority,
    timeout_seconds = excluded.timeout_seconds, grain = excluded.grain, grain_timezone = excluded.grain_timezone,
    days = excluded.days, on_change = excluded.on_change, late_after_seconds = excluded.late_after_seconds,
    revision = job.revision + 1,
    script_path = CASE WHEN job.script_path = 'pipeline' THEN job.script_path ELSE '' END,
    modified_at = excluded.modified_at, pool = excluded.pool, claim_order = excluded.claim_order,
    retry_backoff = excluded.retry_backoff, retry_max_delay_seconds = excluded.retry_max_delay_seconds,
    final_exit_codes = excluded.final_exit_codes, max_crashes = excluded.max_crashes
RETURNING name, job_id

-- name: set_kind
-- Says what does the work of jobs, whatever did it before.
UPDATE job SET kind = :kind, script_path = :script_path
WHERE name IN (SELECT ids.id FROM $names) AND (kind <> :kind OR script_path <> :script_path)

-- name: forget_script
UPDATE job SET script_path = '' WHERE name = :name

-- name: delete_environments
DELETE FROM job_environment WHERE job_id IN (SELECT ids.id FROM $ids)

-- name: delete_inputs
DELETE FROM job_input WHERE job_id IN (SELECT ids.id FROM $ids)

-- name: delete_outputs
DELETE FROM job_output WHERE job_id IN (SELECT ids.id FROM $ids)

-- name: delete_job_output
DELETE FROM job_output WHERE dataset_id = :dataset_id

-- name: insert_inputs
INSERT INTO job_input (job_id, position, dataset_id, mapping, days, rule)
SELECT CAST(value ->> 'job_id' AS bigint), CAST(value ->> 'position' AS integer), CAST(value ->> 'dataset_id' AS bigint),
       value ->> 'mapping', value ->> 'days', value ->> 'rule'
FROM $records

-- name: insert_outputs
INSERT INTO job_output (dataset_id, job_id, position)
SELECT CAST(value ->> 'dataset_id' AS bigint), CAST(value ->> 'job_id' AS bigint), CAST(value ->> 'position' AS integer)
FROM $records

-- name: note_late_outputs
-- Outputs that a job gets although it has work: what is done has no chunk there.
INSERT INTO late_output (dataset_id)
SELECT ids.id FROM $ids
WHERE EXISTS (SELECT 1 FROM work w WHERE w.job_id = :job_id)
ON CONFLICT DO NOTHING

-- name: forget_late_output
DELETE FROM late_output WHERE dataset_id = :dataset_id

-- name: insert_environments
INSERT INTO job_environment (job_id, name, value)
SELECT CAST(value ->> 'job_id' AS bigint), value ->> 'name', value ->> 'value'
FROM $records

-- name: list_jobs
SELECT job_id, name, schedule, start_at, end_at, catchup, timezone, ordered, retries, retry_delay_seconds,
       max_running, lease_seconds, grace_seconds, priority, timeout_seconds, grain, grain_timezone, hold, script_path,
       revision, kind, days,
       pool, claim_order, retry_backoff, retry_max_delay_seconds, final_exit_codes, max_crashes, on_change,
       late_after_seconds
FROM job ORDER BY name

-- name: find_jobs
SELECT job_id, name, schedule, start_at, end_at, catchup, timezone, ordered, retries, retry_delay_seconds,
       max_running, lease_seconds, grace_seconds, priority, timeout_seconds, grain, grain_timezone, hold, script_path,
       revision, kind, days,
       pool, claim_order, retry_backoff, retry_max_delay_seconds, final_exit_codes, max_crashes, on_change,
       late_after_seconds
FROM job WHERE name IN (SELECT ids.id FROM $names)

-- name: job_names
SELECT name FROM job ORDER BY name

-- name: dataset_names
SELECT name FROM dataset ORDER BY name

-- name: job_inputs
-- The inputs of some jobs, each with its dataset.
SELECT i.job_id, i.position, i.dataset_id, i.mapping, i.days, i.rule, d.name, d.hostname, d."database", d.schemaname,
       d.tablename, d.username, d.encryptedpass, d.location, d.format, d.grain, d.timezone, d.mode, d.options,
       d.fresh_within_seconds, d.due_by
FROM job_input i JOIN dataset d ON d.dataset_id = i.dataset_id
WHERE i.job_id IN (SELECT ids.id FROM $ids) ORDER BY i.job_id, i.position

-- name: job_outputs
-- The outputs of some jobs, each with its dataset.
SELECT o.job_id, o.dataset_id, d.name, d.hostname, d."database", d.schemaname, d.tablename, d.username,
       d.encryptedpass, d.location, d.format, d.grain, d.timezone, d.mode, d.options,
       d.fresh_within_seconds, d.due_by
FROM job_output o JOIN dataset d ON d.dataset_id = o.dataset_id
WHERE o.job_id IN (SELECT ids.id FROM $ids) ORDER BY o.job_id, o.position

-- name: job_environments
SELECT job_id, name, value FROM job_environment WHERE job_id IN (SELECT ids.id FROM $ids) ORDER BY job_id, name

-- name: job_users
-- The jobs that read or produce any of some datasets.
SELECT j.name FROM job j WHERE j.job_id IN (
    SELECT job_id FROM job_input WHERE dataset_id IN (SELECT ids.id FROM $ids)
    UNION SELECT job_id FROM job_output WHERE dataset_id IN (SELECT ids.id FROM $ids))
ORDER BY j.name

-- name: jobs_downstream
-- The jobs that read some datasets, directly or through other jobs.
WITH RECURSIVE reached (job_id) AS (
    SELECT job_id FROM job_input WHERE dataset_id IN (SELECT ids.id FROM $ids)
    UNION
    SELECT i.job_id FROM reached
    JOIN job_output o ON o.job_id = reached.job_id
    JOIN job_input i ON i.dataset_id = o.dataset_id)
SELECT j.name FROM reached JOIN job j ON j.job_id = reached.job_id ORDER BY j.name

-- name: job_feeds
-- What the jobs downstream of some datasets read and produce: who might wait for itself. A `previous` input waits for
-- nothing, nor does a window that ends before the work's own dataid.
WITH RECURSIVE reached (job_id) AS (
    SELECT job_id FROM job_input
    WHERE mapping <> 'previous' AND mapping NOT LIKE 'window(%, -%' AND dataset_id IN (SELECT ids.id FROM $ids)
    UNION
    SELECT i.job_id FROM reached
    JOIN job_output o ON o.job_id = reached.job_id
    JOIN job_input i ON i.dataset_id = o.dataset_id
         AND i.mapping <> 'previous' AND i.mapping NOT LIKE 'window(%, -%')
SELECT j.name, d.name, TRUE FROM reached
JOIN job j ON j.job_id = reached.job_id
JOIN job_input i ON i.job_id = j.job_id AND i.mapping <> 'previous' AND i.mapping NOT LIKE 'window(%, -%'
JOIN dataset d ON d.dataset_id = i.dataset_id
UNION ALL
SELECT j.name, d.name, FALSE FROM reached
JOIN job j ON j.job_id = reached.job_id
JOIN job_output o ON o.job_id = j.job_id
JOIN dataset d ON d.dataset_id = o.dataset_id

-- name: job_has_work
SELECT 1 FROM work WHERE job_id = :job_id LIMIT 1

-- name: jobs_with_chunks
-- Which of some jobs have an input with chunks.
SELECT DISTINCT i.job_id FROM job_input i
WHERE i.job_id IN (SELECT ids.id FROM $ids)
  AND EXISTS (SELECT 1 FROM chunk c WHERE c.dataset_id = i.dataset_id)

-- name: work_dataids
-- All work of a job.
SELECT dataid FROM work WHERE job_id = :job_id

-- name: producers_of
-- The jobs that produce some datasets.
SELECT d.name, j.name FROM job_output o
JOIN job j ON j.job_id = o.job_id
JOIN dataset d ON d.dataset_id = o.dataset_id
WHERE o.dataset_id IN (SELECT ids.id FROM $ids)
ORDER BY d.dataset_id

-- name: upsert_calendar
-- A changed schedule starts again from its cursor; one that is to catch up with more from its start, where what was
-- given already stays as it is.
INSERT INTO calendar (dataset_id, expression, start_at, end_at, catchup, due_at)
VALUES (:dataset_id, :expression, :start_at, :end_at, :catchup, 0)
ON CONFLICT (dataset_id) DO UPDATE
SET expression = excluded.expression, start_at = excluded.start_at, end_at = excluded.end_at,
    catchup = excluded.catchup, due_at = 0,
    cursor_at = CASE WHEN excluded.catchup AND excluded.start_at <> ''
                      AND (NOT calendar.catchup OR excluded.start_at <> calendar.start_at) THEN NULL
                     ELSE calendar.cursor_at END

-- name: due_calendars
-- Calendars among a job's inputs whose next interval has ended, with the store's own time.
SELECT c.dataset_id, c.expression, d.timezone, d.grain, c.start_at, c.end_at, c.catchup, c.cursor_at, c.due_at, $now_seconds
FROM job_input i
JOIN calendar c ON c.dataset_id = i.dataset_id
JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE i.job_id = :job_id AND c.due_at <= $now_seconds

-- name: known_chunks
-- Which chunks of a batch there are already.
SELECT dataid FROM chunk WHERE dataset_id = :dataset_id AND dataid IN (SELECT batch.dataid FROM $batch)

-- name: move_calendar
-- Compare and set: of two processes that add the same intervals, one does.
UPDATE calendar SET cursor_at = :cursor_at, due_at = :due_at
WHERE dataset_id = :dataset_id AND due_at = :was_due_at

-- name: reset_work
-- A job's work before its inputs are counted again.
UPDATE work
SET missing = :inputs, priority = :priority, ordered = :ordered,
    state = CASE WHEN state = 'CLAIMABLE' THEN 'WAITING' ELSE state END, modified_at = $now_at
WHERE job_id = :job_id

-- name: delete_work_inputs
DELETE FROM work_input WHERE work_id IN (SELECT work_id FROM work WHERE job_id = :job_id)

-- name: insert_work_inputs
INSERT INTO work_input (work_id, position, needed, present)
SELECT w.work_id, i.position, 1, CASE WHEN i.mapping IN ('latest', 'all') AND w.sort_key <= i.reach THEN 1 ELSE 0 END
FROM work w JOIN job_input i ON i.job_id = w.job_id
WHERE w.job_id = :job_id

-- name: count_missing
-- How many inputs each work of a job lacks before any of its other inputs' chunks has arrived.
UPDATE work
SET missing = (SELECT count(*) FROM work_input x WHERE x.work_id = work.work_id AND x.present < x.needed)
WHERE job_id = :job_id

-- name: ready_chunks
-- The ready chunks of a dataset after a place in order.
SELECT dataid, sort_key FROM chunk
WHERE dataset_id = :dataset_id AND sort_key > :after
  AND version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL
ORDER BY sort_key LIMIT :most

-- name: delete_left_out
-- Work before the job's start, or on days that its schedule leaves out, and nobody ever ran or holds, once its inputs
-- are deleted.
DELETE FROM work
WHERE job_id = :job_id AND state = 'WAITING' AND run_id = 0 AND NOT hold
  AND dataid IN (SELECT batch.dataid FROM $batch)

-- name: delete_uncalled_inputs
-- The latest chunk or all chunks may be present, but they call for no work.
DELETE FROM work_input WHERE work_id IN (
    SELECT w.work_id FROM work w
    WHERE w.job_id = :job_id AND w.state = 'WAITING' AND w.run_id = 0 AND NOT w.hold
      AND NOT EXISTS (SELECT 1 FROM work_input x
                      JOIN job_input i ON i.job_id = w.job_id AND i.position = x.position
                      WHERE x.work_id = w.work_id AND x.present > 0 AND i.mapping NOT IN ('latest', 'all')))

-- name: delete_uncalled
-- Work that no present chunk calls for and nobody ever ran or holds: a hold outlasts a chunk that goes and comes.
DELETE FROM work
WHERE job_id = :job_id AND state = 'WAITING' AND run_id = 0 AND NOT hold
  AND NOT EXISTS (SELECT 1 FROM work_input x WHERE x.work_id = work.work_id AND x.present > 0)

-- name: at_work
-- A run of a job that is live, or was revoked and may still be ending; :lapsed ones only count if they are asked for.
SELECT run_id, host, TRUE AS is_live, has_kill_command, 0.0 AS left_seconds FROM run
WHERE job_id = :job_id AND ended_at IS NULL
  AND (:lapsed OR has_kill_command OR lease_until > $lease_now AND clock_id = $clock_id)
UNION ALL
SELECT run_id, host, FALSE, has_kill_command, lease_until - $lease_now FROM run
WHERE job_id = :job_id AND run_id IN ($all_ending)
ORDER BY is_live DESC, run_id LIMIT 1

-- name: delete_work
DELETE FROM work WHERE job_id = :job_id

-- name: delete_job
DELETE FROM job WHERE job_id = :job_id
