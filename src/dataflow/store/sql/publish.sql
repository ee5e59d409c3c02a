-- name: lock_datasets
-- Keeps registrations out while chunks of these datasets are published (PostgreSQL only).
SELECT 1 FROM dataset WHERE dataset_id = ANY(:dataset_ids) ORDER BY dataset_id FOR SHARE

-- name: consumers
-- The job inputs that read some datasets, or those of one job. A later statement than the lock, so that a job registered
-- meanwhile is seen.
SELECT i.dataset_id, i.job_id, i.position, i.mapping, j.name, j.start_at, j.grain, j.grain_timezone,
       (SELECT count(*) FROM job_input x WHERE x.job_id = i.job_id),
       (SELECT count(*) FROM job_input x WHERE x.job_id = i.job_id AND x.mapping = 'previous'),
       (SELECT count(*) FROM job_input x WHERE x.job_id = i.job_id AND x.mapping IN ('latest', 'all')),
       d.grain, d.timezone, j.days, i.days,
       (SELECT count(*) FROM job_input x
        WHERE x.job_id = i.job_id AND x.mapping NOT IN ('same', 'previous', 'latest', 'all')),
       i.rule
FROM job_input i
JOIN job j ON j.job_id = i.job_id
JOIN dataset d ON d.dataset_id = i.dataset_id
WHERE i.job_id = :job_id OR i.dataset_id IN (SELECT ids.id FROM $ids)
ORDER BY i.job_id, i.position

-- name: lock_dataset_alone
-- Keeps out everybody who changes a chunk of the dataset: each of them locks it for sharing (PostgreSQL only).
SELECT 1 FROM dataset WHERE dataset_id = :dataset_id FOR UPDATE

-- name: ready_among
-- Which chunks of a batch are ready now.
SELECT dataid
FROM chunk
WHERE dataset_id = :dataset_id AND dataid IN (SELECT batch.dataid FROM $batch)
  AND version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL

-- name: make_ready
-- Publishes a batch of chunks that come from outside; those that are ready already stay as they are unless :again.
INSERT INTO chunk (dataset_id, dataid, sort_key, version, modified_at)
SELECT :dataset_id, batch.dataid, batch.sort_key, 1, $now_at
FROM $batch
WHERE TRUE
ON CONFLICT (dataset_id, dataid) DO UPDATE
SET version = chunk.version + 1, run_id = NULL, location = '', row_count = NULL, size = NULL, checked = '',
    withdrawn = FALSE, stale = FALSE, outdated = FALSE, dirty_run_id = NULL, modified_at = $now_at
WHERE :again OR chunk.version = 0 OR chunk.withdrawn OR chunk.stale OR chunk.dirty_run_id IS NOT NULL
RETURNING dataid, version

-- name: producer
-- The job that produces a dataset, and what says whether all dataids have one place.
SELECT j.job_id, j.name, d.mode, d.location
FROM job_output o JOIN job j ON j.job_id = o.job_id JOIN dataset d ON d.dataset_id = o.dataset_id
WHERE o.dataset_id = :dataset_id

-- name: writers
-- The runs of a job that may be writing its outputs.
SELECT run_id, dataid, host, TRUE FROM run WHERE job_id = :job_id AND ended_at IS NULL
UNION ALL
SELECT run_id, dataid, host, FALSE FROM run WHERE job_id = :job_id AND run_id IN ($all_ending)

-- name: find_chunk
-- One chunk's facts before it is published again; locked, so that two publishers cannot both see the old version.
SELECT chunk_id, version, version > 0 AND NOT withdrawn AND NOT stale AND dirty_run_id IS NULL, location, run_id
FROM chunk
WHERE dataset_id = :dataset_id AND dataid = :dataid $for_update

-- name: publish
-- Gives out the next version of a chunk that a run produced; no row when it came to be since it was looked for.
INSERT INTO chunk (dataset_id, dataid, sort_key, version, run_id, location, row_count, size, checked, stale,
                   outdated, modified_at)
VALUES (:dataset_id, :dataid, :sort_key, 1, :run_id, :location, :row_count, :size, :checked, :stale, :outdated, $now_at)
ON CONFLICT (dataset_id, dataid) DO UPDATE
SET version = chunk.version + 1, run_id = excluded.run_id, location = excluded.location,
    row_count = excluded.row_count, size = excluded.size, checked = excluded.checked,
    stale = excluded.stale, outdated = excluded.outdated, withdrawn = FALSE, dirty_run_id = NULL,
    modified_at = excluded.modified_at
