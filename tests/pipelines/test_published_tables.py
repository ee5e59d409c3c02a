"""Datasets that are published in PostgreSQL, read by queries and by Python jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from dataflow.cli.main import main
from dataflow.errors import BadInput, Conflict, DataFlowError
from dataflow.pipelines.show.query import ask, fetch_tables, read_question
from tests.pipelines.test_lake_commands import environment
from tests.pipelines.workshop import Workshop

PIPELINES = """
    import dataflow
    from dataflow.pipelines.declare.sources import files

    class OrdersDatasetPipeline:
        table_name = "orders"
        target_db = "datasets_db"
        source = files("orders-{dataid}.jsonl")
        field_mapping = [
            ("id", "id", "bigint PRIMARY KEY"),
            ("at", "at", "timestamp with time zone"),
            ("key", "key", "uuid"),
            ("amount", "amount", "numeric(38,10)"),
            ("bare", "bare", "numeric"),
            ("tags", "tags", "text []"),
            ("sizes", "sizes", "integer []"),
            ("extra", "extra", "jsonb"),
            ("day", "day", "date"),
        ]
        # more

    class MonthViewPipeline:
        view_name = "month"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = "@monthly"
        start_date = datetime(2026, 9, 1)
        end_date = datetime(2026, 10, 1)
        catchup = True
        fields = [("id", "id"), ("at", "at"), ("bare / 3", "third")]
        where_clause = "to_char(at, 'YYYY-MM') = to_char(date '{{ ds }}', 'YYYY-MM')"
        # view

    @dataflow.job(inputs=["orders"], outputs=["copies"])
    def copy_orders(run):
        run.write("copies", run.read("orders").unionByName(run.read("orders")).distinct())
