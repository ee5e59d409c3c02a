"""PostgreSQL as a source: a table or SELECT, read in parallel into part files from one snapshot."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import date, datetime
from itertools import pairwise
from typing import Any

from psycopg import sql

from dataflow.errors import BadInput, Conflict
from dataflow.model.record import record
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.records import Part
from dataflow.pipelines.postgres.copy_out import CopiedColumn, PartWork, copy_part, describe, select_text
from dataflow.pipelines.postgres.transactions import Session, Sessions, fetch_named
from dataflow.private_files import make_private_folder

PAGES_PER_PART = 4096  # 32 MB of a table
EVERYTHING = sql.SQL("true")


@record
class PostgresSource:
    """What to read: a table or query; split by ranges of `split_column`, or a table by its pages."""

    connection: Connection
    schema: str = ""
    table: str = ""
    query: str = ""
    split_column: str = ""  # an integer, date or timestamp column
    split_parts: int = 8
    tasks: int = 2

    def read(self, folder: str, stop: threading.Event | None = None) -> Iterator[Part]:
        """Write part files into the folder and yield each when finished; all from one snapshot.

        FetchStopped soon after `stop` was set: running statements are cancelled.
        """
        make_private_folder(folder)
        stop = stop or threading.Event()
        with Sessions(self.connection, stop) as sessions, sessions.snapshot() as first:
            snapshot = export_snapshot(first)
            relation = self._relation()
            query = self.query.strip().rstrip(";")
            fields = describe(first, query or f"select * from {relation.as_string(first)}")
            work = list_work(folder, relation, fields, self._ranges(first, relation, fields))
            yield from copy_parts(sessions, snapshot, self.tasks, work)

    def _relation(self) -> sql.Composable:
        if bool(self.query) == bool(self.table):
            raise BadInput(f"Connection {self.connection.name}: a source must be either a table or a query.")
        if self.table:
            return sql.Identifier(self.schema or "public", self.table)
        # A comment at the query's end must not swallow the parenthesis.
        return sql.SQL("({}\n)").format(sql.SQL(self.query.strip().rstrip(";")))

    def _ranges(
        self, session: Session, relation: sql.Composable, fields: tuple[CopiedColumn, ...]
    ) -> list[sql.Composable]:
        if self.split_column:
            if self.split_column not in [field.name for field in fields]:
                raise BadInput(f"The source has no column {self.split_column} to split by.")
            return self._key_ranges(session, relation)
        return page_ranges(session, self.schema or "public", self.table) if self.table else [EVERYTHING]

    def _key_ranges(self, session: Session, relation: sql.Composable) -> list[sql.Composable]:
        column = sql.Identifier(self.split_column)
        statement = sql.SQL("select min({0}), max({0}) from {1} as source").format(column, relation)
        low, high = session.execute(statement).fetchone() or (None, None)
        if low is None:
            return [EVERYTHING]
        if not isinstance(low, int | date | datetime) or isinstance(low, bool):
            raise BadInput(
                f"Column {self.split_column} cannot be split by: use an integer, date or timestamp."
            )
        bounds = sorted({_step(low, high, place, self.split_parts) for place in range(1, self.split_parts)})
        ranges = _between(column, [sql.Literal(bound) for bound in bounds if low < bound])
        return [sql.SQL("({} or {} is null)").format(ranges[0], column), *ranges[1:]]


def page_ranges(session: Session, schema: str, table: str) -> list[sql.Composable]:
    """Conditions that split a table into parts of this many pages."""
    rows = fetch_named(session, "catalogue.size", (schema, table))
    has_pages, pages = rows[0] if rows else (False, 0)
    if not has_pages:
        return [EVERYTHING]  # a view or a partitioned table has no pages of its own
    if pages is None:  # exists only in this snapshot; the table that has its name now would look empty
        raise Conflict(f"Table {schema}.{table} was replaced before it was read. Run it again.")
    bounds = [sql.Literal(f"({page},0)") for page in range(PAGES_PER_PART, pages, PAGES_PER_PART)]
    return _between(sql.SQL("ctid"), [sql.SQL("{}::tid").format(bound) for bound in bounds])


def export_snapshot(session: Session) -> str:
    """The name of the session's snapshot, for other sessions while its transaction lasts."""
    [[name]] = session.execute("select pg_export_snapshot()").fetchall()
    return str(name)


def list_work(
    folder: str, relation: sql.Composable, fields: tuple[CopiedColumn, ...], ranges: Sequence[sql.Composable]
) -> list[PartWork]:
    """The part file of each range."""
    work = []
    for number, where in enumerate(ranges, start=1):
        part = Part(number, os.path.join(folder, f"part-{number:08}.parquet"), 0, 0)
        statement = sql.SQL("select {} from {} as source where {}")
        work.append(PartWork(part, statement.format(select_text(fields), relation, where), fields))
    return work


def copy_parts(sessions: Sessions, snapshot: str, tasks: int, work: list[PartWork]) -> Iterator[Part]:
    """Write the part file of each statement, all from that snapshot; yields them in order."""
    with ThreadPoolExecutor(tasks) as pool:
        jobs = [pool.submit(_read_part, sessions, snapshot, each) for each in work]
        try:
            for job in jobs:
                yield job.result()
        except BaseException:
            sessions.end()
            pool.shutdown(cancel_futures=True)
            raise


def _read_part(sessions: Sessions, snapshot: str, work: PartWork) -> Part:
    with sessions.snapshot() as session:
        session.execute(sql.SQL("set transaction snapshot {}").format(sql.Literal(snapshot)))
        session.execute("set local timezone = 'UTC'; set local datestyle = 'ISO'")
        return copy_part(session, work)


def _between(value: sql.Composable, bounds: list[sql.Composable]) -> list[sql.Composable]:
    """Conditions that together match every value, each value exactly once."""
    if not bounds:
        return [EVERYTHING]
    first = sql.SQL("{} < {}").format(value, bounds[0])
    last = sql.SQL("{} >= {}").format(value, bounds[-1])
    between = [sql.SQL("{0} >= {1} and {0} < {2}").format(value, low, high) for low, high in pairwise(bounds)]
    return [first, *between, last]


def _step(low: Any, high: Any, place: int, parts: int) -> Any:
    """The place-th of the bounds that split low to high into equal parts."""
    return low + (high - low) * place // parts
