-- Rows that violate a check.

-- name: twins
-- Counts the rows that share a key, with a few of the keys. Keys that contain NULL equal nothing.
select sum(twins.rows) over (), twins.key from (
    select count(*) as rows, row({columns})::text as key from (select * from {rows}) r
    where {no_nulls} group by {columns} having count(*) > 1) twins
limit {shown}

-- name: false
-- Counts the rows for which a condition is false, with a few of them.
select count(*) over (), to_jsonb(r)::text from (select * from {rows}) r
where not ({condition}) limit {shown}
