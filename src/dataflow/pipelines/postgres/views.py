"""A view computed by the database that holds its datasets: staged and published as any other result."""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.pq import DiagnosticField

from dataflow.errors import BadInput, InputMoved, TargetError
from dataflow.pipelines.postgres.connecting import Session, connect, transaction
from dataflow.pipelines.postgres.copy_out import describe
from dataflow.pipelines.postgres.failures import translate
from dataflow.pipelines.postgres.ledger import LEDGER
from dataflow.pipelines.postgres.sessions import Sessions
from dataflow.pipelines.postgres.staging import attempt_number
from dataflow.pipelines.postgres.table import ATTEMPT, Column, Connection
from dataflow.pipelines.records import Staged
from dataflow.pipelines.shape.statistics import ColumnStatistics, Statistics, Wanted
from dataflow.pipelines.stage import Report

if TYPE_CHECKING:
    from dataflow.pipelines.postgres.target import PostgresTarget

ATTEMPT_NAME = "select"
UNDEFINED_COLUMN = b"42703"
NEWEST = sql.SQL("""
    select run_id from {} where table_name = %s and run_id > 0 order by sort_key desc limit 1
""")


def list_columns(connection: Connection, schema: str, select: str) -> tuple[Column, ...]:
    """The columns a SELECT gives, with their types; BadInput if it is no such statement."""
    with transaction(connection) as session:
        _prepare(session, schema)
        return tuple(
            Column(field.name, _type_name(session, field.type_id, field.modifier))
            for field in describe(session, select)
        )


def refuse_unknown_columns(connection: Connection, schema: str, select: str, place: str) -> None:
    """BadInput, with the database's guess, where a SELECT names a column that no table of it has.

    What else is wrong, such as a table that is not there yet, is for the run to tell.
    """
    with suppress(TargetError), transaction(connection) as session:
        _prepare(session, schema)
        found = session.pgconn.prepare(b"", select.encode())
        if found.error_field(DiagnosticField.SQLSTATE) == UNDEFINED_COLUMN:
            parts = (DiagnosticField.MESSAGE_PRIMARY, DiagnosticField.MESSAGE_HINT)
            told = [found.error_field(part) for part in parts]
            raise BadInput(f"{place}: {'. '.join(text.decode() for text in told if text)}")


def stage_select(
    target: PostgresTarget,
    select: str,
    reads: dict[str, str],
    wanted: Wanted,
    stop: threading.Event | None = None,
) -> list[Report]:
    """Stages the rows of a SELECT over tables as the pinned runs published them; InputMoved if not.

    `reads` names for each table the location the store gave, in which the run stands. What the database does
    is cancelled once `stop` is set.
    """
    schema = target.table.schema
    columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in target.table.columns)
    statement = sql.SQL("insert into {} ({}, {}) select r.*, {} from ({}) r").format(
        target.staging.identifier,
        columns,
        sql.Identifier(ATTEMPT),
        sql.Literal(attempt_number(ATTEMPT_NAME)),
        sql.SQL(select.replace("%", "%%")),
    )
    try:
        with (
            Sessions(target.connection, stop or threading.Event()) as sessions,
            connect(target.connection) as session,
            sessions.watched(session),
        ):
            session.isolation_level = IsolationLevel.REPEATABLE_READ
            _prepare(session, schema)
            for table, location in reads.items():
                _check_pinned(session, schema, table, location)
            rows = session.execute(statement, ()).rowcount
            statistics = _count(session, target, wanted)
            return [Report(Staged(ATTEMPT_NAME, rows, 0), statistics, rows, 0)]
    except psycopg.Error as error:
        raise translate(error, target.connection.name) from error


def _count(session: Session, target: PostgresTarget, wanted: Wanted) -> Statistics:
    """What the checks want to know of the staged rows."""
    accepted, names = dict(wanted.accepted), [column.name for column in target.table.columns]
    parts: list[sql.Composable] = [sql.SQL("count(*)")]
    values = []
    for name in names:
        column = sql.Identifier(name)
        bounds = sql.SQL("min({0}), max({0})" if name in wanted.bounds else "null, null").format(column)
        others: sql.Composable = sql.SQL("0")
        if name in accepted:
            others = sql.SQL("count({0}) filter (where not {0} = any(%s))").format(column)
            values.append(list(accepted[name]))
        parts.append(sql.SQL("count({}), {}, {}").format(column, bounds, others))
    statement = sql.SQL("select {} from {}").format(sql.SQL(", ").join(parts), target.staging.identifier)
    row = session.execute(statement, values).fetchone()
    assert row is not None
    rows, facts = row[0], [row[start : start + 4] for start in range(1, len(row), 4)]
    columns = {
        name: ColumnStatistics(rows - count, low, high, others)
        for name, (count, low, high, others) in zip(names, facts, strict=True)
    }
    return Statistics(rows, columns)


def _check_pinned(session: Session, schema: str, table: str, location: str) -> None:
    """The table must hold what the run has pinned: the store names it as what the result is made of."""
    pinned = re.search(r"\?run=(\d+)$", location)
    if pinned is None:
        raise BadInput(f"{table} was published at {location}, which is not in this database.")
    found = session.execute(NEWEST.format(sql.Identifier(schema, LEDGER)), (table,)).fetchone()
    if found is None or found[0] != int(pinned[1]):
        holds = f"what run {found[0]} published" if found else "nothing that a run published"
        raise InputMoved(
            f"Table {schema}.{table} holds {holds}, not what run {pinned[1]} did, which this run has pinned. "
            f"The interval waits until the run that publishes {table} has ended: dataflow chunks {table}"
        )


def _prepare(session: Session, schema: str) -> None:
    session.execute(sql.SQL("set search_path to {}, public").format(sql.Identifier(schema)))
    session.execute("set timezone to 'UTC'")


def _type_name(session: Session, type_id: int, modifier: int) -> str:
    row = session.execute("select format_type(%s, %s)", (type_id, modifier)).fetchone()
    assert row is not None
    return str(row[0]) if row[0] != "unknown" else "text"
