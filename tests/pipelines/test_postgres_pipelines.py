"""Dataset and view pipelines into PostgreSQL: staged by COPY, published in one transaction."""

from __future__ import annotations

import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from pyspark.sql import SparkSession

from dataflow.errors import Conflict, InvalidData, Superseded
from dataflow.pipelines.run.targets import take_tables_over
from tests.pipelines.api_server import ApiServer
from tests.pipelines.workshop import Workshop
from tests.project import Project

PIPELINES = """
    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        target_db = "datasets_db"
        field_mapping = [
            ("id", "order_id", "uuid PRIMARY KEY"),
            ("amount", "amount", "numeric(12,2)"),
            ("completed_on", "completion_date", "timestamp with time zone"),
            ("tags", "tags", "text []"),
            ("extra", "extra", "jsonb"),
        ]
        indexes = ["completion_date"]
        comment = "All orders"

    class CompletedOrdersViewPipeline:
        view_name = "completed_orders"
        dataset_pipeline = OrdersDatasetPipeline
        start_date = datetime(2026, 9, 1)
        end_date = datetime(2026, 10, 1)
        catchup = True
        fields = [("amount / 3", "Third"), ("tags[1]", "First Tag")]
        where_clause = "date_trunc('month', completion_date)::DATE = to_date('{{ ds }}', 'YYYY-MM-DD');"
        schedule_interval = "@monthly"
"""
DAY = "2026-11-14"


def make_rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": str(UUID(int=number)),
            "amount": f"{number}.10",
            "completed_on": f"2026-{9 + number % 2:02}-30T22:30:00-01:00",
            "tags": [f"tag {number}", None],
            "extra": {"n": number},
        }
        for number in range(count)
    ]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(make_rows(60), page_size=7) as server:
        yield server


@pytest.fixture
def orders(workshop: Workshop, api: ApiServer, postgres_url: str) -> Workshop:
    workshop.environ |= {"API": api.origin, "AIRFLOW_CONN_DATASETS_DB": postgres_url}
    workshop.environ.pop("HAWK_ID")
    workshop.write("orders.py", PIPELINES)
    return workshop


