-- The whole of the handoff: what is registered, what is published, what is being done, and what happened.
-- Words beginning with $ stand for what the two databases spell differently (store/queries.py).

CREATE TABLE meta (
    key text PRIMARY KEY,
    value text NOT NULL
);

-- The store's own name; its row is also what registrations lock, one at a time.
INSERT INTO meta (key, value) VALUES ('store_id', $random_id);

CREATE TABLE dataset (
    dataset_id $id,
    name text NOT NULL UNIQUE,
    hostname text NOT NULL DEFAULT '',
    "database" text NOT NULL DEFAULT '',
    schemaname text NOT NULL DEFAULT '',
    tablename text NOT NULL DEFAULT '',
    username text NOT NULL DEFAULT '',
    encryptedpass text NOT NULL DEFAULT '',
    location text NOT NULL DEFAULT '',
    format text NOT NULL DEFAULT '',
    grain text NOT NULL DEFAULT 'text',
    timezone text NOT NULL DEFAULT 'UTC',
    mode text NOT NULL DEFAULT 'partition' CHECK (mode IN ('partition', 'snapshot')),
    options text NOT NULL DEFAULT '{}',
    modified_at $time NOT NULL
);

-- A dataset whose chunks become ready as time passes. cursor_at is the end of the last interval added, due_at
-- the moment at which the next one is to be added; both are seconds since 1970.
CREATE TABLE calendar (
    dataset_id bigint NOT NULL PRIMARY KEY REFERENCES dataset,
    expression text NOT NULL,
    start_at text NOT NULL DEFAULT '',
    end_at text NOT NULL DEFAULT '',
    catchup boolean NOT NULL DEFAULT FALSE,
    cursor_at double precision,
    due_at double precision
);

CREATE TABLE job (
    job_id $id,
    name text NOT NULL UNIQUE,
    schedule text NOT NULL DEFAULT '',
    start_at text NOT NULL DEFAULT '',
    end_at text NOT NULL DEFAULT '',
    catchup boolean NOT NULL DEFAULT FALSE,
    timezone text NOT NULL DEFAULT 'UTC',
    ordered boolean NOT NULL DEFAULT FALSE,
    retries integer NOT NULL DEFAULT 0,
    retry_delay_seconds double precision NOT NULL DEFAULT 60,
    max_running integer NOT NULL DEFAULT 0,
    lease_seconds double precision NOT NULL DEFAULT 300,
    grace_seconds double precision NOT NULL DEFAULT 10,
    priority integer NOT NULL DEFAULT 0,
    grain text NOT NULL DEFAULT 'text',
    grain_timezone text NOT NULL DEFAULT 'UTC',
    hold boolean NOT NULL DEFAULT FALSE,
    script_path text NOT NULL DEFAULT '',
    revision integer NOT NULL DEFAULT 1,
    modified_at $time NOT NULL
);

CREATE TABLE job_input (
    job_id bigint NOT NULL REFERENCES job,
    position integer NOT NULL,
    dataset_id bigint NOT NULL REFERENCES dataset,
    mapping text NOT NULL DEFAULT 'same',
    PRIMARY KEY (job_id, position)
);
CREATE INDEX job_input_dataset ON job_input (dataset_id);

-- A dataset has one producer: the second one is refused by this key.
CREATE TABLE job_output (
    dataset_id bigint NOT NULL PRIMARY KEY REFERENCES dataset,
    job_id bigint NOT NULL REFERENCES job,
    position integer NOT NULL
);
CREATE INDEX job_output_job ON job_output (job_id, position);

CREATE TABLE job_environment (
    job_id bigint NOT NULL REFERENCES job,
    name text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (job_id, name)
);

-- What is published. It is ready when version > 0 and it is neither withdrawn, stale nor dirty; dirty_run_id is
-- the run that has begun to overwrite it in place and has not finished well.
CREATE TABLE chunk (
    chunk_id $id,
    dataset_id bigint NOT NULL REFERENCES dataset,
    dataid $sort NOT NULL,
    sort_key $sort NOT NULL,
    version integer NOT NULL DEFAULT 0,
    run_id bigint,
    location text NOT NULL DEFAULT '',
    row_count bigint,
    size bigint,
    checked text NOT NULL DEFAULT '',
    withdrawn boolean NOT NULL DEFAULT FALSE,
    stale boolean NOT NULL DEFAULT FALSE,
    dirty_run_id bigint,
    modified_at $time NOT NULL
);
CREATE UNIQUE INDEX chunk_dataid ON chunk (dataset_id, dataid);
CREATE INDEX chunk_order ON chunk (dataset_id, sort_key);
CREATE INDEX chunk_odd ON chunk (dataset_id) WHERE stale OR withdrawn OR dirty_run_id IS NOT NULL;

