-- online
-- Indexes of large tables, built while others write. Some stores have them from earlier migrations, or a part of one from
-- an upgrade that was interrupted.

-- Who has read a chunk: what is made from it is found whatever the mapping of the input.
DROP INDEX $concurrently IF EXISTS run_input_chunk;
CREATE INDEX $concurrently run_input_chunk ON run_input (chunk_id);

-- The work of an incident.
DROP INDEX $concurrently IF EXISTS work_incident;
CREATE INDEX $concurrently work_incident ON work (incident_id) WHERE incident_id IS NOT NULL;
