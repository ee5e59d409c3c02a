-- What PostgreSQL's catalogue says of a table or a query.

-- name: columns
-- The columns of a table: name, type, and whether the table fills them.
select attname, format_type(atttypid, atttypmod), atthasdef or attidentity <> ''
from pg_attribute where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped

-- name: keys
-- The columns of each index that enforces uniqueness.
select array_agg(attname::text) from pg_index
join pg_attribute on attrelid = indrelid and attnum = any((indkey::int2[])[0:indnkeyatts - 1])
where indrelid = to_regclass(%s) and indisunique and indisvalid and indpred is null and indexprs is null
group by indexrelid

-- name: published_columns
-- The columns of a table: name, type, and whether it is an array.
select a.attname, format_type(a.atttypid, a.atttypmod), t.typcategory = 'A'
from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace
join pg_type t on t.oid = a.atttypid
where n.nspname = %s and c.relname = %s and a.attnum > 0 and not a.attisdropped order by a.attnum

-- name: type_names
-- In the order of the columns; a type without a name, such as that of NULL, is "unknown".
select format_type(kind, modifier), typcategory = 'A'
from unnest(%s::oid[], %s::int[]) with ordinality as t (kind, modifier, place)
join pg_type on oid = kind order by place

-- name: size
-- Whether a relation has pages of its own, and how many.
select relkind in ('r', 'm'), pg_relation_size(c.oid) / current_setting('block_size')::bigint
from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relname = %s

-- name: default_grants
-- Finds default grants on the tables of some schemas.
select 1 from pg_default_acl d join pg_namespace n on n.oid = d.defaclnamespace
where d.defaclobjtype = 'r' and n.nspname = any(%s)