def ask(orders: Workshop, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(orders.environ["AIRFLOW_CONN_DATASETS_DB"]) as connection:
        connection.execute("set timezone to 'UTC'")
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else []


def test_a_table_is_created_filled_and_indexed(orders: Workshop) -> None:
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    assert ask(orders, "select count(*), count(distinct order_id) from orders") == [(60, 60)]
    row = ask(
        orders, "select order_id, amount, tags, extra, completion_date::text from orders where amount = 3.1"
    )
    tags = ["tag 3", None]
    assert row == [(UUID(int=3), Decimal("3.10"), tags, {"n": 3}, "2026-10-30 23:30:00+00")]
    assert ask(orders, "select obj_description('orders'::regclass)") == [("All orders",)]
    assert ask(orders, "select count(*) from pg_indexes where tablename = 'orders'") == [(2,)]
    assert ask(orders, "select count(*) from pg_tables where schemaname = 'dataflow_staging'") == [(0,)]


def test_a_newer_snapshot_replaces_the_rows_and_an_older_one_is_refused(
    orders: Workshop, api: ApiServer
) -> None:
    orders.run("OrdersDatasetPipeline", "2026-11-13")
    api.rows = make_rows(40)
    api._bodies.clear()
    orders.run("OrdersDatasetPipeline", DAY)
    assert ask(orders, "select count(*) from orders") == [(40,)]
    outcome = orders.run("OrdersDatasetPipeline", "2026-11-12")
    assert "the older 2026-11-12 does not replace it" in str(outcome.error)
    assert ask(orders, "select count(*) from orders") == [(40,)]


def test_an_older_snapshot_is_refused_after_the_ledger_was_dropped_until_the_newest_is_published_again(
    orders: Workshop, api: ApiServer
) -> None:
    orders.run("OrdersDatasetPipeline", DAY)
    ask(orders, "drop table dataflow_ledger")
    outcome = orders.run("OrdersDatasetPipeline", "2026-11-12")
    assert isinstance(outcome.error, Conflict)
    assert f"publish {DAY} again: dataflow resubmit OrdersDatasetPipeline {DAY};" in str(outcome.error)
    orders.resubmit("OrdersDatasetPipeline", DAY)
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    orders.resubmit("OrdersDatasetPipeline", "2026-11-12")
    assert isinstance(orders.run("OrdersDatasetPipeline", "2026-11-12").error, Superseded)


def test_a_duplicate_key_publishes_nothing(orders: Workshop, api: ApiServer) -> None:
    orders.run("OrdersDatasetPipeline", "2026-11-13")
    api.rows = [*make_rows(60), make_rows(1)[0]]
    api._bodies.clear()
    outcome = orders.run("OrdersDatasetPipeline", DAY)
    assert isinstance(outcome.error, InvalidData)
    assert "(order_id)=(00000000-0000-0000-0000-000000000000)" in str(outcome.error)
    assert orders.chunk("orders", DAY).status == "INVALID"
    assert ask(orders, "select count(*) from orders") == [(60,)]


def test_rows_refused_by_the_table_are_fetched_again_once_the_source_is_fixed(
    orders: Workshop, api: ApiServer
) -> None:
    api.rows = [*make_rows(60), make_rows(1)[0]]
    assert isinstance(orders.run("OrdersDatasetPipeline", DAY).error, InvalidData)
    api.rows = make_rows(60)
    api._bodies.clear()
    orders.resubmit("OrdersDatasetPipeline", DAY)
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    assert ask(orders, "select count(*) from orders") == [(60,)]


def test_a_new_store_writes_to_an_existing_table_only_after_a_takeover(
    orders: Workshop, api: ApiServer, tmp_path: Path, spark: SparkSession
) -> None:
    orders.run("OrdersDatasetPipeline", DAY)
    recreated = Workshop(tmp_path / "recreated", spark)
    recreated.environ = orders.environ
    recreated.write("orders.py", PIPELINES)
    assert "dataflow pipeline takeover OrdersDatasetPipeline" in str(
        recreated.run("OrdersDatasetPipeline", DAY).error
    )
    asked = len(api.seen)
    definition = recreated.catalog().get("OrdersDatasetPipeline")
    assert take_tables_over(recreated.store, definition, recreated.settings()) == 1
    assert take_tables_over(recreated.store, definition, recreated.settings()) == 0
    recreated.resubmit("OrdersDatasetPipeline", DAY)
    assert recreated.run("OrdersDatasetPipeline", DAY).done == 1, recreated.said
    assert len(api.seen) > asked
    assert recreated.run("CompletedOrdersViewPipeline", "2026-09").done == 1, recreated.said
    assert "takeover" in str(orders.run("OrdersDatasetPipeline", "2026-11-15").error)


def test_a_view_of_a_table_that_is_published_but_not_finished_waits_for_it(orders: Workshop) -> None:
    orders.run("OrdersDatasetPipeline", DAY)
    published = ask(orders, "select run_id from dataflow_ledger")
    ask(orders, "update dataflow_ledger set run_id = 99 returning 1")
    outcome = orders.run("CompletedOrdersViewPipeline", "2026-09")
    assert "orders holds what run 99 published" in str(outcome.error)
    plan = orders.store.find_plan("CompletedOrdersViewPipeline")
    assert plan is not None
    work = orders.store.read.find_work(plan.job_id, "2026-09")
    assert work is not None and (work.state, work.attempts) == ("WAITING", 0)
    ask(orders, f"update dataflow_ledger set run_id = {published[0][0]} returning 1")
    while not orders.run("CompletedOrdersViewPipeline", "2026-09").done:
        time.sleep(0.5)  # its first wait is five seconds


def test_the_database_runs_sql_and_uniqueness_checks(orders: Workshop) -> None:
    checks = "        checks = [sql('amount < 59'), unique('completion_date')]\n        indexes"
    imports = "    from dataflow.pipelines.shape.checks import sql, unique\n"
    orders.write("orders.py", imports + PIPELINES.replace("        indexes", checks))
    outcome = orders.run("OrdersDatasetPipeline", DAY)
    assert "sql(amount < 59): 1 row is false" in str(outcome.error)
    assert "unique(completion_date): 60 rows are not unique" in str(outcome.error)


def test_each_interval_of_a_view_has_its_own_table(orders: Workshop) -> None:
    orders.run("OrdersDatasetPipeline", DAY)
    assert orders.run("CompletedOrdersViewPipeline", drain=True).done == 2, orders.said
    for month, remainder in (("09", 0), ("10", 1)):
        found = ask(orders, f'select "Third", "First Tag" from completed_orders_2026_{month}_01 order by 2')
        wanted = ask(
            orders, f"select amount / 3, tags[1] from orders where amount::int % 2 = {remainder} order by 2"
        )
        assert found == wanted
        assert len(found) == 30


def test_a_view_that_is_not_materialized_is_a_database_view(orders: Workshop) -> None:
    orders.write(
        "orders.py",
        PIPELINES.replace(
            '        schedule_interval = "@monthly"',
            '        schedule_interval = "@monthly"\n        materialized = False',
        ),
    )
    orders.run("OrdersDatasetPipeline", DAY)
    assert orders.run("CompletedOrdersViewPipeline", drain=True).done == 2, orders.said
    assert ask(orders, "select count(*) from pg_views where viewname like 'completed_orders_2026%'") == [(2,)]
    assert ask(orders, "select count(*) from completed_orders_2026_09_01") == [(30,)]
    for dataid in ([], ["2026-09"]):
        told = Project(orders.path, orders.path).run(
            "dataflow", "locate", "completed_orders", *dataid, check=False
        )
        name, where = ("2026_09_01", "2026-09") if dataid else ("2026_10_01", "2026-10")
        assert "(connection datasets_db), where each interval is a table or view of its own" in told.stderr
        assert f"public.completed_orders_{name} is that of {where}." in told.stderr


def test_rejects_go_to_their_own_table_until_the_next_successful_run(
    orders: Workshop, api: ApiServer
) -> None:
    orders.write(
        "orders.py",
        PIPELINES.replace('        comment = "All orders"', '        rejects = {"quarantine": 5}'),
    )
    api.rows[3]["amount"] = "much"
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    assert ask(orders, "select count(*) from orders") == [(59,)]
    rejects = "select dataid, part, row_number, field, value from orders_rejects"
    assert ask(orders, rejects) == [(DAY, 1, 4, "amount", "much")]
    [(row,)] = ask(orders, "select source_row::jsonb from orders_rejects")
    assert (row["id"], row["amount"]) == (api.rows[3]["id"], "much")
    told = "1 of 60 rows rejected; it is in table public.orders_rejects of datasets_db"
    assert told in orders.said[-1]
    shown = Project(orders.path, orders.path).run("dataflow", "versions", "orders", DAY)
    assert "postgresql://datasets_db/public.orders" in shown.stdout
    assert "not on this machine" not in shown.stderr
    api.rows = make_rows(60)
    api._bodies.clear()
    orders.resubmit("OrdersDatasetPipeline", DAY)
    assert orders.run("OrdersDatasetPipeline", DAY).done == 1, orders.said
    assert ask(orders, rejects) == []


FROM_TABLE = """
    from dataflow.pipelines.declare.sources import table

    class NumbersDatasetPipeline:
        table_name = "numbers"
        source = table("warehouse", constants.NAME, query=constants.QUERY)
        field_mapping = [("id", "number", "bigint PRIMARY KEY"), ("name", "name", "text")]
"""


@pytest.mark.parametrize(("name", "select"), [("things", ""), ("", "select id, name from things")])
def test_a_table_or_a_query_is_read_into_the_lake(
    workshop: Workshop, postgres_url: str, name: str, select: str
) -> None:
    with psycopg.connect(postgres_url) as database:
        database.execute("create table things as select id, 'n' || id as name from generate_series(1, 20) id")
    workshop.environ |= {"DATAFLOW_CONN_WAREHOUSE": postgres_url, "NAME": name, "QUERY": select}
    workshop.write("numbers.py", FROM_TABLE)
    assert workshop.run("NumbersDatasetPipeline", DAY).done == 1, workshop.said
    rows = workshop.rows("numbers", DAY)
    assert sorted((row["number"], row["name"]) for row in rows) == [(n, f"n{n}") for n in range(1, 21)]
    assert not list((workshop.path / ".dataflow" / "staging").rglob("*.parquet"))
