-- Lost workers are incidents of their host. Code that does not know this index cannot open incidents.
ALTER TABLE incident ADD COLUMN host text NOT NULL DEFAULT '';
DROP INDEX incident_open;
CREATE UNIQUE INDEX incident_open ON incident (kind, job, dataset, host) WHERE closed_at IS NULL;
UPDATE meta SET value = '16' WHERE key = 'oldest_schema';

-- When a worker joined, by the clock of leases: one that did so after the last heartbeat of another takes its place.
ALTER TABLE worker ADD COLUMN enlisted double precision NOT NULL DEFAULT 0;
