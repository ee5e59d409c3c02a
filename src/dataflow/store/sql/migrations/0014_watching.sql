-- How old the newest chunk of a dataset may be (0: any age), and by which time of day, in the dataset's zone, the chunk
-- of the last ended interval must be published ('': none).
ALTER TABLE dataset ADD COLUMN fresh_within_seconds double precision NOT NULL DEFAULT 0;
ALTER TABLE dataset ADD COLUMN due_by text NOT NULL DEFAULT '';

-- Since when a dataset is watched, and when somebody must look at it next; both are seconds since 1970.
CREATE TABLE dataset_watch (
    dataset_id bigint NOT NULL PRIMARY KEY,
    since_at double precision NOT NULL,
    check_at double precision NOT NULL
);

-- Trouble with one job or one dataset, however many chunks it has: at most one is open of each kind. dataid and reason
-- are those of the first chunk, items counts them all. Names stay when the job or the dataset goes.
CREATE TABLE incident (
    incident_id $id,
    kind text NOT NULL,
    job text NOT NULL DEFAULT '',
    dataset text NOT NULL DEFAULT '',
    dataid text NOT NULL DEFAULT '',
    reason text NOT NULL DEFAULT '',
    items integer NOT NULL DEFAULT 1,
    opened_at $time NOT NULL,
    closed_at $time,
    recovered boolean NOT NULL DEFAULT FALSE,
    acknowledged_at $time,
    acknowledged_by text NOT NULL DEFAULT '',
    acknowledged_why text NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX incident_open ON incident (kind, job, dataset) WHERE closed_at IS NULL;

-- The incident that work belongs to, from the time it failed until it is done.
ALTER TABLE work ADD COLUMN incident_id bigint;

-- The outbox: written with the change that it tells of. The row of meta is locked by those who write to it, so that
-- numbers are committed in order and nobody who has read up to one misses an earlier one.
CREATE TABLE notification (
    notification_id $id,
    incident_id bigint NOT NULL,
    event text NOT NULL CHECK (event IN ('opened', 'recovered')),
    at $time NOT NULL
);
CREATE INDEX notification_incident ON notification (incident_id);
INSERT INTO meta (key, value) VALUES ('outbox', '');

-- Up to which notification each channel has its deliveries.
CREATE TABLE channel (
    name text PRIMARY KEY,
    seen_id bigint NOT NULL
);

-- One notification for one channel. token names the process that is sending it; nobody else may until :until, on the
-- clock named by clock_id, which is also how long a failed attempt is waited after.
CREATE TABLE delivery (
    notification_id bigint NOT NULL,
    channel text NOT NULL,
    incident_id bigint NOT NULL,
    state text NOT NULL DEFAULT 'due' CHECK (state IN ('due', 'sent', 'failed', 'silenced')),
    attempts integer NOT NULL DEFAULT 0,
    token text NOT NULL DEFAULT '',
    until double precision NOT NULL DEFAULT 0,
    clock_id text NOT NULL DEFAULT '',
    sent_at $time,
    error text NOT NULL DEFAULT '',
    PRIMARY KEY (notification_id, channel)
);
CREATE INDEX delivery_due ON delivery (channel, notification_id) WHERE state = 'due';
CREATE INDEX delivery_incident ON delivery (incident_id);
