-- Where each version of a staged chunk was given out, for as long as it is kept: what can be gone back to, and what
-- may be deleted once it is old. A version that was compacted has two places.
CREATE TABLE chunk_version (
    chunk_id bigint NOT NULL,
    version integer NOT NULL,
    location text NOT NULL,
    run_id bigint,
    row_count bigint,
    size bigint,
    checked text NOT NULL DEFAULT '',
    published_at $time NOT NULL,
    PRIMARY KEY (chunk_id, version, location)
) $clustered;

INSERT INTO chunk_version (chunk_id, version, location, run_id, row_count, size, checked, published_at)
SELECT c.chunk_id, c.version, c.location, c.run_id, c.row_count, c.size, c.checked, c.modified_at
FROM chunk c JOIN dataset d ON d.dataset_id = c.dataset_id
WHERE c.version > 0 AND c.location <> '' AND d.location LIKE '%{run_id}%';
