-- The processes that keep a project running. A worker is alive until its heartbeat lapses, by the clock of leases.
-- `listening` while it waits for work: only then do the transactions that make work claimable notify anybody.
CREATE TABLE worker (
    name text NOT NULL PRIMARY KEY,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid integer NOT NULL,
    user_name text NOT NULL,
    environment text NOT NULL,
    version text NOT NULL,
    streams integer NOT NULL,
    jobs integer NOT NULL DEFAULT 0,
    listening boolean NOT NULL DEFAULT FALSE,
    started_at $time NOT NULL,
    alive_until double precision NOT NULL,
    clock_id text NOT NULL
);

-- The oldest schema whose code may still work on this store. A migration that such code cannot live with raises it.
INSERT INTO meta (key, value) VALUES ('oldest_schema', '15');
