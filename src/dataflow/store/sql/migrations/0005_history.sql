-- online
-- What a claim or a command looks for is found without reading what else there is. A step that was interrupted can be
-- taken again: PostgreSQL leaves an index behind that is not valid.

-- Work whose wait is over, of this boot of the machine; and what waits since an earlier one.
DROP INDEX $concurrently IF EXISTS work_waiting;
CREATE INDEX $concurrently work_waiting ON work (job_id, not_before_clock, not_before) WHERE not_before IS NOT NULL;
DROP INDEX $concurrently IF EXISTS work_due;

-- Revoked runs that may still be ending, of all jobs and however many have ended before them: their lease runs, or what
-- outlives them is to be killed.
DROP INDEX $concurrently IF EXISTS run_ending;
CREATE INDEX $concurrently run_ending ON run (clock_id, lease_until, job_id) WHERE outcome = 'CANCELLED';
DROP INDEX $concurrently IF EXISTS run_outliving;
CREATE INDEX $concurrently run_outliving ON run (job_id) WHERE outcome = 'CANCELLED' AND has_kill_command;
DROP INDEX $concurrently IF EXISTS run_revoked;

-- Runs whose work was taken from them on one machine: the next run ends what they have left there.
DROP INDEX $concurrently IF EXISTS run_taken_here;
CREATE INDEX $concurrently run_taken_here ON run (job_id, host, boot_id, work_id) WHERE outcome IN ('LOST', 'CANCELLED');
DROP INDEX $concurrently IF EXISTS run_taken;

-- `runs --dataid`, `runs --outcome`, `journal --run` and `journal --dataid`.
DROP INDEX $concurrently IF EXISTS run_dataid;
CREATE INDEX $concurrently run_dataid ON run (dataid, run_id);
DROP INDEX $concurrently IF EXISTS run_outcome;
CREATE INDEX $concurrently run_outcome ON run (outcome, run_id) WHERE ended_at IS NOT NULL;
DROP INDEX $concurrently IF EXISTS journal_run;
CREATE INDEX $concurrently journal_run ON journal (run_id, journal_id) WHERE run_id IS NOT NULL;
DROP INDEX $concurrently IF EXISTS journal_dataid;
CREATE INDEX $concurrently journal_dataid ON journal (dataid, journal_id) WHERE dataid <> '';
