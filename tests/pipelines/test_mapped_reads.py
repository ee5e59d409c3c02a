"""Views and Python jobs that read only the chunks of their interval."""

from __future__ import annotations

import json

import pytest

from tests.pipelines.workshop import Workshop

PIPELINES = """
    import dataflow
    from dataflow.pipelines.declare.sources import files

    class OrdersDatasetPipeline:
        table_name = "orders"
        mode = "partition"
        source = files("{dataid}.jsonl")
        field_mapping = [("id", "id", "bigint PRIMARY KEY")]

    class MonthViewPipeline:
        view_name = "month"
        dataset_pipeline = OrdersDatasetPipeline
        reads = {"orders": "within at_least 2"}
        schedule_interval = "@monthly"
        start_date = datetime(2026, 8, 1)
        end_date = datetime(2026, 9, 1)
        catchup = True
        fields = [("id", "id"), ("dataid", "chunk")]

    @dataflow.job(inputs=["orders:window(-1, 0)"], outputs=["recent"], start_date="2026-08-01")
    def make_recent(run):
        run.write("recent", run.read("orders"))
"""
DATASET, VIEW = "OrdersDatasetPipeline", "MonthViewPipeline"
DAYS = ["2026-08-01", "2026-08-02", "2026-09-01", "2026-09-02"]


@pytest.fixture
def orders(workshop: Workshop) -> Workshop:
    workshop.write("orders.py", PIPELINES)
    for number, day in enumerate(DAYS):
        write(workshop, day, [number])
        assert workshop.run(DATASET, day).done == 1, workshop.said
    return workshop


def write(workshop: Workshop, day: str, ids: list[int]) -> None:
    rows = "".join(json.dumps({"id": number}) + "\n" for number in ids)
    (workshop.path / f"{day}.jsonl").write_text(rows)


def rows(workshop: Workshop, dataset: str, dataid: str) -> list[tuple[int, str]]:
    found = workshop.rows(dataset, dataid)
    return sorted((row["id"], row.get("chunk") or row["dataid"]) for row in found)


def test_a_monthly_view_reads_the_days_of_its_month_and_is_incremental(orders: Workshop) -> None:
    assert orders.run(VIEW, drain=True).done == 2, orders.said
    assert rows(orders, "month", "2026-08") == [(0, DAYS[0]), (1, DAYS[1])]
    assert rows(orders, "month", "2026-09") == [(2, DAYS[2]), (3, DAYS[3])]
    write(orders, DAYS[1], [1, 7])
    orders.resubmit(DATASET, DAYS[1])
    orders.run(DATASET, DAYS[1])
    status = {month: orders.chunk("month", month).status for month in ("2026-08", "2026-09")}
    assert status == {"2026-08": "STALE", "2026-09": "READY"}
    assert orders.run(VIEW, drain=True).done == 1
    assert (7, DAYS[1]) in rows(orders, "month", "2026-08")


def test_a_python_job_reads_its_chunks_as_one_frame(orders: Workshop) -> None:
    # The first of September waits for the last of August.
    assert orders.run("make_recent", drain=True).done == 3, orders.said
    assert rows(orders, "recent", DAYS[0]) == [(0, DAYS[0])]
    assert rows(orders, "recent", DAYS[1]) == [(0, DAYS[0]), (1, DAYS[1])]
    assert rows(orders, "recent", DAYS[3]) == [(2, DAYS[2]), (3, DAYS[3])]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('mode = "partition"', 'mode = "snapshot"', "each chunk of orders is the whole table"),
        ('{"orders": ', '{"others": ', 'names "others", which is not in dataset_pipeline'),
        ('"within at_least 2"', '"windows"', "is not a window"),
        ('"within at_least 2"', "7", "which is not a mapping"),
    ],
)
def test_a_wrong_mapping_is_named_with_its_line(workshop: Workshop, old: str, new: str, reason: str) -> None:
    workshop.write("orders.py", PIPELINES.replace(old, new))
    problems = workshop.catalog().problems
    assert any(reason in str(problem) for problem in problems), problems