WHERE :known
RETURNING version

-- name: keep_version
-- Remembers the place of the version that a chunk has just got.
INSERT INTO chunk_version (chunk_id, version, location, run_id, row_count, size, checked, published_at)
SELECT chunk_id, version, location, run_id, row_count, size, checked, modified_at
FROM chunk
WHERE dataset_id = :dataset_id AND dataid = :dataid

-- name: withdraw
-- Takes a batch of chunks out of use; the returned ones were ready.
UPDATE chunk SET withdrawn = TRUE, modified_at = $now_at
WHERE dataset_id = :dataset_id AND dataid IN (SELECT batch.dataid FROM $batch) AND version > 0 AND NOT withdrawn
RETURNING dataid, (NOT stale AND dirty_run_id IS NULL)

-- name: make_dirty
-- A run is about to overwrite a published chunk in place: nobody may start reading it until it is published again.
-- What an earlier run has left dirty stays that run's: this one cannot vouch for it. Says whether it was ready.
UPDATE chunk SET dirty_run_id = :run_id, modified_at = $now_at
WHERE chunk_id = :chunk_id AND dirty_run_id IS NULL
RETURNING version > 0 AND NOT withdrawn AND NOT stale

-- name: make_clean
-- The run that was to overwrite the chunk never started its command: the old version is as good as before.
UPDATE chunk SET dirty_run_id = NULL, modified_at = $now_at
WHERE dirty_run_id = :run_id
RETURNING dataset_id, dataid, sort_key, version > 0 AND NOT withdrawn AND NOT stale

-- name: clean_place
-- The shared location of a dataset was completely rewritten: its other chunks are no longer half overwritten.
UPDATE chunk SET dirty_run_id = NULL, modified_at = $now_at
WHERE dataset_id = :dataset_id AND dirty_run_id IS NOT NULL
RETURNING dataset_id, dataid, sort_key, version > 0 AND NOT withdrawn AND NOT stale

-- name: insert_work
-- Work that a chunk calls for; what exists already is left to the statements below.
INSERT INTO work (job_id, dataid, sort_key, priority, ordered, state, missing, called_at, modified_at)
SELECT j.job_id, calls.dataid, calls.sort_key, j.priority, j.ordered,
       CASE WHEN calls.number = 1 THEN 'CLAIMABLE' ELSE 'WAITING' END, calls.number - 1, $now_at, $now_at
FROM $calls
CROSS JOIN job j
WHERE j.job_id = calls.job_id
ON CONFLICT (job_id, dataid) DO NOTHING
RETURNING work_id, job_id, dataid

-- name: insert_work_input
-- The inputs of new work; the one that called for it is present, the others are not: had one been, the work would exist.
INSERT INTO work_input (work_id, position, needed, present)
SELECT calls.number, i.position, 1, CASE WHEN i.position = calls.position THEN 1 ELSE 0 END
FROM $calls
CROSS JOIN job_input i
WHERE i.job_id = calls.job_id

-- name: waive_inputs
-- Work with nothing before it needs no previous chunk.
UPDATE work_input SET needed = 0
WHERE position IN (SELECT position FROM job_input WHERE job_id = :job_id AND mapping = 'previous')
  AND work_id IN (SELECT w.work_id FROM work w
                  WHERE w.job_id = :job_id AND w.dataid IN (SELECT batch.dataid FROM $batch))

-- name: lock_work
-- Lock first, read in a later statement: two inputs that arrive at once must each see the other (PostgreSQL only).
SELECT work_id FROM work
WHERE (job_id, dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls)
ORDER BY work_id FOR UPDATE

-- name: count_present
-- An input chunk became ready (+1) or stopped being ready (-1). CROSS JOIN keeps SQLite from reading all calls once for
-- every work.
UPDATE work_input SET present = present + :delta
WHERE (work_id, position) IN (SELECT w.work_id, calls.position FROM $calls
                              CROSS JOIN work w WHERE w.job_id = calls.job_id AND w.dataid = calls.dataid)

-- name: set_present
-- Ready chunks whose inputs were not counted when they became ready.
UPDATE work_input SET present = 1
WHERE (work_id, position) IN (SELECT w.work_id, calls.position FROM $calls
                              CROSS JOIN work w WHERE w.job_id = calls.job_id AND w.dataid = calls.dataid)

