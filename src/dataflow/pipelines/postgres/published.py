"""Exports published tables to Parquet files like those of the lake: one snapshot, checked by the ledger."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from psycopg import errors as pg_errors
from psycopg import sql

from dataflow.errors import BadInput, Conflict, InputMoved
from dataflow.model.record import record, replace
from dataflow.model.url_text import percent_encode
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.published_table import PublishedTable
from dataflow.pipelines.lake.manifest import DATAID, Columns, Frame
from dataflow.pipelines.postgres.copy_out import CopiedColumn, PartWork
from dataflow.pipelines.postgres.ledger import LEDGER
from dataflow.pipelines.postgres.table_source import (
    EVERYTHING,
    copy_parts,
    export_snapshot,
    list_work,
    page_ranges,
)
from dataflow.pipelines.postgres.transactions import Session, Sessions, exists, fetch_named
from dataflow.pipelines.shape.sql_types import BARE_NUMERIC, MOST_DIGITS, parse_sql_type
from dataflow.private_files import make_private_folder

TASKS = 2
LOCK_SECONDS = 30
# NaN and infinity have no scale.
DIGITS = sql.SQL("max(scale({0})), max(length(trunc(abs({0}))::text)), count({0}) - count(scale({0}))")


@record
class _Plan:
    """How one table is read: its columns, with the lake's types, and its rows."""

    table: PublishedTable
    fields: tuple[CopiedColumn, ...]
    kinds: dict[str, str]
    condition: sql.Composable

    @property
    def identifier(self) -> sql.Identifier:
        return sql.Identifier(self.table.schema, self.table.name)


def read_published(
    connection: Connection, tables: Sequence[PublishedTable], folder: str, stop: threading.Event
) -> list[Frame]:
    """The rows of these tables as files in that folder, all from one snapshot; by run if partitioned.

    InputMoved where a table does not hold what these runs published.
    """
    with Sessions(connection, stop) as sessions, sessions.snapshot() as first:
        _lock(first, tables)
        snapshot = export_snapshot(first)
        for table in tables:
            _check(first, table)
        frames, all_work = [], []
        for number, plan in enumerate(_measured(first, [_plan(first, table) for table in tables])):
            work, columns = _list_work(first, plan, _folder_of(folder, number, plan.table))
            frames.append(Frame(tuple(each.part.path for each in work), columns))
            all_work += work
        list(copy_parts(sessions, snapshot, TASKS, all_work))
        return frames


def _lock(session: Session, tables: Sequence[PublishedTable]) -> None:
    """Before the snapshot: a table swapped after it would look empty. Interval tables are never swapped."""
    session.execute(f"set local lock_timeout = '{LOCK_SECONDS}s'")
    for table in tables:
        if not table.is_interval:
            statement = sql.SQL("lock table {} in access share mode")
            try:
                session.execute(statement.format(sql.Identifier(table.schema, table.name)))
            except pg_errors.UndefinedTable as error:
                raise _gone(table) from error


def _check(session: Session, table: PublishedTable) -> None:
    """The table must hold what the store says is published; an unpartitioned one, nothing newer either."""
    published: dict[str, int] = {}
    if exists(session, table.schema, LEDGER):
        ledger, values = sql.Identifier(table.schema, LEDGER), (table.name, table.store_id)
        published = dict(fetch_named(session, "ledger.published_here", values, ledger=ledger))
    runs = dict(table.runs)
    newest = list(published)[-1:] if not table.partition_column else []
    for dataid in [*(each for each in newest if each not in runs), *runs]:
        if published.get(dataid) != runs.get(dataid):
            wanted, run_id = table.runs[-1] if dataid not in runs else (dataid, runs[dataid])
            there = published.get(dataid)
            holds = f"what run {there} published for {dataid}" if there else f"nothing published for {dataid}"
            raise InputMoved(
                f"Table {table} holds {holds}, not what run {run_id} published for {wanted}, as the store "
                "says."
            )