-- What is being done. run_id is the last run it was given to and only grows; not_before holds it back until then;
-- called_at is when it was first called for, or called for again, however often it was tried since.
CREATE TABLE work (
    work_id $id,
    job_id bigint NOT NULL REFERENCES job,
    dataid $sort NOT NULL,
    sort_key $sort NOT NULL,
    priority integer NOT NULL DEFAULT 0,
    ordered boolean NOT NULL DEFAULT FALSE,
    state text NOT NULL CHECK (state IN ('WAITING', 'CLAIMABLE', 'RUNNING', 'DONE', 'FAILED', 'INVALID')),
    hold boolean NOT NULL DEFAULT FALSE,
    resubmitted boolean NOT NULL DEFAULT FALSE,
    missing integer NOT NULL,
    attempts integer NOT NULL DEFAULT 0,
    losses integer NOT NULL DEFAULT 0,
    returns integer NOT NULL DEFAULT 0,
    run_id bigint NOT NULL DEFAULT 0,
    not_before double precision,
    reason text NOT NULL DEFAULT '',
    called_at $time NOT NULL,
    modified_at $time NOT NULL,
    CHECK (not_before IS NULL OR state = 'WAITING')
);
CREATE UNIQUE INDEX work_dataid ON work (job_id, dataid);
-- The claim's own order, so that a claim reads one entry however many chunks are done, waiting or held. What is
-- running is found through run_live; to enter it here and take it out again would cost every claim and finish a page.
CREATE INDEX work_open ON work (job_id, state, hold, priority DESC, sort_key)
WHERE state <> 'DONE' AND state <> 'RUNNING';
CREATE INDEX work_due ON work (job_id, not_before) WHERE not_before IS NOT NULL;
CREATE INDEX work_ordered ON work (job_id, sort_key) WHERE ordered AND state <> 'DONE';

-- Readiness: how many chunks of each input the work needs and how many are there. It carries any mapping.
-- No REFERENCES work: the check locks each row of work once more, which takes a third of a million's `ready`.
CREATE TABLE work_input (
    work_id bigint NOT NULL,
    position integer NOT NULL,
    needed integer NOT NULL,
    present integer NOT NULL,
    deadline double precision,
    PRIMARY KEY (work_id, position)
) $clustered;

-- One attempt. run_id is the fencing token: from one sequence, never reused. lease_until counts on the clock
-- named by clock_id (PostgreSQL's own; the machine's time since boot on SQLite). The job's name stays when the job goes.
CREATE TABLE run (
    run_id $id,
    work_id bigint NOT NULL,
    job_id bigint NOT NULL,
    job text NOT NULL,
    dataid $sort NOT NULL,
    attempt integer NOT NULL,
    token text NOT NULL,
    claimant text NOT NULL,
    host text NOT NULL,
    boot_id text NOT NULL,
    pid integer NOT NULL,
    user_name text NOT NULL,
    environment text NOT NULL,
    script_path text NOT NULL DEFAULT '',
    script_hash text NOT NULL DEFAULT '',
    has_kill_command boolean NOT NULL DEFAULT FALSE,
    started_at $time NOT NULL,
    lease_seconds double precision NOT NULL,
    grace_seconds double precision NOT NULL,
    lease_until double precision NOT NULL,
    clock_id text NOT NULL,
    ended_at $time,
    outcome text NOT NULL DEFAULT 'RUNNING',
    exit_code integer,
    reason text NOT NULL DEFAULT '',
    answers text NOT NULL DEFAULT '[]',
    CHECK ((ended_at IS NULL) = (outcome = 'RUNNING'))
);
-- Two live runs of one work cannot exist, whatever the code above does.
CREATE UNIQUE INDEX run_live ON run (job_id, work_id) WHERE ended_at IS NULL;
-- Nor two live runs of one claim's token. Only the live: among all runs ever made each claim would read a cold page.
CREATE UNIQUE INDEX run_token ON run (token) WHERE ended_at IS NULL;
-- Those whose work was taken from them: the next run of it, or of the job, looks for what they may have left behind.
CREATE INDEX run_taken ON run (job_id, work_id) WHERE outcome IN ('LOST', 'CANCELLED');

