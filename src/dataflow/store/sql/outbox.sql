-- name: channels
-- For each known channel, whether notifications are new to it and whether a delivery is due.
SELECT c.name, c.seen_id < coalesce((SELECT max(notification_id) FROM notification), 0),
       EXISTS (SELECT 1 FROM delivery d
               WHERE d.channel = c.name AND d.state = 'due'
                 AND (d.clock_id <> $clock_id OR d.until <= $lease_now OR d.until > $lease_now + 3600))
FROM channel c

-- name: add_channel
INSERT INTO channel (name, seen_id) VALUES (:channel, -1) ON CONFLICT (name) DO NOTHING

-- name: lock_channel
-- One process at a time gives a channel its deliveries (PostgreSQL only).
SELECT 1 FROM channel WHERE name = :channel FOR UPDATE

-- name: seen
SELECT seen_id, coalesce((SELECT max(notification_id) FROM notification), 0) FROM channel WHERE name = :channel

-- name: new_notifications
-- Notifications after one, in order, each with its incident, and whether it came to nothing: the incident was acknowledged
-- or dropped before anybody heard of it.
SELECT n.notification_id, n.incident_id, n.event, i.kind, i.job, i.dataset,
       n.event = 'opened' AND (i.acknowledged_at IS NOT NULL OR i.closed_at IS NOT NULL AND NOT i.recovered)
FROM notification n JOIN incident i ON i.incident_id = n.incident_id
WHERE n.notification_id > :seen_id
ORDER BY n.notification_id LIMIT :most

-- name: open_notifications
-- What a new channel hears of: the open incidents that nobody has acknowledged.
SELECT n.notification_id, n.incident_id, n.event, i.kind, i.job, i.dataset, FALSE
FROM incident i JOIN notification n ON n.incident_id = i.incident_id
WHERE i.closed_at IS NULL AND i.acknowledged_at IS NULL AND n.event = 'opened'
ORDER BY n.notification_id

-- name: was_told
-- Whether a channel was, or is going to be, told of an incident.
SELECT 1 FROM delivery WHERE incident_id = :incident_id AND channel = :channel AND state IN ('due', 'sent')

-- name: add_delivery
INSERT INTO delivery (notification_id, channel, incident_id) VALUES (:notification_id, :channel, :incident_id)
ON CONFLICT (notification_id, channel) DO NOTHING

-- name: set_seen
UPDATE channel SET seen_id = :seen_id WHERE name = :channel

-- name: find_taken
-- What an earlier, unanswered call with this token has taken.
SELECT notification_id FROM delivery WHERE channel = :channel AND state = 'due' AND token = :token

-- name: next_due
-- The first delivery that is due and that nobody is sending; an incident's recovery waits for its opening.
SELECT d.notification_id FROM delivery d
WHERE d.channel = :channel AND d.state = 'due'
  AND (d.clock_id <> $clock_id OR d.until <= $lease_now OR d.until > $lease_now + 3600)
  AND NOT EXISTS (SELECT 1 FROM delivery e
                  WHERE e.channel = d.channel AND e.state = 'due' AND e.incident_id = d.incident_id
                    AND e.notification_id < d.notification_id)
ORDER BY d.notification_id LIMIT 1 $skip_locked

-- name: take
-- Nobody else sends it until the lease has lapsed.
UPDATE delivery
SET token = :token, attempts = attempts + 1, until = $lease_now + :lease_seconds, clock_id = $clock_id
WHERE notification_id = :notification_id AND channel = :channel AND state = 'due'

-- name: facts
-- What a delivery tells.
SELECT n.notification_id, d.attempts, n.event, n.at, i.incident_id, i.kind, i.job, i.dataset, i.host, i.dataid, i.reason,
       i.items, i.opened_at, i.closed_at
FROM notification n
JOIN incident i ON i.incident_id = n.incident_id
JOIN delivery d ON d.notification_id = n.notification_id AND d.channel = :channel
WHERE n.notification_id = :notification_id

-- name: record_sent
-- Only by the process whose token it carries: one that was too slow has lost it to another.
UPDATE delivery SET state = 'sent', sent_at = $now_at, error = ''
WHERE notification_id = :notification_id AND channel = :channel AND token = :token AND state = 'due'
RETURNING state

-- name: record_failed
-- Tried again after a while, or given up.
UPDATE delivery
SET state = CASE WHEN attempts < :most_attempts THEN 'due' ELSE 'failed' END, error = :error, token = '',
    until = $lease_now + :delay_seconds, clock_id = $clock_id
WHERE notification_id = :notification_id AND channel = :channel AND token = :token AND state = 'due'
RETURNING state
