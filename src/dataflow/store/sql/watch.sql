-- name: enter
-- One more chunk in trouble: opens the incident of its kind and job, or counts the chunk in the open one.
INSERT INTO incident (kind, job, dataid, reason, opened_at)
VALUES (:kind, :job, :dataid, :reason, $now_at)
ON CONFLICT (kind, job, dataset, host) WHERE closed_at IS NULL DO UPDATE SET items = incident.items + 1
RETURNING incident_id, items

-- name: enter_host
-- One more worker of a host that is lost.
INSERT INTO incident (kind, host, reason, opened_at)
VALUES (:kind, :host, :reason, $now_at)
ON CONFLICT (kind, job, dataset, host) WHERE closed_at IS NULL DO UPDATE SET items = incident.items + 1
RETURNING incident_id, items

-- name: open
-- Opens an incident of a dataset; no row if it is open.
INSERT INTO incident (kind, dataset, dataid, reason, opened_at)
VALUES (:kind, :dataset, :dataid, :reason, $now_at)
ON CONFLICT (kind, job, dataset, host) WHERE closed_at IS NULL DO NOTHING
RETURNING incident_id

-- name: open_asking
-- Opens the incident of a job whose stale results wait for a decision; no row if it is open.
INSERT INTO incident (kind, job, dataid, reason, items, opened_at)
SELECT 'asking', j.name, :dataid, 'results are STALE, and the job asks before it makes them again', :items, $now_at
FROM job j WHERE j.job_id = :job_id
ON CONFLICT (kind, job, dataset, host) WHERE closed_at IS NULL DO NOTHING
RETURNING incident_id

-- name: list_asking
SELECT j.job_id, i.incident_id FROM incident i JOIN job j ON j.name = i.job
WHERE i.kind = 'asking' AND i.closed_at IS NULL

-- name: find_open
SELECT incident_id FROM incident
WHERE kind = :kind AND job = '' AND dataset = :dataset AND host = :host AND closed_at IS NULL

-- name: kind_of
SELECT kind FROM incident WHERE incident_id = :incident_id AND closed_at IS NULL

-- name: incident_of
-- The incident that work belongs to, if any.
SELECT incident_id FROM work WHERE work_id = :work_id

-- name: set_incident
UPDATE work SET incident_id = :incident_id WHERE work_id = :work_id

-- name: drop_done
-- Work that another version of DataFlow has finished, which knows no incidents.
UPDATE work SET incident_id = NULL WHERE incident_id = :incident_id AND state = 'DONE'

-- name: lock_incident
-- Of two who end the last chunks, the second sees what the first has done (PostgreSQL only).
SELECT 1 FROM incident WHERE incident_id = :incident_id FOR UPDATE

-- name: find_left
SELECT work_id FROM work WHERE incident_id = :incident_id LIMIT 1

-- name: list_left_behind
-- Open incidents of jobs without any unfinished work: it was removed, or finished by another version.
SELECT i.incident_id FROM incident i
WHERE i.closed_at IS NULL AND i.job <> '' AND i.kind <> 'asking'
  AND NOT EXISTS (SELECT 1 FROM work w WHERE w.incident_id = i.incident_id AND w.state <> 'DONE')

-- name: close
UPDATE incident SET closed_at = $now_at, recovered = :recovered
WHERE incident_id = :incident_id AND closed_at IS NULL
RETURNING incident_id

-- name: close_of
-- The incidents of a job or dataset that is removed or no longer watched; nothing has recovered.
UPDATE incident SET closed_at = $now_at
WHERE job = :job AND dataset = :dataset AND closed_at IS NULL

-- name: silence_of
-- What is still to be sent of incidents that are closed and have not recovered.
UPDATE delivery SET state = 'silenced'
WHERE state = 'due' AND incident_id IN (SELECT incident_id FROM incident
                                        WHERE job = :job AND dataset = :dataset AND closed_at IS NOT NULL
                                          AND NOT recovered)

-- name: lock_outbox
-- Notifications are numbered in the order in which they are committed (PostgreSQL only).
SELECT 1 FROM meta WHERE key = 'outbox' FOR UPDATE

-- name: notify
INSERT INTO notification (incident_id, event, at) VALUES (:incident_id, :event, $now_at)

