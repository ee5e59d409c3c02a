-- Limits that several jobs share: at most `size` runs at a time of all jobs that name the pool. Who uses it is counted from
-- live leases and stored nowhere, so a dead run gives its place back with its lease.
CREATE TABLE pool (
    name text PRIMARY KEY,
    size integer NOT NULL CHECK (size > 0)
);
ALTER TABLE job ADD COLUMN pool text NOT NULL DEFAULT '';
CREATE INDEX job_pool ON job (pool) WHERE pool <> '';

-- The switch that pauses every job: its one row is there while they are.
CREATE TABLE pause (
    pause_id integer PRIMARY KEY CHECK (pause_id = 1),
    actor text NOT NULL,
    why text NOT NULL,
    at $time NOT NULL
);

-- Which dataid a claim takes first, how retries are spaced, which exit codes are final, and how many runs may die.
ALTER TABLE job ADD COLUMN claim_order text NOT NULL DEFAULT 'oldest';
ALTER TABLE job ADD COLUMN retry_backoff double precision NOT NULL DEFAULT 2;
ALTER TABLE job ADD COLUMN retry_max_delay_seconds double precision NOT NULL DEFAULT 3600;
ALTER TABLE job ADD COLUMN final_exit_codes text NOT NULL DEFAULT '';
ALTER TABLE job ADD COLUMN max_crashes integer NOT NULL DEFAULT 5;

-- Work that FAILED because its runs kept dying.
ALTER TABLE work ADD COLUMN quarantined boolean NOT NULL DEFAULT FALSE;
