-- What could lose or block rows of a publish: see safeguards.py.

-- name: cascades
-- A foreign key elsewhere that deletes or changes rows when rows of the table, or of its family, are
-- deleted. A key within the family does not matter if all its rows are deleted at once.
with recursive family as (
    select to_regclass(%(table)s)::oid as member
    union select inhrelid from pg_inherits join family on inhparent = member
)
select conname, conrelid::regclass::text,
       case confdeltype when 'c' then 'cascade' when 'n' then 'set null' else 'set default' end
from pg_constraint join family on confrelid = member
where contype = 'f' and confdeltype in ('c', 'n', 'd')
  and not (%(whole)s and conrelid in (select member from family))
order by 2, 1 limit 1

-- name: children
-- A child with the parent's columns holds the parent's rows; one with extra columns holds its own.
with recursive family as (
    select to_regclass(%(table)s)::oid as member
    union select inhrelid from pg_inherits join family on inhparent = member
)
select member::regclass::text from family
where exists (select 1 from pg_attribute
              where attrelid = member and attnum > 0 and attinhcount = 0 and not attisdropped)
  and member <> to_regclass(%(table)s)
order by 1 limit 1

-- name: hidden
-- Without row security, or with a policy that shows this user every row, a DELETE reaches all rows.
select 1 where row_security_active(to_regclass(%(table)s)::oid) and coalesce((
    select bool_or(not polpermissive) or not bool_or(
        polpermissive and polcmd = '*' and pg_get_expr(polqual, polrelid) = 'true')
    from pg_policy where polrelid = to_regclass(%(table)s)
      and exists (select 1 from unnest(polroles) role where role = 0 or pg_has_role(role, 'usage'))
), true)

-- name: rules
-- A rule that replaces what is written to the table.
select rulename from pg_rewrite
where ev_class = to_regclass(%(table)s) and is_instead and ev_type in ('2', '3', '4') order by 1 limit 1

-- name: holders
-- Who holds locks on some tables. Readers come last: they are seldom the ones that block.
select a.pid, a.usename, a.application_name, a.state, min(l.mode),
       round(extract(epoch from now() - a.xact_start))
from pg_locks l join pg_stat_activity a using (pid)
where l.granted and l.pid <> pg_backend_pid()
  and l.relation in (select to_regclass(name) from unnest(%s::text[]) name)
group by a.pid, a.usename, a.application_name, a.state, a.xact_start
order by bool_and(l.mode = 'AccessShareLock'), a.xact_start limit 3