-- name: count_missing
-- How many inputs each of these works still lacks.
UPDATE work
SET missing = (SELECT count(*) FROM work_input x WHERE x.work_id = work.work_id AND x.present < x.needed)
WHERE (job_id, dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls)

-- name: arrive
-- The last missing input is there. The age of work that no run has had counts from now on.
UPDATE work SET state = 'CLAIMABLE', reason = '', modified_at = $now_at,
    called_at = CASE WHEN run_id = 0 THEN $now_at ELSE called_at END
WHERE (job_id, dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls)
  AND state = 'WAITING' AND missing = 0 AND not_before IS NULL

-- name: call_by_clock
-- Work that another input called for before its interval was added: its age counts from now on.
UPDATE work SET called_at = $now_at
WHERE (job_id, dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls)
  AND state IN ('WAITING', 'CLAIMABLE') AND run_id = 0

-- name: tried_among
-- The calls to work that a run has had.
SELECT calls.job_id, calls.position, calls.dataid, calls.sort_key, calls.number FROM $calls
CROSS JOIN work w
WHERE w.job_id = calls.job_id AND w.dataid = calls.dataid AND w.run_id > 0

-- name: depart
-- An input went away before anybody took the work.
UPDATE work SET state = 'WAITING', modified_at = $now_at
WHERE (job_id, dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls)
  AND state = 'CLAIMABLE' AND missing > 0

-- name: do_again
-- What was finished is to be done again, because an input has a newer version or because an operator asks for it
-- (:resubmitted), who may mean unfinished work too. A revoked run may still be ending: its lease is waited for.
-- Materialized, so that the clock is read once and state and not_before agree.
WITH revoked AS MATERIALIZED (
    SELECT w.work_id, (SELECT r.lease_until FROM run r
                       WHERE r.run_id = w.run_id AND $ending) AS until
    FROM work w
    WHERE (w.job_id, w.dataid) IN (SELECT calls.job_id, calls.dataid FROM $calls))
UPDATE work
SET state = CASE WHEN missing > 0 OR revoked.until IS NOT NULL THEN 'WAITING' ELSE 'CLAIMABLE' END,
    not_before = revoked.until, not_before_clock = $clock_id, attempts = 0, losses = 0, returns = 0,
    quarantined = FALSE, resubmitted = :resubmitted, reason = :reason, called_at = $now_at, called_run_id = run_id, modified_at = $now_at
FROM revoked
WHERE work.work_id = revoked.work_id AND state <> 'RUNNING'
  AND (:resubmitted OR state IN ('DONE', 'FAILED', 'INVALID'))
RETURNING state

-- name: journal
-- One row for a work's move or for a bulk batch.
INSERT INTO journal (at, actor, action, job, dataset, dataid, run_id, from_state, to_state, items, why)
VALUES ($now_at, :actor, :action, :job, :dataset, :dataid, :run_id, :from_state, :to_state, :items, :why)

-- name: journal @postgres
-- The same. What makes work claimable is journalled, so this also tells the workers that wait, after the commit. Without
-- one nothing is sent: transactions that notify commit one after the other.
INSERT INTO journal (at, actor, action, job, dataset, dataid, run_id, from_state, to_state, items, why)
VALUES ($now_at, :actor, :action, :job, :dataset, :dataid, :run_id, :from_state, :to_state, :items, :why)
RETURNING (SELECT pg_notify('dataflow', current_schema()) FROM $listeners AND :action <> 'claim' LIMIT 1)

-- name: journal_lines
-- Many moves at once.
INSERT INTO journal (at, actor, action, job, dataset, dataid, run_id, from_state, to_state, items, why)
SELECT $now_at, value ->> 'actor', value ->> 'action', value ->> 'job', value ->> 'dataset', value ->> 'dataid',
       CAST(value ->> 'run_id' AS bigint), value ->> 'from_state', value ->> 'to_state',
       CAST(value ->> 'items' AS integer), value ->> 'why'
FROM $records

-- name: count_rows
-- Nothing to do: SQLite chooses its indexes without statistics.
SELECT 1

-- name: count_rows @postgres
-- Autovacuum does this minutes after a large insert; until then PostgreSQL plans for a few rows.
ANALYZE chunk, work, work_input, run, run_input, job_pair, work_deadline
