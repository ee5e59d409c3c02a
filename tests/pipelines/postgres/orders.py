"""A small table of orders, and runs that load it; shared by the tests of the PostgreSQL target."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import psycopg
import pyarrow as pa

from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.records import Destination, Published, Staged
from dataflow.pipelines.postgres.table import Column, Options, Table
from dataflow.pipelines.postgres.table_target import PostgresTarget

COLUMNS = (
    Column("id", "integer", primary_key=True),
    Column("name", "text", not_null=True),
    Column("total", "numeric(12,2)"),
)
ORDERS = Table("public", "orders", COLUMNS)
DAY = "2024-01-01"
Row = tuple[Any, ...]


def make_target(
    url: str,
    run_id: int = 1,
    dataid: str = DAY,
    *,
    mode: str = "snapshot",
    inputs: str = "pages:1",
    table: Table = ORDERS,
    store_id: str = "1a2b",
    dataset: str = "orders",
    claim: str = "",
    newest_run: int = 0,
    newest: str = "",
    **options: Any,
) -> PostgresTarget:
    """A run's target; the dataid is its own sort key."""
    destination = Destination(
        dataset,
        dataid,
        dataid,
        run_id,
        mode,
        inputs=inputs,
        store_id=store_id,
        job="OrdersPipeline",
        claim=claim,
        newest_run=newest_run,
        newest=(newest, newest),
    )
    return PostgresTarget(Connection("warehouse", url), table, destination, Options(**options))


def make_batch(rows: Iterable[Row]) -> pa.RecordBatch:
    """Orders as shaping produces them."""
    ids, names, totals = zip(*rows, strict=True) if (rows := list(rows)) else ((), (), ())
    arrays = [pa.array(ids, pa.int32()), pa.array(names, pa.string()), pa.array(totals, pa.decimal128(12, 2))]
    return pa.record_batch(arrays, names=["id", "name", "total"])


def make_rows(count: int, name: str = "x", first: int = 0) -> list[Row]:
    """This many orders with the same name."""
    return [(number, name, None) for number in range(first, first + count)]


def stage(target: PostgresTarget, rows: Iterable[Row], attempt: str = "1.0") -> Staged:
    """What a Spark task does."""
    return target.writer().write(iter([make_batch(rows)]), attempt)


def load(target: PostgresTarget, rows: Iterable[Row]) -> Published:
    """A whole run in the target: begin, stage, publish."""
    target.begin()
    return target.publish([stage(target, rows)])


def query(url: str, statement: str) -> list[Row]:
    """All rows of one statement, in its own transaction."""
    with psycopg.connect(url) as connection:
        cursor = connection.execute(statement)  # type: ignore[call-overload, unused-ignore]
        return cursor.fetchall() if cursor.description else []


def read_orders(url: str) -> list[Row]:
    """The ids and names that a reader sees."""
    return query(url, "select id, name from orders order by 1, 2")


def list_staging(url: str) -> list[str]:
    """The remaining staging tables."""
    found = query(url, "select tablename from pg_tables where schemaname = 'dataflow_staging' order by 1")
    return [name for (name,) in found]


def wait_for_waiting(url: str, count: int) -> None:
    """Wait until this many sessions of the database wait for a lock."""
    waiting = "select count(distinct pid) from pg_locks join pg_stat_activity using (pid)"
    while query(url, f"{waiting} where datname = current_database() and not granted") != [(count,)]:
        time.sleep(0.02)
