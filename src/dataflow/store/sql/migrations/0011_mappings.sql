-- Mappings with several chunks: how complete an input must be, and what a run did without.
ALTER TABLE job_input ADD COLUMN rule text NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN lacked integer NOT NULL DEFAULT 0;

-- The explicit list of an input mapped `pairs`: the chunks that each work needs.
CREATE TABLE job_pair (
    job_id bigint NOT NULL,
    dataset_id bigint NOT NULL,
    dataid $sort NOT NULL,
    chunk $sort NOT NULL,
    PRIMARY KEY (job_id, dataset_id, dataid, chunk)
) $clustered;
CREATE INDEX job_pair_chunk ON job_pair (job_id, dataset_id, chunk);

-- Work whose inputs need not be complete after a deadline, by job: a claim looks here for what is due.
CREATE TABLE work_deadline (
    job_id bigint NOT NULL,
    deadline double precision NOT NULL,
    work_id bigint NOT NULL,
    PRIMARY KEY (job_id, deadline, work_id)
) $clustered;
