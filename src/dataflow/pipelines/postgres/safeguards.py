"""Detects tables on which a publish would lose or duplicate rows: checked before, counted after."""

from __future__ import annotations

from psycopg import sql

from dataflow.errors import Conflict
from dataflow.pipelines.postgres.table import Table
from dataflow.pipelines.postgres.transactions import Session

# The table and all that inherit from it, including partitions: a DELETE affects the whole family.
FAMILY = """
    with recursive family as (
        select to_regclass(%(table)s)::oid as member
        union select inhrelid from pg_inherits join family on inhparent = member
    )
"""
# A key within the family does not matter if all its rows are deleted at once.
CASCADES = f"""{FAMILY}
    select conname, conrelid::regclass::text,
           case confdeltype when 'c' then 'cascade' when 'n' then 'set null' else 'set default' end
    from pg_constraint join family on confrelid = member
    where contype = 'f' and confdeltype in ('c', 'n', 'd')
      and not (%(whole)s and conrelid in (select member from family))
    order by 2, 1 limit 1
"""
# A child with the parent's columns holds the parent's rows; one with extra columns holds its own.
CHILDREN = f"""{FAMILY}
    select member::regclass::text from family
    where exists (select 1 from pg_attribute
                  where attrelid = member and attnum > 0 and attinhcount = 0 and not attisdropped)
      and member <> to_regclass(%(table)s)
    order by 1 limit 1
"""
# Without row security, or with a policy that shows this user every row, a DELETE reaches all rows.
HIDDEN = """
    select 1 where row_security_active(to_regclass(%(table)s)::oid) and coalesce((
        select bool_or(not polpermissive) or not bool_or(
            polpermissive and polcmd = '*' and pg_get_expr(polqual, polrelid) = 'true')
        from pg_policy where polrelid = to_regclass(%(table)s)
          and exists (select 1 from unnest(polroles) role where role = 0 or pg_has_role(role, 'usage'))
    ), true)
"""
RULES = """
    select rulename from pg_rewrite
    where ev_class = to_regclass(%(table)s) and is_instead and ev_type in ('2', '3', '4') order by 1 limit 1
"""


def check_rules(session: Session, table: Table) -> None:
    """Refuse a table with a rule that replaces what is written."""
    row = session.execute(RULES, {"table": table.identifier.as_string(session)}).fetchone()
    if row:
        rule, name = sql.Identifier(row[0]).as_string(session), table.identifier.as_string(session)
        raise Conflict(
            f"Table {table} has the rule {row[0]}, which replaces what a run writes. "
            f"Drop it, then resubmit the work: drop rule {rule} on {name}"
        )


def check_can_delete(session: Session, table: Table, *, whole: bool) -> None:
    """Refuse if deleting the table's rows would change other tables, or leave rows it cannot see."""
    values = {"table": table.identifier.as_string(session), "whole": whole}
    if found := session.execute(CASCADES, values).fetchone():
        name, other, action = found
        raise Conflict(
            f'Table {table} cannot be replaced: the foreign key "{name}" of {other} is ON DELETE '
            f"{action.upper()}, so rows there would be deleted or changed, too. "
            'Use write = "merge", or make the foreign key ON DELETE NO ACTION DEFERRABLE.'
        )
    if found := session.execute(CHILDREN, values).fetchone():
        raise Conflict(
            f"Table {table} cannot be replaced: {found[0]} inherits from it and has its own columns, and "
            'its rows would be deleted, too. Use write = "merge", or end the inheritance: '
            f"alter table {found[0]} no inherit {values['table']}"
        )
    if session.execute(HIDDEN, values).fetchone():
        raise Conflict(
            f"Table {table} cannot be replaced: its row security may hide rows from the user "
            f"{session.info.user}, and these would remain. Give the user a policy FOR ALL USING (true), "
            'or BYPASSRLS, or use write = "merge".'
        )


def check_deleted(session: Session, table: Table, where: sql.Composable) -> None:
    """Refuse if rows that were to be replaced still exist."""
    statement = sql.SQL("select tableoid::regclass::text from {} {} limit 1").format(table.identifier, where)
    if found := session.execute(statement).fetchone():
        raise Conflict(
            f"Table {table} was not published: rows to be replaced were deleted but still exist in "
            f"{found[0]}{_triggers(session, found[0])}. Remove what keeps them, "
            'or use write = "merge".'
        )


def count_rows(session: Session, table: Table, where: sql.Composable) -> int:
    """The number of rows that a reader of the table finds."""
    statement = sql.SQL("select count(*) from {} {}").format(table.identifier, where)
    row = session.execute(statement).fetchone()
    return int(row[0]) if row else 0


def check_taken(session: Session, table: Table, taken: int, staged: int) -> None:
    """Refuse if the table accepted fewer rows than were written."""
    if taken != staged:
        name = table.identifier.as_string(session)
        raise Conflict(
            f"Table {table} was not published: it accepted {taken} of {staged} staged rows"
            f"{_triggers(session, name)}. Remove what drops rows, then resubmit the work."
        )


def _triggers(session: Session, name: str) -> str:
    rows = session.execute(
        "select tgname from pg_trigger where tgrelid = to_regclass(%s) and not tgisinternal order by 1",
        (name,),
    ).fetchall()
    return f"; its triggers: {', '.join(found for (found,) in rows)}" if rows else ""
