"""A run that has lost its lease stops its Spark jobs within seconds and never publishes."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import psutil
import psycopg
import pytest
from pyspark.sql import SparkSession

from dataflow.errors import LeaseLost
from dataflow.pipelines.postgres.writer import COPY_SLOTS
from tests.pipelines.api_server import ApiServer
from tests.pipelines.workshop import Workshop
from tests.project import Project
from tests.runjob.claimant import wait_until

PIPELINES = """
    # A task in here looks up from its work once in minutes, and does not hear that its job is cancelled.
    SLOW = "md5(a.name || b.name || c.name || d.name) = ''"

    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        target_db = constants.TARGET
        field_mapping = [("id", "order_id", "bigint PRIMARY KEY"), ("name", "name", "text")]

    class PairsViewPipeline:
        view_name = "pairs"
        dataset_pipeline = OrdersDatasetPipeline
        start_date = datetime(2026, 10, 1)
        end_date = datetime(2026, 10, 1)
        catchup = True
        schedule_interval = "@monthly"
        query = "select a.order_id from orders a, orders b, orders c, orders d where " + SLOW
"""
DAY = "2026-11-14"
SOON_SECONDS = 45
"""Seconds on an idle machine."""


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer([{"id": number, "name": f"order {number}"} for number in range(200)]) as server:
        yield server


@pytest.fixture
def orders(workshop: Workshop, api: ApiServer, postgres_url: str) -> Workshop:
    workshop.environ |= {"API": api.origin, "DATAFLOW_CONN_DATASETS_DB": postgres_url, "TARGET": "lake"}
    workshop.environ.pop("HAWK_ID")
    workshop.write("orders.py", PIPELINES)
    return workshop


def run_and_cancel(
    orders: Workshop,
    job: str,
    dataid: str | None,
    is_at_work: Callable[[], object],
    afterwards: Callable[[], None] = lambda: None,
) -> Any:
    """Starts a run, cancels it as an operator would once it is working, and returns its outcome."""
    outcomes: list[Any] = []
    thread = threading.Thread(target=lambda: outcomes.append(orders.run(job, dataid)))
    thread.start()
    wait_until(is_at_work)
    [run] = orders.store.read.list_runs(10, outcome="RUNNING")
    orders.store.cancel(run.run_id, "a test wants it")
    afterwards()
    thread.join(SOON_SECONDS)
    assert not thread.is_alive()
    return outcomes[0]


def list_jobs(spark: SparkSession) -> list[int]:
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


def refuse_stragglers(spark: SparkSession) -> None:
    """Fails if tasks continue: a job disappears at once, but a task keeps its slot until it has ended."""
    assert list_jobs(spark) == []
    began_at = time.monotonic()
    assert spark.range(0, 2, 1, 2).count() == 2  # both slots
    assert time.monotonic() - began_at < SOON_SECONDS


def test_a_cancelled_dataset_run_stops_its_spark_jobs_and_publishes_nothing(
    orders: Workshop, spark: SparkSession
) -> None:
    orders.environ |= {"TARGET": "datasets_db", "INGEST_TASK_CONCURRENCY": "2"}
    waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted"
    with psycopg.connect(orders.environ["DATAFLOW_CONN_DATASETS_DB"], autocommit=True) as database:
        for slot in range(2):  # all slots: each COPY waits for one
            database.execute("select pg_advisory_lock(%s, %s)", (COPY_SLOTS, slot))
        outcome = run_and_cancel(
            orders, "OrdersDatasetPipeline", DAY, lambda: database.execute(waiting).fetchone()
        )
        assert isinstance(outcome.error, LeaseLost)
        refuse_stragglers(spark)
        assert database.execute("select to_regclass('orders')").fetchone() == (None,)


def test_a_run_cancelled_while_its_publish_waits_for_a_lock_publishes_nothing(
    orders: Workshop,
) -> None:
    orders.environ["TARGET"] = "datasets_db"
    assert orders.run("OrdersDatasetPipeline", "2026-11-13").done == 1
    waiting = "select 1 from pg_locks where relation = 'orders'::regclass and not granted"
    url = orders.environ["DATAFLOW_CONN_DATASETS_DB"]
    with psycopg.connect(url) as holder, psycopg.connect(url, autocommit=True) as database:
        holder.execute("lock table orders in share mode")
        outcome = run_and_cancel(
            orders,
            "OrdersDatasetPipeline",
            DAY,
            lambda: database.execute(waiting).fetchone(),
            holder.rollback,
        )
        assert isinstance(outcome.error, LeaseLost)
        published = "select dataid from dataflow_ledger where run_id is not null"
        assert database.execute(published).fetchall() == [("2026-11-13",)]


def test_a_cancelled_view_run_stops_its_database_query_and_publishes_nothing(orders: Workshop) -> None:
    orders.environ["TARGET"] = "datasets_db"
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1
    active = "select 1 from pg_stat_activity where state = 'active' and query ilike 'insert into%md5(%'"
    with psycopg.connect(orders.environ["DATAFLOW_CONN_DATASETS_DB"], autocommit=True) as database:
        outcome = run_and_cancel(
            orders, "PairsViewPipeline", None, lambda: database.execute(active).fetchone()
        )
        assert isinstance(outcome.error, LeaseLost)
        assert database.execute(active).fetchone() is None
        assert database.execute("select to_regclass('pairs_2026_10_01')").fetchone() == (None,)


def test_a_cancelled_view_run_stops_its_spark_jobs_and_publishes_nothing(orders: Workshop) -> None:
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1
    process = Project(orders.path, orders.path).start(
        "dataflow", "run", "PairsViewPipeline", env=orders.environ
    )
    try:
        wait_until(lambda: has_task(process.pid))
        family = psutil.Process(process.pid).children(recursive=True)
        [run] = orders.store.read.list_runs(10, outcome="RUNNING")
        orders.store.cancel(run.run_id, "a test wants it")
        assert process.wait(SOON_SECONDS) == LeaseLost.exit_code
    finally:
        process.kill()
        process.wait()
    assert psutil.wait_procs(family, SOON_SECONDS)[1] == []
    assert orders.chunk("pairs", "2026-10").status == "FAILED"


@pytest.mark.parametrize("target", ["datasets_db", "lake"])
def test_a_run_that_sleeps_past_its_lease_publishes_nothing_when_it_wakes(
    orders: Workshop, target: str
) -> None:
    orders.environ["TARGET"] = target
    env = orders.environ | {"DATAFLOW_FAILPOINT": "after_stage:stop"}
    old = Project(orders.path, orders.path).start(
        "dataflow", "run", "OrdersDatasetPipeline", "--dataid", DAY, env=env
    )
    try:
        wait_until(lambda: is_stopped(old.pid))
        orders.let_the_lease_lapse()
        assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
        before = orders.chunk("orders", DAY), list_published(orders, target)
        os.kill(old.pid, signal.SIGCONT)
        assert old.wait(SOON_SECONDS * 2) == LeaseLost.exit_code
    finally:
        old.kill()
        old.wait()
    assert (orders.chunk("orders", DAY), list_published(orders, target)) == before


def list_published(orders: Workshop, target: str) -> list[Any]:
    """The rows; those of a table with the transaction that wrote them."""
    if target == "lake":
        return orders.rows("orders", DAY)
    with psycopg.connect(orders.environ["DATAFLOW_CONN_DATASETS_DB"]) as database:
        rows = database.execute("select xmin::text, order_id from orders order by order_id").fetchall()
    assert len(rows) == 200
    return rows


def has_task(pid: int) -> bool:
    """True if the Spark of a process runs one of our tasks: only those have Python beside Java."""
    try:
        family = psutil.Process(pid).children(recursive=True)
        return any("pyspark.daemon" in (member.as_dict(["cmdline"])["cmdline"] or ()) for member in family)
    except psutil.NoSuchProcess:  # one of the many short-lived processes that start Java
        return False


def is_stopped(pid: int) -> bool:
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0] == "T"
