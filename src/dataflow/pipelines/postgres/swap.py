"""Publishing by swap: a twin of the table is filled beside it, then replaces it instantly.

Columns, defaults, constraints, indexes, owner, grants, settings and comments are copied to the twin. If
something cannot be copied (dependent views, foreign keys, triggers, policies, publications), swap refuses.
"""

from __future__ import annotations

from psycopg import sql

from dataflow.errors import Conflict
from dataflow.pipelines.postgres.table import Table
from dataflow.pipelines.postgres.transactions import Session

# deptype 'n' and 'a' of other objects on the table; its own indexes, constraints and defaults are in LIKE.
DEPENDENTS = """
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
"""
# Constraints, then the other indexes: what follows the table's name in an index's definition, after a head
# that PostgreSQL itself quotes.
KEYS = """
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
"""
GRANTS = """
    select case when a.grantee = 0 then null else pg_get_userbyid(a.grantee) end, a.privilege_type,
           a.is_grantable, att.attname
    from pg_class c
    join lateral (
        select null::name as attname, c.relacl as acl
        union all select attname, attacl from pg_attribute where attrelid = c.oid and not attisdropped
    ) att on att.acl is not null
    join lateral aclexplode(att.acl) a on true
    where c.oid = to_regclass(%(table)s)
"""

# Without an access list a table has only its owner's default privileges.
RIGHTS = """
    select pg_get_userbyid(t.relowner), o.relacl is not null, o.relacl is null and t.relacl is null
    from pg_class o, pg_class t where o.oid = to_regclass(%(table)s) and t.oid = to_regclass(%(twin)s)
"""
GRANTEES = """
    select distinct case when a.grantee = 0 then null else pg_get_userbyid(a.grantee) end
    from pg_class c, aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a
    where c.oid = to_regclass(%s)
"""
SETTINGS = """
    select pg_get_userbyid(relowner), obj_description(oid, 'pg_class'), reloptions, relrowsecurity,
           relforcerowsecurity
    from pg_class where oid = to_regclass(%(table)s)
"""


def check_can_swap(session: Session, table: Table) -> None:
    """Refuse if something depends on the table that a twin would not have."""
    rows = session.execute(DEPENDENTS, _values(session, table)).fetchall()
    if rows:
        raise Conflict(
            f"Table {table} cannot be swapped: {', '.join(name for (name,) in rows)} would stay "
            'with the old table. Use write = "replace", which keeps them.'
        )


def make_twin(session: Session, table: Table, run_id: int) -> sql.Identifier:
    """An empty table like this one, without indexes yet; visible only to this transaction."""
    twin = sql.Identifier(table.schema, f"dataflow_twin_{run_id}")
    statement = sql.SQL("create table {} (like {} including all excluding indexes)")
    session.execute(statement.format(twin, table.identifier))
    return twin


def take_place(session: Session, table: Table, twin: sql.Identifier) -> None:
    """Give the filled twin keys, indexes and grants, then the table's name: only this blocks readers."""
    values = _values(session, table)
    renames = _copy_keys(session, values, twin)
    _copy_settings(session, values, twin)
    _copy_grants(session, values, twin)
    session.execute(sql.SQL("drop table {}").format(table.identifier))
    session.execute(sql.SQL("alter table {} rename to {}").format(twin, sql.Identifier(table.name)))
    for made, old in renames:
        index = sql.Identifier(table.schema, made)
        session.execute(sql.SQL("alter index {} rename to {}").format(index, sql.Identifier(old)))


def _copy_keys(session: Session, values: dict[str, str], twin: sql.Identifier) -> list[tuple[str, str]]:
    """Create constraints and indexes under names that are free; returns each with the name it shall have."""
    renames = []
    for number, (name, statement, rest) in enumerate(session.execute(KEYS, values).fetchall()):
        made = f"dataflow_twin_key_{number}"
        named = {"twin": twin, "made": sql.Identifier(made), "rest": sql.SQL(rest)}
        session.execute(sql.SQL(statement).format(**named))
        renames.append((made, name))
    return renames


def _copy_grants(session: Session, values: dict[str, str], twin: sql.Identifier) -> None:
    _clear_grants(session, values, twin)
    for grantee, privilege, is_grantable, column in session.execute(GRANTS, values).fetchall():
        statement = sql.SQL("grant {}{} on {} to {}{}").format(
            sql.SQL(privilege),
            sql.SQL(" ({})").format(sql.Identifier(column)) if column else sql.SQL(""),
            twin,
            sql.Identifier(grantee) if grantee else sql.SQL("public"),
            sql.SQL(" with grant option" if is_grantable else ""),
        )
        session.execute(statement)


def _clear_grants(session: Session, values: dict[str, str], twin: sql.Identifier) -> None:
    """Revoke the twin's default privileges: the table's may have been revoked since it was created."""
    name = twin.as_string(session)
    [(owner, has_own, is_plain)] = session.execute(RIGHTS, values | {"twin": name}).fetchall()
    if is_plain:
        return
    for (grantee,) in session.execute(GRANTEES, (name,)).fetchall():
        who = sql.Identifier(grantee) if grantee else sql.SQL("public")
        session.execute(sql.SQL("revoke all on {} from {}").format(twin, who))
    if not has_own:
        session.execute(sql.SQL("grant all on {} to {}").format(twin, sql.Identifier(owner)))


def _copy_settings(session: Session, values: dict[str, str], twin: sql.Identifier) -> None:
    """Owner, comment, storage parameters, and row security, which without a policy hides rows from others."""
    [(owner, comment, options, is_secured, is_forced)] = session.execute(SETTINGS, values).fetchall()
    changes: list[sql.Composable] = []
    if owner != session.info.user:
        changes.append(sql.SQL("owner to {}").format(sql.Identifier(owner)))
    for name, _, value in (option.partition("=") for option in options or ()):
        changes.append(sql.SQL("set ({} = {})").format(sql.Identifier(name), sql.Literal(value)))
    changes += [sql.SQL("enable row level security")] if is_secured else []
    changes += [sql.SQL("force row level security")] if is_forced else []
    for change in changes:
        session.execute(sql.SQL("alter table {} {}").format(twin, change))
    session.execute(sql.SQL("comment on table {} is {}").format(twin, sql.Literal(comment)))


def _values(session: Session, table: Table) -> dict[str, str]:
    return {"table": table.identifier.as_string(session), "schema": table.schema, "name": table.name}
