"""Detects tables on which a publish would lose or duplicate rows: checked before, counted after."""

from __future__ import annotations

from psycopg import sql

from dataflow.errors import Conflict
from dataflow.pipelines.postgres.table import Table
from dataflow.pipelines.postgres.transactions import Session, fetch_named


def check_rules(session: Session, table: Table) -> None:
    """Refuse a table with a rule that replaces what is written."""
    name = table.identifier.as_string(session)
    if rows := fetch_named(session, "safeguards.rules", {"table": name}):
        rule = rows[0][0]
        raise Conflict(
            f"Table {table} has the rule {rule}, which replaces what a run writes. Drop it, then resubmit "
            f"the work: drop rule {sql.Identifier(rule).as_string(session)} on {name}"
        )


def check_can_delete(session: Session, table: Table, *, whole: bool) -> None:
    """Refuse if deleting the table's rows would change other tables, or leave rows it cannot see."""
    values = {"table": table.identifier.as_string(session), "whole": whole}
    if rows := fetch_named(session, "safeguards.cascades", values):
        name, other, action = rows[0]
        raise Conflict(
            f'Table {table} cannot be replaced: the foreign key "{name}" of {other} is ON DELETE '
            f"{action.upper()}, so rows there would be deleted or changed, too. "
            'Use write = "merge", or make the foreign key ON DELETE NO ACTION DEFERRABLE.'
        )
    if rows := fetch_named(session, "safeguards.children", values):
        child = rows[0][0]
        raise Conflict(
            f"Table {table} cannot be replaced: {child} inherits from it and has its own columns, and "
            'its rows would be deleted, too. Use write = "merge", or end the inheritance: '
            f"alter table {child} no inherit {values['table']}"
        )
    if fetch_named(session, "safeguards.hidden", values):
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
