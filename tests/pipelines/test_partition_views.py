"""Views over datasets of mode `partition` in the lake read all chunks."""

from __future__ import annotations

import json

import pytest

from tests.pipelines.test_planning import plan, preview
from tests.pipelines.workshop import Workshop

PIPELINES = """
    from dataflow.pipelines.declare.sources import files

    class OrdersDatasetPipeline:
        table_name = "orders"
        mode = "partition"
        source = files("{dataid}.jsonl")
        field_mapping = [("id", "id", "bigint PRIMARY KEY"), ("day", "day", "date")]

    class MonthViewPipeline:
        view_name = "month"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = "@monthly"
        start_date = datetime(2026, 8, 1)
        end_date = datetime(2026, 8, 1)
        catchup = True
        fields = [("id", "id"), ("day", "day"), ("dataid", "chunk")]
        where_clause = "date_trunc('month', day)::date = '{{ ds }}'::date"
"""
DATASET, VIEW = "OrdersDatasetPipeline", "MonthViewPipeline"
DAYS = ["2026-08-01", "2026-08-17", "2026-08-31", "2026-09-01"]


@pytest.fixture
def orders(workshop: Workshop) -> Workshop:
    for number, day in enumerate(DAYS):
        write(workshop, day, [number])
    workshop.write("orders.py", PIPELINES)
    for day in DAYS:
        assert workshop.run(DATASET, day).done == 1, workshop.said
    return workshop


def write(workshop: Workshop, day: str, ids: list[int]) -> None:
    rows = "".join(json.dumps({"id": number, "day": day}) + "\n" for number in ids)
    (workshop.path / f"{day}.jsonl").write_text(rows)


def read(workshop: Workshop) -> list[tuple[int, str, str]]:
    rows = workshop.rows("month", "2026-08")
    return sorted((row["id"], str(row["day"]), row["chunk"]) for row in rows)


def test_a_view_reads_all_ready_chunks_and_each_row_has_its_dataid(orders: Workshop) -> None:
    wanted = [(number, day, day) for number, day in enumerate(DAYS[:3])]
    _, detail = plan(orders, VIEW)
    assert detail["reads"] == {"orders": "4 chunks, the newest 2026-09-01 version 1"}
    shown = preview(orders, VIEW, rows=10).rows
    assert sorted((row["id"], str(row["day"]), row["chunk"]) for row in shown) == wanted
    assert orders.run(VIEW).done == 1, orders.said
    assert read(orders) == wanted


def test_a_view_is_stale_when_any_chunk_it_read_is_published_again(orders: Workshop) -> None:
    orders.run(VIEW)
    write(orders, "2026-08-17", [1, 7])
    orders.resubmit(DATASET, "2026-08-17")
    orders.run(DATASET, "2026-08-17")
    assert orders.chunk("month", "2026-08").status == "STALE"
    assert orders.run(VIEW).done == 1
    assert (7, "2026-08-17", "2026-08-17") in read(orders)


def test_a_view_that_shrinks_is_not_published_if_a_check_forbids_it(orders: Workshop) -> None:
    text = PIPELINES.replace("where_clause", "checks = [at_least(0.9)]\n        where_clause")
    orders.write("orders.py", "    from dataflow.pipelines.shape.checks import at_least\n" + text)
    assert orders.run(VIEW).done == 1, orders.said
    write(orders, "2026-08-17", [])
    orders.resubmit(DATASET, "2026-08-17")
    orders.run(DATASET, "2026-08-17")
    assert "2 rows, the last version has 3" in str(orders.run(VIEW).error)


def test_a_column_that_only_newer_chunks_have_is_null_in_older_ones(orders: Workshop) -> None:
    newer = PIPELINES.replace('("day", "day", "date")]', '("day", "day", "date"), ("note", "note", "text")]')
    newer = newer.replace('("dataid", "chunk")', '("dataid", "chunk"), ("coalesce(note, \'none\')", "note")')
    orders.write("orders.py", newer)
    (orders.path / "2026-08-31.jsonl").write_text('{"id": 2, "day": "2026-08-31", "note": "late"}\n')
    orders.resubmit(DATASET, "2026-08-31")
    orders.run(DATASET, "2026-08-31")
    assert orders.run(VIEW).done == 1, orders.said
    assert sorted(row["note"] for row in orders.rows("month", "2026-08")) == ["late", "none", "none"]