def _plan(session: Session, table: PublishedTable) -> _Plan:
    rows = fetch_named(session, "catalogue.published_columns", (table.schema, table.name))
    if not rows:
        raise _gone(table)
    rows = [row for row in rows if row[0] != table.partition_column]
    fields = tuple(CopiedColumn(*row) for row in rows)
    kinds = {name: _kind_of(kind, is_array) for name, kind, is_array in rows}
    condition: sql.Composable = EVERYTHING
    if table.partition_column:
        column, dataids = sql.Identifier(table.partition_column), [dataid for dataid, _ in table.runs]
        condition = sql.SQL("{} = any({}::text[])").format(column, sql.Literal(dataids))
    return _Plan(table, fields, kinds, condition)


def _gone(table: PublishedTable) -> Conflict:
    dataid, run_id = table.runs[-1]
    return Conflict(
        f"Table {table} is gone, in which run {run_id} published {table.dataset}/{dataid}. Restore it, or "
        f"publish it again; see: dataflow chunks {table.dataset}"
    )


def _kind_of(kind: str, is_array: bool) -> str:
    """A database type in the mapping's notation; types that mappings lack are text."""
    try:
        return parse_sql_type(kind).sql
    except BadInput:
        return "text[]" if is_array else "text"


def _measured(session: Session, plans: list[_Plan]) -> list[_Plan]:
    """The plans with room for every digit of numerics without precision, equal in all tables of a dataset.

    Values that fit a mapping's `numeric` use it; the database itself computes with more digits.
    """
    found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for plan in plans:
        for name in (name for name, kind in plan.kinds.items() if kind == "numeric"):
            statement = sql.SQL("select {} from {} where {}").format(
                DIGITS.format(sql.Identifier(name)), plan.identifier, plan.condition
            )
            [(scale, whole, odd)] = session.execute(statement).fetchall()
            found.setdefault((plan.table.dataset, name), []).append((scale or 0, whole or 0, odd))
    chosen = {key: _numeric_of(*map(max, zip(*digits, strict=True))) for key, digits in found.items()}
    return [
        replace(
            plan,
            kinds={name: chosen.get((plan.table.dataset, name), kind) for name, kind in plan.kinds.items()},
        )
        for plan in plans
    ]


def _numeric_of(scale: int, whole: int, odd: int) -> str:
    """The type with this many digits after and before the point; text if none fits."""
    precision, usual = BARE_NUMERIC
    if odd or scale + whole > MOST_DIGITS:
        return "text"
    if scale <= usual and whole <= precision - usual:
        return "numeric"
    return f"numeric({MOST_DIGITS},{scale if scale > usual else MOST_DIGITS - whole})"


def _list_work(session: Session, plan: _Plan, folder: str) -> tuple[list[PartWork], Columns]:
    """The part files of a table, and their columns."""
    make_private_folder(folder)
    table, kinds = plan.table, dict(plan.kinds)
    fields = tuple(replace(field, taken_as=parse_sql_type(kinds[field.name]).arrow) for field in plan.fields)
    if table.shows_dataid and table.partition_column and DATAID not in [name.lower() for name in kinds]:
        kinds[DATAID] = "text"
        fields = (*fields, CopiedColumn(DATAID, "text", False, taken_from=table.partition_column))
    ranges = [
        sql.SQL("{} and {}").format(where, plan.condition)
        for where in page_ranges(session, table.schema, table.name)
    ]
    return list_work(folder, plan.identifier, fields, ranges), tuple(kinds.items())


def _folder_of(folder: str, number: int, table: PublishedTable) -> str:
    """The folder of a table's files; for an interval it contains the dataid, as in the lake."""
    place = os.path.join(folder, str(number))
    if not table.is_interval:
        return place
    dataid, run_id = table.runs[0]
    return os.path.join(place, f"{DATAID}={percent_encode(dataid)}", str(run_id))
