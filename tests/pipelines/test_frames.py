"""Checks of staged rows: run in the run's own session without leaving anything; how they are reported."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession

from dataflow.pipelines.handover.records import Destination
from dataflow.pipelines.lake.manifest import Frame
from dataflow.pipelines.lake.parquet_target import LakeTarget
from dataflow.pipelines.run.verdict import Judgement, fields_of
from dataflow.pipelines.shape.checks import fresh, minimum_rows, sql, unique
from dataflow.pipelines.spark.frames import ROWS, count_bad_rows
from dataflow.pipelines.spark.tasks import run_tasks, tag_of

NOWHERE = Destination("orders", "1", "1", 1, "partition")
ENDLESS = f"(select count(*) from {ROWS} a, {ROWS} b, {ROWS} c where a.n + b.n + c.n < 0) = 0"


@pytest.fixture
def frame(tmp_path: Path) -> Frame:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"n": pa.array(range(20_000), pa.int64())}), path)
    return Frame((str(path),), (("n", "bigint"),))


def test_an_sql_check_leaves_nothing_in_the_session(spark: SparkSession, frame: Frame) -> None:
    session = spark.newSession()
    assert count_bad_rows(session, sql("n < 19990"), frame)[0] == 10
    assert [table.name for table in session.catalog.listTables()] == []


def test_rows_that_fail_a_check_are_shown_with_unchanged_times(
    spark: SparkSession, tmp_path: Path, tokyo: None
) -> None:
    at = pa.array([datetime(2024, 1, 3, 9, 30, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"at": at, "name": ["é", None]}), tmp_path / "rows.parquet")
    columns = (("at", "timestamp with time zone"), ("name", "text"))
    frame = Frame((str(tmp_path / "rows.parquet"),), columns)
    session = spark.newSession()
    assert count_bad_rows(session, sql("at < '2024-01-01'"), frame) == (
        2,
        [
            '{"at": "2024-01-03 09:30:00+00:00", "name": "é"}',
            '{"at": "2024-01-03 09:30:00+00:00", "name": null}',
        ],
    )
    assert count_bad_rows(session, unique("at"), frame) == (2, ["2024-01-03 09:30:00+00:00"])


def test_a_skipped_check_is_not_reported_as_passed(tmp_path: Path) -> None:
    columns = (("at", "date"),)
    judgement = Judgement([fresh("at", "1 day"), minimum_rows(0)], fields_of(columns))
    target = LakeTarget(str(tmp_path / "_manifest.json"), NOWHERE, columns, lambda check, frame: (0, []))
    judgement.decide_checks(target, None, None)
    assert judgement.evidence == "1 check passed on 0 rows; 1 not checked: fresh(at, 86400.0)"


def test_the_spark_jobs_of_a_run_have_its_tag(spark: SparkSession) -> None:
    def find_tags(attempt: str) -> str:
        context = TaskContext.get()
        assert context is not None
        return context.getLocalProperty("spark.job.tags") or ""

    (tags,) = run_tasks(spark.newSession(), [find_tags], tag_of(7))
    assert "run-7" in tags


def test_an_sql_check_is_cancelled_with_its_session(spark: SparkSession, frame: Frame) -> None:
    session = spark.newSession()
    raised: list[Exception] = []

    def check() -> None:
        try:
            count_bad_rows(session, sql(ENDLESS), frame)
        except Exception as error:
            raised.append(error)

    checking = threading.Thread(target=check, daemon=True)
    checking.start()
    while checking.is_alive():
        session.interruptAll()
        checking.join(0.2)
    assert "cancel" in str(raised[0]).lower() or "interrupt" in str(raised[0]).lower()