"""
DATASET, VIEW, DAY, NEXT = "OrdersDatasetPipeline", "MonthViewPipeline", "2026-11-14", "2026-11-15"


@pytest.fixture
def orders(workshop: Workshop, postgres_url: str) -> Workshop:
    workshop.environ["DATAFLOW_CONN_DATASETS_DB"] = postgres_url
    workshop.write("orders.py", PIPELINES)
    fill(workshop, DAY, 3)
    fill(workshop, NEXT, 2)
    return workshop


def fill(workshop: Workshop, day: str, count: int) -> None:
    rows = [
        {
            "id": number,
            "at": f"2026-{9 + number % 2:02}-30T22:30:00.5-01:00",
            "key": f"0000000A-0000-0000-0000-00000000000{number}",
            "amount": "1234567890123456789012345678.0123456789",
            "bare": f"{number}.5",
            "tags": ["a,b", None, ""],
            "sizes": [number, None],
            "extra": {"n": number},
            "day": "2024-02-29",
        }
        for number in range(count)
    ]
    (workshop.path / f"orders-{day}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")


def change(workshop: Workshop, old: str, new: str) -> None:
    workshop.write("orders.py", PIPELINES.replace(old, new))


def query(workshop: Workshop, sql: str) -> list[tuple[Any, ...]]:
    question = read_question(workshop.store, sql, str(workshop.path))
    fetched = fetch_tables(question, workshop.settings(), str(workshop.path / "fetched"))
    return ask(workshop.spark, question, 1000, fetched).rows


def execute(workshop: Workshop, sql: str) -> None:
    with psycopg.connect(workshop.environ["DATAFLOW_CONN_DATASETS_DB"]) as connection:
        connection.execute(sql)


def test_a_query_reads_a_table_in_the_types_of_its_mapping(orders: Workshop) -> None:
    assert orders.run(DATASET, DAY).done == 1, orders.said
    (row,) = query(orders, "select * from orders where id = 1")
    assert (row[0], row[1].isoformat()) == (1, "2026-10-30T23:30:00.500000+00:00")
    assert row[2] == "0000000a-0000-0000-0000-000000000001"
    assert row[3:5] == (Decimal("1234567890123456789012345678.0123456789"), Decimal("1.5"))
    assert row[5:8] == (["a,b", None, ""], [1, None], '{"n": 1}')
    assert (row[8].isoformat(), len(row)) == ("2024-02-29", 9)
    types = "select typeof(amount), typeof(bare), typeof(sizes), typeof(at) from orders limit 1"
    assert query(orders, types) == [("decimal(38,10)", "decimal(38,18)", "array<int>", "timestamp")]


def test_a_query_joins_a_table_with_the_lake_and_opens_only_the_datasets_it_names(orders: Workshop) -> None:
    orders.run(DATASET, DAY)
    assert orders.run("copy_orders").done == 1, orders.said
    sql = "select count(*), sum(o.amount - c.amount) from orders o join copies c on c.id = o.id"
    assert query(orders, sql) == [(3, Decimal(0))]
    execute(orders, "drop table orders")
    assert query(orders, "select count(*) from copies") == [(3,)]
    with pytest.raises(
        Conflict, match=r"Table public.orders is gone, in which run \d+ published orders/2026-11-14"
    ):
        query(orders, "select * from orders")


def test_a_table_that_changed_is_reported_and_not_read(orders: Workshop) -> None:
    orders.run(DATASET, DAY)
    execute(orders, "update dataflow_ledger set run_id = 99, fence = 99")
    with pytest.raises(
        Conflict, match=r"orders holds what run 99 published for 2026-11-14, not what run 1 .*again"
    ):
        query(orders, "select * from orders")
    outcome = orders.run("copy_orders")
    assert "holds what run 99 published for 2026-11-14, not what run 1" in str(outcome.error)
    plan = orders.store.find_plan("copy_orders")
    assert plan is not None
    work = orders.store.read.find_work(plan.job_id, DAY)
    assert work is not None and (work.state, work.attempts) == ("WAITING", 0)
    execute(orders, "update dataflow_ledger set run_id = 1")
    execute(orders, "update dataflow_ledger set store_id = 'another'")
    with pytest.raises(Conflict, match="holds nothing published for 2026-11-14"):
        query(orders, "select * from orders")


def test_a_newer_snapshot_that_is_published_but_not_finished_is_not_read(orders: Workshop) -> None:
    orders.run(DATASET, DAY)
    execute(
        orders,
        "insert into dataflow_ledger (table_name, dataid, dataset, store_id, sort_key, fence, run_id) "
        "select table_name, '2026-11-16', dataset, store_id, sort_key || 'x', 7, 7 from dataflow_ledger",
    )
    with pytest.raises(
        Conflict, match="holds what run 7 published for 2026-11-16, not what run 1 published for"
    ):
        query(orders, "select * from orders")


@pytest.mark.parametrize("column", ["dataid", "part"])
def test_only_ready_dataids_of_a_partition_table_are_read(orders: Workshop, column: str) -> None:
    change(orders, "# more", f'mode = "partition"; partition_column = "{column}"')
    for day in (DAY, NEXT):
        assert orders.run(DATASET, day).done == 1, orders.said
    sql = "select dataid, count(*), max(id) from orders group by dataid order by dataid"
    assert query(orders, sql) == [(DAY, 3, 2), (NEXT, 2, 1)]
    assert query(orders, "select * from orders limit 1")[0][9] in (DAY, NEXT)
    assert orders.run("copy_orders", drain=True).done == 2, orders.said
    assert (len(orders.rows("copies", DAY)), len(orders.rows("copies", NEXT))) == (3, 2)
    assert "dataid" not in orders.rows("copies", DAY)[0]
    withdraw(orders, DAY)
    assert query(orders, sql) == [(NEXT, 2, 1)]


def withdraw(workshop: Workshop, dataid: str) -> None:
    found = workshop.store.find_dataset("orders")
    assert found is not None
    workshop.store.withdraw(found[0], "orders", [(dataid, dataid)], "wrong")


def test_merged_rows_are_those_of_the_whole_table(orders: Workshop) -> None:
    change(orders, "# more", 'mode = "partition"; write = "merge"')
    for day in (DAY, NEXT):
        assert orders.run(DATASET, day).done == 1, orders.said
    assert query(orders, "select count(*), count(distinct id) from orders") == [(3, 3)]
    assert len(query(orders, "select * from orders")[0]) == 9
    assert "is no longer in its table" in str(orders.run("copy_orders", DAY).error)
    assert orders.run("copy_orders", NEXT).done == 1, orders.said
    assert len(orders.rows("copies", NEXT)) == 3


@pytest.mark.parametrize("materialized", [True, False])
def test_the_intervals_of_a_view_are_read_as_one_dataset(orders: Workshop, materialized: bool) -> None:
    change(orders, "# view", f"materialized = {materialized}")
    orders.run(DATASET, DAY)
    assert orders.run(VIEW, drain=True).done == 2, orders.said
    sql = "select id, dataid, third, typeof(third) from month order by id"
    third = Decimal("0.16666666666666666667")
    assert query(orders, sql)[0] == (0, "2026-09", third, "decimal(38,20)")
    assert [row[:2] for row in query(orders, sql)] == [(0, "2026-09"), (1, "2026-10"), (2, "2026-09")]


def test_a_numeric_with_more_digits_than_spark_has_comes_as_text(orders: Workshop) -> None:
    change(orders, "bare / 3", "bare + 1e-50")
    orders.run(DATASET, DAY)
    assert orders.run(VIEW, "2026-10").done == 1, orders.said
    assert query(orders, "select third from month") == [("1.5" + "0" * 48 + "1",)]


def test_a_table_is_read_consistently_while_it_is_swapped(orders: Workshop) -> None:
    change(orders, "# more", 'write = "swap"')
    orders.run(DATASET, DAY)
    held = psycopg.connect(orders.environ["DATAFLOW_CONN_DATASETS_DB"])
    held.execute("lock table orders in access exclusive mode")
    held.execute("create table twin (like orders); insert into twin select * from orders limit 2")
    held.execute("drop table orders; alter table twin rename to orders")
    found: list[Any] = []

    def read() -> None:
        try:
            found.append(query(orders, "select count(*) from orders"))
        except DataFlowError as error:
            found.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    waiting = "select 1 from pg_locks where not granted and database = (select oid from pg_database where "
    with psycopg.connect(orders.environ["DATAFLOW_CONN_DATASETS_DB"], autocommit=True) as watcher:
        while reader.is_alive() and not watcher.execute(waiting + "datname = current_database())").fetchone():
            reader.join(0.05)
    held.commit()
    held.close()
    reader.join()
    assert found == [[(2,)]]


def test_a_job_fails_if_its_snapshot_was_replaced_permanently(orders: Workshop) -> None:
    for day in (DAY, NEXT):
        assert orders.run(DATASET, day).done == 1, orders.said
    outcome = orders.run("copy_orders", DAY)
    assert isinstance(outcome.error, BadInput)
    assert "orders/2026-11-14 is no longer in its table, which holds 2026-11-15 now" in str(outcome.error)
    assert orders.run("copy_orders", NEXT).done == 1, orders.said
    assert len(orders.rows("copies", NEXT)) == 2
    left = [files for _, _, files in os.walk(orders.path / ".dataflow" / "staging") if files]
    assert left == []


def test_the_query_command_leaves_no_rows_behind_and_shows_no_password(
    orders: Workshop, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    orders.run(DATASET, DAY)
    monkeypatch.chdir(orders.path)
    environ = environment() | {"DATAFLOW_CONN_DATASETS_DB": orders.environ["DATAFLOW_CONN_DATASETS_DB"]}
    command = [
        sys.executable,
        "-m",
        "dataflow.cli.main",
        "query",
        "--json",
        "select max(id) as id from orders",
    ]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=False)
    assert (json.loads(done.stdout), done.stderr) == ([{"id": 2}], "")
    assert list((orders.path / ".dataflow" / "staging" / ".query").iterdir()) == []
    monkeypatch.setenv("DATAFLOW_CONN_DATASETS_DB", "postgresql://etl:sesame@127.0.0.1:1/none")
    assert main(["query", "select * from orders"]) == 69
    said = capsys.readouterr().err
    assert "Connection datasets_db does not answer" in said and "sesame" not in said


def test_files_left_by_a_killed_query_are_purged(orders: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    orders.register()
    left = orders.path / ".dataflow" / "staging" / ".query" / "tmpx1" / "4711"
    left.mkdir(parents=True)
    monkeypatch.chdir(orders.path)
    assert main(["purge", "--older-than", "0s", "--yes"]) == 0
    assert not left.exists()
