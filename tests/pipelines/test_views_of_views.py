"""Views over the results of other views and of Python jobs for the same interval."""

from __future__ import annotations

import json

import pytest

from dataflow.errors import BadInput
from tests.pipelines.test_native_views import ask
from tests.pipelines.test_planning import plan, preview
from tests.pipelines.workshop import Workshop

PIPELINES = """
    from dataflow.pipelines.declare.sources import files
    import dataflow

    class OrdersDatasetPipeline:
        table_name = "orders"
        target_db = "lake"
        source = files("orders.jsonl")
        field_mapping = [("id", "id", "bigint"), ("month", "month", "text")]

    class MonthViewPipeline:
        view_name = "by_month"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = "@monthly"
        start_date = datetime(2026, 8, 1)
        end_date = datetime(2026, 9, 1)
        catchup = True
        where_clause = "month = '{{ ds }}'"

    class CountViewPipeline:
        view_name = "counts"
        dataset_pipeline = MonthViewPipeline
        schedule_interval = "@monthly"
        start_date = datetime(2026, 8, 1)
        end_date = datetime(2026, 9, 1)
        catchup = True
        fields = [("count(*)", "orders"), ("min(by_month.id)", "first")]
"""
JOB = """
    @dataflow.job(outputs=["numbers"], schedule="@monthly", start_date=datetime(2026, 8, 1))
    def make_numbers(run):
        run.write("numbers", run.spark.range(int(run.dataid[-2:])))

    class NumberViewPipeline:
        view_name = "number_view"
        dataset_pipeline = make_numbers
        schedule_interval = "@monthly"
        fields = [("count(*)", "many")]
"""
COUNTS, MONTHS = "CountViewPipeline", "MonthViewPipeline"


@pytest.fixture
def orders(workshop: Workshop) -> Workshop:
    rows = [{"id": number, "month": f"2026-0{8 + number % 2}-01"} for number in range(5)]
    (workshop.path / "orders.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    workshop.write("orders.py", PIPELINES)
    return workshop


def test_a_view_reads_the_result_of_another_for_its_own_interval(orders: Workshop) -> None:
    orders.run("OrdersDatasetPipeline", "2026-11-14")
    assert orders.run(COUNTS, drain=True).done == 0
    outlook, detail = plan(orders, COUNTS)
    assert "by_month/2026-08" in outlook.intervals[0].why
    assert "Run it first: dataflow run MonthViewPipeline" in detail["note"]
    assert orders.run(MONTHS).done == 1, orders.said
    assert list(preview(orders, COUNTS, "2026-08").rows) == [{"orders": 3, "first": 0}]
    assert orders.run(MONTHS, drain=True).done == 1, orders.said
    assert orders.run(COUNTS, drain=True).done == 2, orders.said
    assert orders.rows("counts", "2026-08") == [{"orders": 3, "first": 0}]
    assert orders.rows("counts", "2026-09") == [{"orders": 2, "first": 1}]
    orders.resubmit(MONTHS, "2026-08")
    orders.run(MONTHS)
    assert orders.chunk("counts", "2026-08").status == "STALE"
    assert orders.chunk("counts", "2026-09").status == "READY"


def test_in_a_database_it_reads_the_table_of_that_interval(orders: Workshop, postgres_url: str) -> None:
    orders.environ["DATAFLOW_CONN_DATASETS_DB"] = postgres_url
    orders.write("orders.py", PIPELINES.replace('"lake"', '"datasets_db"'))
    orders.run("OrdersDatasetPipeline", "2026-11-14")
    assert orders.run(MONTHS, drain=True).done == 2, orders.said
    assert list(preview(orders, COUNTS, "2026-09").rows) == [{"orders": 2, "first": 1}]
    assert orders.run(COUNTS, drain=True).done == 2, orders.said
    assert ask(orders, "select orders, first from counts_2026_08_01") == [(3, 0)]
    assert ask(orders, "select orders, first from counts_2026_09_01") == [(2, 1)]


@pytest.mark.parametrize("named", ["make_numbers", '"make_numbers"', '"numbers"'])
def test_a_view_reads_the_output_of_a_python_job(orders: Workshop, named: str) -> None:
    orders.write("orders.py", PIPELINES + JOB.replace("= make_numbers", f"= {named}"))
    assert orders.catalog().problems == []
    if named == "make_numbers":
        assert orders.run("make_numbers", "2026-08").done == 1, orders.said
        assert orders.run("NumberViewPipeline", "2026-08").done == 1, orders.said
        assert orders.rows("number_view", "2026-08") == [{"many": 8}]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"@monthly"\n        start_date = datetime(2026, 8, 1)\n        end_date = datetime(2026, 9, 1)\n'
         '        catchup = True\n        fields', '"@daily"\n        fields',
         "pipelines/orders.py:20: CountViewPipeline.dataset_pipeline is MonthViewPipeline, which is read"),
        ("= OrdersDatasetPipeline", '= "counts"', "these views wait for each other"),
        ("= OrdersDatasetPipeline", '= "by_month"', "these views wait for each other"),
        ("= MonthViewPipeline", '= "MonthViewPipelin"', 'Did you mean "MonthViewPipeline"?'),
    ],
)  # fmt: skip
def test_a_view_that_cannot_read_another_is_reported(orders: Workshop, old: str, new: str, told: str) -> None:
    orders.write("orders.py", PIPELINES.replace(old, new))
    assert told in " ".join(orders.catalog().problems)


def test_a_job_with_several_outputs_cannot_be_read_by_its_name(orders: Workshop) -> None:
    orders.write("orders.py", PIPELINES + JOB.replace('["numbers"]', '["numbers", "letters"]'))
    (problem,) = orders.catalog().problems
    assert "is make_numbers, which writes numbers and letters. Name one of them" in problem


def test_an_interval_outside_the_schedule_creates_no_work(orders: Workshop) -> None:
    orders.write("orders.py", PIPELINES.replace('"@monthly"', '"0 0 * * 1,4"'))
    orders.register()
    with pytest.raises(BadInput, match="is not an interval of the schedule"):
        orders.run(MONTHS, "2026-09-01T00:00+00:00")
    found = orders.store.find_plan(MONTHS)
    assert found is not None
    assert orders.store.read.find_work(found.job_id, "2026-09-01T00:00+00:00") is None
