-- What a job does when an input of a finished result changes: 'rerun', 'ask' or 'ignore'; with late_after_seconds a change
-- that comes later than that asks (0: none is late).
ALTER TABLE job ADD COLUMN on_change text NOT NULL DEFAULT 'rerun';
ALTER TABLE job ADD COLUMN late_after_seconds double precision NOT NULL DEFAULT 0;
-- A stale chunk whose own inputs have changed; the others were made from a stale one. Until now all were the former.
ALTER TABLE chunk ADD COLUMN outdated boolean NOT NULL DEFAULT FALSE;
-- The last version that was found to be wrong: a run that has read it publishes nothing current.
ALTER TABLE chunk ADD COLUMN wrong_version integer NOT NULL DEFAULT 0;
UPDATE chunk SET outdated = TRUE WHERE stale;
