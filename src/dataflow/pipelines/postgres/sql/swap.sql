-- What a twin must have of the table that it replaces: see swap.py.

-- name: dependents
-- What depends on the table and would stay with the old one. deptype 'n' and 'a' of other objects on the
-- table; its own indexes, constraints and defaults are in LIKE.
select distinct pg_describe_object(coalesce(r.classid, d.classid), coalesce(r.objid, d.objid), 0)
from pg_depend d
left join lateral (
    select 'pg_class'::regclass::oid as classid, ev_class as objid from pg_rewrite
    where d.classid = 'pg_rewrite'::regclass and oid = d.objid
) r on true
where d.refclassid = 'pg_class'::regclass and d.refobjid = to_regclass(%(table)s)
  and (d.classid in ('pg_rewrite'::regclass, 'pg_trigger'::regclass, 'pg_policy'::regclass,
                     'pg_publication_rel'::regclass, 'pg_proc'::regclass)
       or (d.classid = 'pg_constraint'::regclass
           and (select contype = 'f' from pg_constraint c where c.oid = d.objid))
       or (d.classid = 'pg_class'::regclass and d.deptype in ('n', 'a')
           and (select relkind in ('r', 'p', 'S', 'f') from pg_class c where c.oid = d.objid)))
order by 1

-- name: keys
-- The statements that give the twin the keys and indexes of the table. Constraints, then the other
-- indexes: what follows the table's name in an index's definition, after a head that PostgreSQL itself
-- quotes.
select conname, 'alter table {twin} add constraint {made} {rest}', pg_get_constraintdef(oid)
from pg_constraint where conrelid = to_regclass(%(table)s) and contype in ('p', 'u', 'x')
union all
select relname, format('create %%s {made} on {twin} {rest}', kind),
       substr(definition, strpos(definition, head) + length(head))
from (
    select c.relname, case when i.indisunique then 'unique index' else 'index' end as kind,
           pg_get_indexdef(i.indexrelid) as definition,
           format(' INDEX %%I ON %%I.%%I', c.relname, %(schema)s::text, %(name)s::text) as head
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = to_regclass(%(table)s)
      and not exists (select 1 from pg_constraint
                      where conindid = i.indexrelid and contype in ('p', 'u', 'x'))
) found

-- name: grants
-- The privileges on the table and its columns.
select case when a.grantee = 0 then null else pg_get_userbyid(a.grantee) end, a.privilege_type,
       a.is_grantable, att.attname
from pg_class c
join lateral (
    select null::name as attname, c.relacl as acl
    union all select attname, attacl from pg_attribute where attrelid = c.oid and not attisdropped
) att on att.acl is not null
join lateral aclexplode(att.acl) a on true
where c.oid = to_regclass(%(table)s)

-- name: rights
-- Whose the twin is, and whether the table and the twin have access lists. Without an access list a table
-- has only its owner's default privileges.
select pg_get_userbyid(t.relowner), o.relacl is not null, o.relacl is null and t.relacl is null
from pg_class o, pg_class t where o.oid = to_regclass(%(table)s) and t.oid = to_regclass(%(twin)s)

-- name: grantees
-- Everybody who has a privilege on a table.
select distinct case when a.grantee = 0 then null else pg_get_userbyid(a.grantee) end
from pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
where c.oid = to_regclass(%s)

-- name: settings
-- The owner, comment, options and row security of the table.
select pg_get_userbyid(relowner), obj_description(oid, 'pg_class'), reloptions, relrowsecurity,
       relforcerowsecurity
from pg_class where oid = to_regclass(%(table)s)
