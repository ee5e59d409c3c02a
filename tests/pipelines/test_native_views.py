"""Views that PostgreSQL computes itself: what they may read, and how they are checked."""

from __future__ import annotations

import json
from typing import Any

import psycopg
import pytest

from dataflow.actions.make_ready import withdraw
from dataflow.errors import BadInput
from tests.pipelines.test_planning import plan, preview
from tests.pipelines.workshop import Workshop

PIPELINES = """
    from dataflow.pipelines.shape.checks import at_least, between, fresh, minimum_rows
    from dataflow.pipelines.declare.sources import files

    class OrdersDatasetPipeline:
        table_name = "orders"
        target_db = "datasets_db"
        source = files("orders.jsonl")
        field_mapping = [("id", "id", "bigint PRIMARY KEY"), ("at", "at", "timestamp with time zone")]

    class MonthViewPipeline:
        view_name = "month"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = "@monthly"
        start_date = datetime(2026, 9, 1)
        end_date = datetime(2026, 9, 1)
        catchup = True
        fields = [("id", "id"), ("at", "at")]
        # more
"""
DATASET, VIEW, DAY = "OrdersDatasetPipeline", "MonthViewPipeline", "2026-11-14"


@pytest.fixture
def orders(workshop: Workshop, postgres_url: str) -> Workshop:
    workshop.environ["DATAFLOW_CONN_DATASETS_DB"] = postgres_url
    fill(workshop, 4)
    workshop.write("orders.py", PIPELINES)
    assert workshop.run(DATASET, DAY).done == 1, workshop.said
    return workshop


def fill(workshop: Workshop, count: int) -> None:
    rows = [json.dumps({"id": number, "at": "2026-09-03T00:00:00Z"}) for number in range(count)]
    (workshop.path / "orders.jsonl").write_text("\n".join(rows) + "\n")


def change(workshop: Workshop, old: str, new: str) -> None:
    workshop.write("orders.py", PIPELINES.replace(old, new))