-- name: acknowledge
UPDATE incident SET acknowledged_at = $now_at, acknowledged_by = :actor, acknowledged_why = :why
WHERE incident_id = :incident_id AND closed_at IS NULL
RETURNING kind, job, dataset, dataid, host

-- name: silence
UPDATE delivery SET state = 'silenced' WHERE incident_id = :incident_id AND state = 'due'

-- name: list_incidents
-- Incidents, the open ones first, newest first.
SELECT incident_id, kind, job, dataset, host, dataid, reason, items, opened_at, closed_at, recovered,
       acknowledged_at, acknowledged_by, acknowledged_why
FROM incident
WHERE closed_at IS NULL OR :closed
ORDER BY closed_at IS NOT NULL, incident_id DESC LIMIT :most

-- name: list_deliveries
SELECT d.incident_id, n.event, d.channel, d.state, d.attempts, d.sent_at, d.error
FROM delivery d JOIN notification n ON n.notification_id = d.notification_id
WHERE d.incident_id IN (SELECT ids.id FROM $ids)
ORDER BY d.notification_id, d.channel

-- name: list_failed
-- Deliveries of open incidents that have failed: given up, or to be tried again.
SELECT d.incident_id, n.event, d.channel, d.state, d.attempts, d.sent_at, d.error
FROM incident i JOIN delivery d ON d.incident_id = i.incident_id
JOIN notification n ON n.notification_id = d.notification_id
WHERE i.closed_at IS NULL AND (d.state = 'failed' OR d.state = 'due' AND d.error <> '')
ORDER BY d.notification_id, d.channel

-- name: forget_watches
DELETE FROM dataset_watch WHERE dataset_id IN (SELECT ids.id FROM $ids)

-- name: add_watches
INSERT INTO dataset_watch (dataset_id, since_at, check_at)
SELECT ids.id, $now_seconds, 0 FROM $ids

-- name: list_watched
-- Datasets with a limit, or one of them, with the days of the job that produces each.
SELECT x.dataset_id, d.name, d.grain, d.timezone, coalesce(j.days, ''), d.fresh_within_seconds, d.due_by, x.since_at
FROM dataset_watch x
JOIN dataset d ON d.dataset_id = x.dataset_id
LEFT JOIN job_output o ON o.dataset_id = d.dataset_id
LEFT JOIN job j ON j.job_id = o.job_id
WHERE x.dataset_id = coalesce(:dataset_id, x.dataset_id)
ORDER BY d.name

-- name: list_due_watches
SELECT dataset_id FROM dataset_watch WHERE check_at <= $now_seconds OR check_at > $now_seconds + 86400

-- name: take_watch
-- One dataset to look at; none if another process is looking or has looked.
SELECT x.dataset_id FROM dataset_watch x
WHERE x.dataset_id = :dataset_id AND (x.check_at <= $now_seconds OR x.check_at > $now_seconds + 86400) $skip_locked

-- name: set_check
UPDATE dataset_watch SET check_at = :check_at WHERE dataset_id = :dataset_id

-- name: newest_published
-- The last published chunk in order; a stale one counts, as readers can still read it.
SELECT dataid FROM chunk
WHERE dataset_id = :dataset_id AND version > 0 AND NOT withdrawn AND dirty_run_id IS NULL
ORDER BY sort_key DESC LIMIT 1

-- name: last_published_at
-- When a chunk was published last, of a dataset whose dataids say nothing about time. Not stale ones: their last change
-- was that they became stale.
SELECT max(modified_at) FROM chunk
WHERE dataset_id = :dataset_id AND version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL

-- name: is_published
SELECT 1 FROM chunk
WHERE dataset_id = :dataset_id AND dataid = :dataid AND version > 0 AND NOT withdrawn AND dirty_run_id IS NULL

-- name: purge_deliveries
DELETE FROM delivery WHERE incident_id IN (SELECT incident_id FROM incident WHERE closed_at < :before)

-- name: purge_notifications
-- Numbers are never used again, so channels may remember those of deleted ones.
DELETE FROM notification
WHERE incident_id IN (SELECT incident_id FROM incident WHERE closed_at < :before)

-- name: purge_incidents
DELETE FROM incident WHERE closed_at < :before
