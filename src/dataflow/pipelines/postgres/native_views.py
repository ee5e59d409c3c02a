"""A view computed by the database that holds its datasets, staged and published like any other result."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import IsolationLevel, sql
from psycopg.pq import DiagnosticField

from dataflow.errors import BadInput, InputMoved, TargetError
from dataflow.model.location import Location
from dataflow.model.record import record
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.records import Staged, TaskReport
from dataflow.pipelines.postgres.copy_out import describe
from dataflow.pipelines.postgres.ledger import LEDGER
from dataflow.pipelines.postgres.staging_table import attempt_number
from dataflow.pipelines.postgres.table import ATTEMPT, Column
from dataflow.pipelines.postgres.transactions import (
    Session,
    Sessions,
    connect,
    fetch_named,
    transaction,
    translate,
)
from dataflow.pipelines.shape.statistics import ColumnStatistics, Statistics, Wanted

if TYPE_CHECKING:
    from dataflow.pipelines.postgres.table_target import PostgresTarget

ATTEMPT_NAME = "select"
UNDEFINED_COLUMN = b"42703"


@record
class Pinned:
    """What a view's run has pinned of a table: the location of the newest chunk, which contains its run.

    `chunks` are the locations by dataid if it reads the whole dataset, `column` distinguishes their rows;
    merged rows have no dataid.
    """

    location: str
    chunks: Mapping[str, str] | None = None
    column: str = ""


def list_columns(connection: Connection, schema: str, select: str) -> tuple[Column, ...]:
    """The columns of a SELECT, with their types; BadInput if it is not a SELECT."""
    return read_first(connection, schema, select, 0)[0]


def read_first(
    connection: Connection, schema: str, select: str, most: int
) -> tuple[tuple[Column, ...], list[tuple[Any, ...]]]:
    """The columns of a SELECT and its first rows, read only; BadInput if it is not a SELECT."""
    with transaction(connection) as session:
        session.execute("set transaction read only")
        _prepare(session, schema)
        columns = tuple(
            Column(field.name, field.kind if field.kind != "unknown" else "text")
            for field in describe(session, select)
        )
        asked = f"select * from ({select}\n) as source limit {most:d}"
        return columns, session.execute(asked.encode()).fetchall() if most else []


def refuse_unknown_columns(connection: Connection, schema: str, select: str, place: str) -> None:
    """Raise BadInput, with the database's hint, if a SELECT names a column that none of its tables has.

    Other errors, such as a table that does not exist yet, are left to the run.
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
    reads: dict[str, Pinned],
    wanted: Wanted,
    stop: threading.Event | None = None,
) -> list[TaskReport]:
    """Stage the rows of a SELECT over tables as the pinned runs published them; InputMoved if they changed.

    `reads` maps each table to what the run has pinned of it. Running statements are cancelled once
    `stop` is set.
    """
    schema = target.table.schema
    columns = sql.SQL(", ").join(sql.Identifier(column.name) for column in target.table.columns)
    try:
        with (
            Sessions(target.connection, stop or threading.Event()) as sessions,
            connect(target.connection) as session,
            sessions.watched(session),
        ):
            session.isolation_level = IsolationLevel.REPEATABLE_READ
            _prepare(session, schema)
            parts = [_pinned_part(session, schema, table, pinned) for table, pinned in reads.items()]
            parts = [part for part in parts if part is not None]
            statement = sql.SQL("insert into {} ({}, {}) {} select r.*, {} from ({}) r").format(
                target.staging.identifier,
                columns,
                sql.Identifier(ATTEMPT),
                sql.SQL("with {}").format(sql.SQL(", ").join(parts)) if parts else sql.SQL(""),
                sql.Literal(attempt_number(ATTEMPT_NAME)),
                sql.SQL(select.replace("%", "%%")),
            )
            # Rows staged by an earlier attempt whose reply was lost.
            session.execute(sql.SQL("delete from {}").format(target.staging.identifier))
            rows = session.execute(statement, ()).rowcount
            return [TaskReport(Staged(ATTEMPT_NAME, rows, 0), _count(session, target, wanted), rows, 0)]
    except psycopg.Error as error:
        raise translate(error, target.connection.name) from error


def _count(session: Session, target: PostgresTarget, wanted: Wanted) -> Statistics:
    """The statistics of the staged rows that checks need."""
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
    [(rows, *found)] = session.execute(statement, values).fetchall()
    facts = [found[start : start + 4] for start in range(0, len(found), 4)]
    columns = {
        name: ColumnStatistics(rows - count, low, high, others)
        for name, (count, low, high, others) in zip(names, facts, strict=True)
    }
    return Statistics(rows, columns)


def _pinned_part(session: Session, schema: str, table: str, pinned: Pinned) -> sql.Composed | None:
    """The rows of a table that a run has pinned, under the table's name; None if those are all rows.

    InputMoved if the table holds something else: the store records the pinned version as input of the result.
    """
    rows = fetch_named(session, "ledger.published", (table,), ledger=sql.Identifier(schema, LEDGER))
    published = dict(rows)
    if pinned.chunks is None:
        newest = next((run_id for _, run_id in reversed(rows) if run_id), None)
        _refuse_moved(f"{schema}.{table}", table, newest, pinned.location)
        return None
    for dataid, location in pinned.chunks.items():
        _refuse_moved(f"{schema}.{table}, {dataid},", table, published.get(dataid), location)
    if not pinned.column or published.keys() <= pinned.chunks.keys():
        return None
    part = sql.SQL("{} as not materialized (select * from {} where {} = any({}))")
    names = sql.Identifier(table), sql.Identifier(schema, table), sql.Identifier(pinned.column)
    return part.format(*names, sql.Literal(sorted(pinned.chunks)))


def _refuse_moved(what: str, table: str, found: int | None, location: str) -> None:
    pinned = Location(location).run_id
    if pinned is None:
        raise BadInput(f"{table} was published at {location}, which is not in this database.")
    if found == pinned:
        return
    if not found:
        raise InputMoved(
            f"Table {what} holds nothing that a run of this status store published, but this run has "
            f"pinned what run {pinned} did. If it was taken over from another store, or restored, publish "
            f"it again: dataflow resubmit, for what dataflow chunks {table} shows"
        )
    raise InputMoved(
        f"Table {what} holds what run {found} published, but this run has pinned what run {pinned} did. "
        f"The interval waits until the run that publishes {table} has ended: dataflow chunks {table}"
    )


def _prepare(session: Session, schema: str) -> None:
    session.execute(sql.SQL("set search_path to {}, public").format(sql.Identifier(schema)))
    session.execute("set timezone to 'UTC'")
