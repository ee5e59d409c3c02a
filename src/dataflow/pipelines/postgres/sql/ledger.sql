-- The ledger of a schema: see ledger.py.

-- name: create
-- The ledger of a schema, created with its first table.
create table if not exists {ledger} (
    table_name text not null,
    dataid text not null,
    dataset text not null,
    store_id text not null,
    sort_key text collate "C" not null,
    fence bigint not null,
    run_id bigint,
    claim text,
    rows bigint,
    inputs text,
    published_at timestamptz,
    primary key (table_name, dataid)
)

-- name: raise
-- Raises the fence of a dataid to this run; returns no row if a newer run holds it, or another store or
-- dataset.
insert into {ledger} as l (table_name, dataid, dataset, store_id, sort_key, fence)
values (%(table)s, %(dataid)s, %(dataset)s, %(store_id)s, %(sort_key)s, %(run_id)s)
on conflict (table_name, dataid) do update
    set fence = excluded.fence, sort_key = excluded.sort_key,
        -- Another claim had this run id before the store was restored.
        run_id = case when l.run_id = excluded.fence and l.claim is distinct from %(claim)s
                      then 0 else l.run_id end
    where l.fence <= excluded.fence and l.store_id = excluded.store_id and l.dataset = excluded.dataset
returning 1

-- name: read
-- The rows of a table, or of one of its dataids.
select dataid, dataset, store_id, sort_key, fence, run_id, claim, rows, inputs from {ledger}
where table_name = %(table)s and (%(whole)s or dataid = %(dataid)s)
order by dataid {lock}

-- name: write
-- Records what this run published.
update {ledger}
set run_id = %(run_id)s, claim = %(claim)s, rows = %(rows)s, inputs = %(inputs)s, published_at = now()
where table_name = %(table)s and dataid = %(dataid)s

-- name: others
-- The other dataids that are published in the table.
select dataid from {ledger} where table_name = %(table)s and dataid <> %(dataid)s and run_id is not null
order by sort_key

-- name: take_over
-- Run ids of another store mean nothing here, nor do those issued before this store was restored from a
-- backup: 0 is older than any run, and records that something was published.
update {ledger}
set store_id = %(store_id)s, fence = 0,
    run_id = case when store_id = %(store_id)s and run_id <= %(newest_run)s then run_id
                  when run_id is not null then 0 end
where dataset = %(dataset)s and (store_id <> %(store_id)s or fence > %(newest_run)s)

-- name: published_here
-- What runs of one store published in a table, oldest dataid first.
select dataid, run_id from {ledger} where table_name = %s and store_id = %s and run_id > 0 order by sort_key

-- name: published
-- What any run published in a table, oldest dataid first.
select dataid, run_id from {ledger} where table_name = %s and run_id is not null order by sort_key
