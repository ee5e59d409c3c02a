"""Publishing by swap: a twin of the table is filled beside it, then replaces it instantly.

Columns, defaults, constraints, indexes, owner, grants, settings and comments are copied to the twin. If
something cannot be copied (dependent views, foreign keys, triggers, policies, publications), swap refuses.
"""

from __future__ import annotations

from psycopg import sql

from dataflow.errors import Conflict
from dataflow.pipelines.postgres.table import Table
from dataflow.pipelines.postgres.transactions import Session, fetch_named


def check_can_swap(session: Session, table: Table) -> None:
    """Refuse if something depends on the table that a twin would not have."""
    rows = fetch_named(session, "swap.dependents", _values(session, table))
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
    for number, (name, statement, rest) in enumerate(fetch_named(session, "swap.keys", values)):
        made = f"dataflow_twin_key_{number}"
        named = {"twin": twin, "made": sql.Identifier(made), "rest": sql.SQL(rest)}
        session.execute(sql.SQL(statement).format(**named))
        renames.append((made, name))
    return renames


def _copy_grants(session: Session, values: dict[str, str], twin: sql.Identifier) -> None:
    _clear_grants(session, values, twin)
    for grantee, privilege, is_grantable, column in fetch_named(session, "swap.grants", values):
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
    [(owner, has_own, is_plain)] = fetch_named(session, "swap.rights", values | {"twin": name})
    if is_plain:
        return
    for (grantee,) in fetch_named(session, "swap.grantees", (name,)):
        who = sql.Identifier(grantee) if grantee else sql.SQL("public")
        session.execute(sql.SQL("revoke all on {} from {}").format(twin, who))
    if not has_own:
        session.execute(sql.SQL("grant all on {} to {}").format(twin, sql.Identifier(owner)))


def _copy_settings(session: Session, values: dict[str, str], twin: sql.Identifier) -> None:
    """Owner, comment, storage parameters, and row security, which without a policy hides rows from others."""
    [(owner, comment, options, is_secured, is_forced)] = fetch_named(session, "swap.settings", values)
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