-- Runs that were taken away from their process and may still be ending.
CREATE INDEX run_revoked ON run (job_id) WHERE outcome = 'CANCELLED';

-- The versions a run read.
CREATE TABLE run_input (
    run_id bigint NOT NULL,
    position integer NOT NULL,
    chunk_id bigint NOT NULL,
    version integer NOT NULL,
    PRIMARY KEY (run_id, position, chunk_id)
) $clustered;

-- Every move: when, who, from, to, why. One row for a work's move, one for a bulk batch.
CREATE TABLE journal (
    journal_id $id,
    at $time NOT NULL,
    actor text NOT NULL,
    action text NOT NULL,
    job text NOT NULL DEFAULT '',
    dataset text NOT NULL DEFAULT '',
    dataid text NOT NULL DEFAULT '',
    run_id bigint,
    from_state text NOT NULL DEFAULT '',
    to_state text NOT NULL DEFAULT '',
    items integer NOT NULL DEFAULT 1,
    why text NOT NULL DEFAULT ''
);

-- The client-made token of each verb that is no claim or finish, with its answer, so that a repeat after a lost answer is the same verb.
CREATE TABLE verb_token (
    token text PRIMARY KEY,
    action text NOT NULL,
    answer text NOT NULL,
    at $time NOT NULL
);

-- The status people see, for every chunk that exists or is to be produced.
CREATE VIEW chunk_status AS
SELECT c.dataset_id, c.dataid, c.sort_key, c.version, c.location, c.chunk_id, w.work_id, o.job_id,
       CASE
           WHEN w.state IN ('RUNNING', 'FAILED', 'INVALID') THEN w.state
           WHEN w.state IN ('WAITING', 'CLAIMABLE') AND (w.hold OR j.hold) THEN 'HOLD'
           WHEN w.state IN ('WAITING', 'CLAIMABLE') AND w.resubmitted THEN 'RESUBMIT'
           WHEN c.version = 0 OR c.withdrawn OR c.dirty_run_id IS NOT NULL THEN 'PENDING'
           WHEN c.stale THEN 'STALE'
           ELSE 'READY'
       END AS status,
       CASE WHEN w.modified_at > c.modified_at THEN w.modified_at ELSE c.modified_at END AS modified_at
FROM chunk c
LEFT JOIN job_output o ON o.dataset_id = c.dataset_id
LEFT JOIN job j ON j.job_id = o.job_id
LEFT JOIN work w ON w.job_id = o.job_id AND w.dataid = c.dataid
UNION ALL
SELECT o.dataset_id, w.dataid, w.sort_key, 0, '', NULL, w.work_id, o.job_id,
       CASE
           WHEN w.state IN ('RUNNING', 'FAILED', 'INVALID') THEN w.state
           WHEN w.state IN ('WAITING', 'CLAIMABLE') AND (w.hold OR j.hold) THEN 'HOLD'
           WHEN w.state IN ('WAITING', 'CLAIMABLE') AND w.resubmitted THEN 'RESUBMIT'
           ELSE 'PENDING'
       END,
       w.modified_at
FROM job_output o
JOIN job j ON j.job_id = o.job_id
JOIN work w ON w.job_id = o.job_id
WHERE NOT EXISTS (SELECT 1 FROM chunk c WHERE c.dataset_id = o.dataset_id AND c.dataid = w.dataid);

-- The seeds' table: outputs with their status, and an IN row for every chunk that is being consumed.
CREATE VIEW datastatus AS
SELECT d.name AS datasetid, coalesce(j.name, '') AS jobid, s.dataid, 'OUT' AS locktype, s.status,
       s.modified_at AS modified
FROM chunk_status s
JOIN dataset d ON d.dataset_id = s.dataset_id
LEFT JOIN job j ON j.job_id = s.job_id
UNION ALL
SELECT d.name, r.job, c.dataid, 'IN', 'RUNNING', r.started_at
FROM run r
JOIN run_input i ON i.run_id = r.run_id
JOIN chunk c ON c.chunk_id = i.chunk_id
JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE r.ended_at IS NULL;