def ask(workshop: Workshop, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(workshop.environ["DATAFLOW_CONN_DATASETS_DB"]) as connection:
        return connection.execute(sql).fetchall()


def checked(workshop: Workshop, dataset: str) -> tuple[str, int | None]:
    (row,) = workshop.store.database.select(
        "SELECT c.checked, c.row_count FROM chunk c JOIN dataset d ON d.dataset_id = c.dataset_id "
        f"WHERE d.name = '{dataset}' AND c.version > 0"
    )[1]
    return row[0], row[1]


def test_sql_of_another_dialect_is_not_sent_to_the_database(orders: Workshop) -> None:
    change(orders, "# more", 'dialect = "spark"')
    outcome = orders.run(VIEW)
    assert "MonthViewPipeline.dialect is" in str(outcome.error)
    assert "pipelines/orders.py:11" in str(outcome.error)
    for look in (plan, preview):
        with pytest.raises(BadInput, match="dialect is"):
            look(orders, VIEW, "2026-09")


@pytest.mark.parametrize(
    "clause",
    [
        'join_clause = "join companies c on c.id = orders.id"',
        'where_clause = "exists (select 1 from public.orders)"',
        'where_clause = "id in (with companies as (select id from companies) select id from companies)"',
    ],
)
def test_a_table_that_is_not_one_of_its_datasets_is_not_read(orders: Workshop, clause: str) -> None:
    with psycopg.connect(orders.environ["DATAFLOW_CONN_DATASETS_DB"]) as connection:
        connection.execute("create table if not exists companies (id bigint)")
    change(orders, "# more", clause)
    with pytest.raises(BadInput, match=r"which dataset_pipeline does not list\. List everything it reads"):
        orders.run(VIEW)


def test_an_unknown_table_column_is_refused_before_anything_is_claimed(orders: Workshop) -> None:
    change(orders, '("id", "id")', '("idd", "id")')
    with pytest.raises(BadInput, match=r'11: MonthViewPipeline: column "idd" does not exist. .*"orders.id"'):
        orders.run(VIEW)
    assert [run.job for run in orders.store.read.list_runs()] == [DATASET]


def test_a_column_may_be_of_a_type_that_only_the_database_has(orders: Workshop) -> None:
    change(
        orders, '("at", "at")]\n        # more', '("at - at", "span"), ("at::time", "hour")]\n        # more'
    )
    assert orders.run(VIEW).done == 1, orders.said
    assert len(ask(orders, "select span, hour from month_2026_09_01")) == 4
    text = '("at - at", "span")]\n        checks = [between("span", 1, 2)]'
    change(orders, '("at", "at")]\n        # more', text)
    orders.resubmit(VIEW, "2026-09")
    assert "cannot be used with a column of type interval" in str(orders.run(VIEW).error)


def test_a_version_still_in_the_database_must_be_published_again(orders: Workshop) -> None:
    change(orders, 'target_db = "datasets_db"', 'target_db = "lake"')
    told = str(orders.run(VIEW).error)
    assert "MonthViewPipeline reads orders from a lake, but its last version is at postgresql://" in told
    command = f"dataflow resubmit {DATASET} {DAY} && dataflow run {DATASET}"
    assert told.endswith(f"before target_db was changed. Publish it again first: {command}")
    orders.resubmit(DATASET, DAY)
    orders.resubmit(VIEW, "2026-09")
    assert orders.run(DATASET).done == 1, orders.said
    assert orders.run(VIEW).done == 1, orders.said


def test_a_view_that_shrinks_is_not_published_if_a_check_forbids_it(orders: Workshop) -> None:
    change(orders, "# more", "checks = [at_least(0.9)]")
    assert orders.run(VIEW).done == 1, orders.said
    change(orders, "# more", "checks = [at_least(0.9)]\n        where_clause = 'id < 2'")
    orders.resubmit(VIEW, "2026-09")
    assert "2 rows, the last version has 4" in str(orders.run(VIEW).error)
    assert ask(orders, "select count(*) from month_2026_09_01") == [(4,)]


def test_the_evidence_lists_warnings_separately_from_passed_checks(orders: Workshop) -> None:
    change(orders, "# more", 'checks = [minimum_rows(1), minimum_rows(9, severity="warning")]')
    assert orders.run(VIEW).done == 1, orders.said
    evidence, rows = checked(orders, "month")
    assert evidence == "1 check passed on 4 rows; 1 warned: minimum_rows(9)"
    assert rows == 4


def test_a_plain_view_has_no_rows_to_count_and_none_to_check(orders: Workshop) -> None:
    change(orders, "# more", "materialized = False")
    assert orders.run(VIEW).done == 1, orders.said
    assert checked(orders, "month")[1] is None
    change(orders, "# more", "materialized = False\n        checks = [minimum_rows(1)]")
    (problem,) = orders.catalog().problems
    assert "pipelines/orders.py:11: MonthViewPipeline.checks need rows" in problem


def test_a_view_of_a_partition_table_is_stale_when_an_older_partition_changes(orders: Workshop) -> None:
    text = PIPELINES.replace('target_db = "d', 'mode = "partition"\n        target_db = "d')
    orders.write("orders.py", text.replace('"orders"', '"parts"').replace('"month"', '"part_month"'))
    for day in ("2026-09-30", "2026-10-01"):
        assert orders.run(DATASET, day).done == 1, orders.said
    assert orders.run(VIEW).done == 1, orders.said
    orders.resubmit(DATASET, "2026-09-30")
    assert orders.run(DATASET, "2026-09-30").done == 1, orders.said
    assert orders.chunk("part_month", "2026-09").status == "STALE"


def test_a_view_of_a_partition_table_leaves_out_withdrawn_dataids(orders: Workshop) -> None:
    text = PIPELINES.replace('target_db = "d', 'mode = "partition"\n        target_db = "d')
    orders.write("orders.py", text.replace('"orders"', '"parts"').replace('"month"', '"part_month"'))
    for day in ("2026-09-30", "2026-10-01"):
        assert orders.run(DATASET, day).done == 1, orders.said
    assert orders.run(VIEW).done == 1, orders.said
    rows = ask(orders, "select count(*) from part_month_2026_09_01")[0][0]
    withdraw(orders.store, "parts", ["2026-09-30"])
    orders.resubmit(VIEW, "2026-09")
    assert orders.run(VIEW, "2026-09").done == 1, orders.said
    assert ask(orders, "select count(*) * 2 from part_month_2026_09_01") == [(rows,)]


def test_a_view_reads_only_the_partitions_of_its_interval(orders: Workshop) -> None:
    text = PIPELINES.replace('target_db = "d', 'mode = "partition"\n        target_db = "d')
    text = text.replace('"orders"', '"parts"').replace('"month"', '"part_month"')
    reads = 'view_name = "part_month"\n        reads = {"parts": "within at_least 1"}'
    orders.write("orders.py", text.replace('view_name = "part_month"', reads))
    for day in ("2026-09-30", "2026-10-01"):
        assert orders.run(DATASET, day).done == 1, orders.said
    assert orders.run(VIEW).done == 1, orders.said
    both = ask(orders, "select count(*) from parts")[0][0]
    assert ask(orders, "select count(*) * 2 from part_month_2026_09_01") == [(both,)]
    orders.resubmit(DATASET, "2026-10-01")
    assert orders.run(DATASET, "2026-10-01").done == 1, orders.said
    assert orders.chunk("part_month", "2026-09").status == "READY"
