"""A Spark frame into PostgreSQL, by our staging and by Spark's own JDBC writer; a process of its own."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from time import perf_counter
from typing import TYPE_CHECKING

from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.records import Destination
from dataflow.pipelines.postgres.table import Column, Table
from dataflow.pipelines.postgres.table_target import PostgresTarget
from dataflow.pipelines.postgres.transactions import transaction
from dataflow.pipelines.run.stage_tasks import StageFrame
from dataflow.pipelines.shape.statistics import Wanted
from dataflow.pipelines.spark.session import SparkSettings, start_session
from dataflow.pipelines.spark.tasks import run_over

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROUNDS = 2
COLUMNS = {
    "id": ("uuid", "uuid()"),
    "created_at": ("timestamp with time zone", "timestamp_seconds(1767225600 + id)"),
    "amount": ("numeric(12,2)", "cast(id % 1000000 / 100 as decimal(12,2))"),
    "tags": ("text[]", "array('new', cast(id as string))"),
    "status": ("character varying(20)", "if(id % 3 = 0, 'open', 'done')"),
    "quantity": ("integer", "cast(id % 1000 as int)"),
    "customer": ("bigint", "id * 7919"),
    "paid": ("boolean", "id % 2 = 0"),
    "due": ("date", "date_add(date'2026-01-01', cast(id % 365 as int))"),
    "weight": ("double precision", "cast(id as double) / 64"),
    "note": ("text", "repeat('Order of the month ', cast(id % 4 as int))"),
    "extra": ("jsonb", "concat('{\"points\": ', id % 100, '}')"),
}
"""The columns with their types and how Spark makes them from a row's number."""


def main() -> None:
    """Prints the seconds of both, each at its best, as a line of JSON."""
    rows, folder, jar = int(sys.argv[1]), *sys.argv[2:]
    target = os.environ["TARGET"]
    settings = SparkSettings(options={"spark.jars": jar})
    session = start_session(settings, os.path.join(folder, "spark.log"))
    frame = session.range(0, rows).selectExpr(*[f"{make} as {name}" for name, (_, make) in COLUMNS.items()])
    frame = frame.cache()  # what making the rows costs is nobody's merit
    frame.count()
    ours, theirs = [], []
    for number in range(ROUNDS + 1):
        ours.append(stage(frame, target, number))
        theirs.append(write_jdbc(frame, target, f"jdbc_{number}"))
    session.stop()
    print(json.dumps([min(ours[1:]), min(theirs[1:])]))


def stage(frame: DataFrame, url: str, number: int) -> float:
    """Seconds for the frame into a run's staging table."""
    columns = tuple(Column(name, kind) for name, (kind, _) in COLUMNS.items())
    table = Table("public", "framed", columns)
    target = PostgresTarget(
        Connection("bench", url), table, Destination("framed", "1", "1", number + 1, "snapshot")
    )
    target.task_folder = tempfile.gettempdir()
    started = perf_counter()
    target.begin()
    run_over(frame.sparkSession, frame, StageFrame(target.writer(), Wanted(), tuple(COLUMNS)), "bench")
    seconds = perf_counter() - started
    target.discard()
    return seconds


def write_jdbc(frame: DataFrame, url: str, table: str) -> float:
    """Seconds for the frame into a table that is there, by Spark's JDBC writer as it comes."""
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    with transaction(Connection("bench", url)) as session:
        session.execute(f"create table {table} ({columns})".encode())
    user, _, place = url.removeprefix("postgresql://").partition("@")
    name, _, password = user.partition(":")
    # Without `stringtype` it could not write uuid and jsonb at all.
    options = {"user": name, "password": password, "stringtype": "unspecified"}
    started = perf_counter()
    frame.write.jdbc(
        f"jdbc:postgresql://{place}", table, "append", options | {"driver": "org.postgresql.Driver"}
    )
    seconds = perf_counter() - started
    with transaction(Connection("bench", url)) as session:
        session.execute(f"drop table {table}".encode())
    return seconds


if __name__ == "__main__":
    main()
