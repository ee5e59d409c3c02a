"""Pipelines without a calendar schedule: fixed steps, quarters, and runs on demand."""

from __future__ import annotations

import pytest

from dataflow.actions.names import get_plan
from dataflow.errors import BadInput
from tests.pipelines.workshop import Workshop
from tests.project import Project

PIPELINES = """
    from datetime import timedelta
    from dataflow.pipelines.declare.sources import files

    class OrdersDatasetPipeline:
        table_name = "orders"
        source = files("orders.jsonl")
        field_mapping = [("id", "id", "bigint NOT NULL")]
        schedule_interval = None
        start_date = datetime(2024, 1, 1)
        catchup = True

    class AskedViewPipeline:
        view_name = "asked"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = None
        fields = [("id", "id"), ("'{{ ds }}'::date", "day"), ("'{{ prev_ds }} {{ next_ds }}'", "around")]

    class StepViewPipeline:
        view_name = "steps"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = timedelta(hours=36)
        start_date = datetime(2024, 1, 1)
        end_date = datetime(2024, 1, 2, 12)
        catchup = True
        fields = [("id", "id"), ("'{{ prev_ds }} {{ ds }} {{ data_interval_end.isoformat() }}'", "dates")]

    class QuarterViewPipeline:
        view_name = "quarters"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = "@quarterly"
        start_date = datetime(2023, 11, 15)
        end_date = datetime(2024, 4, 1)
        catchup = True
        fields = [("id", "id"), ("'{{ prev_ds }} {{ ds }} {{ next_ds }}'", "dates")]
"""


@pytest.fixture
def orders(workshop: Workshop) -> Workshop:
    (workshop.path / "orders.jsonl").write_text('{"id": 4}\n')
    workshop.write("orders.py", PIPELINES)
    return workshop


def test_a_pipeline_without_a_schedule_runs_only_for_a_given_dataid(orders: Workshop) -> None:
    assert orders.run("OrdersDatasetPipeline").done == 0
    assert orders.run("OrdersDatasetPipeline", "2024-02-29").done == 1, orders.said
    assert orders.run("OrdersDatasetPipeline", "2024-02-29T13:00+01:00").done == 1, orders.said
    assert orders.rows("orders", "2024-02-29T12:00+00:00") == [{"id": 4}]
    with pytest.raises(BadInput, match='"shard-1" is not a dataid of a pipeline without a schedule'):
        orders.run("OrdersDatasetPipeline", "shard-1")
    assert orders.run("AskedViewPipeline").done == 0
    assert orders.run("AskedViewPipeline", "2024-02-29").done == 1, orders.said
    (row,) = orders.rows("asked", "2024-02-29")
    assert (str(row["day"]), row["around"]) == ("2024-02-29", "2024-02-29 2024-02-29")


def test_the_dates_of_a_template_are_those_of_the_interval(orders: Workshop) -> None:
    orders.run("OrdersDatasetPipeline", "2024-12-31")
    assert orders.run("StepViewPipeline", drain=True).done == 2, orders.said
    assert [orders.rows("steps", dataid)[0]["dates"] for dataid in _dataids(orders, "StepViewPipeline")] == [
        "2023-12-30 2024-01-01 2024-01-02T12:00:00+00:00",
        "2024-01-01 2024-01-02 2024-01-04T00:00:00+00:00",
    ]
    assert orders.run("QuarterViewPipeline", drain=True).done == 2, orders.said
    assert _dataids(orders, "QuarterViewPipeline") == ["2024-Q1", "2024-Q2"]
    assert orders.rows("quarters", "2024-Q2")[0]["dates"] == "2024-01-01 2024-04-01 2024-07-01"


def test_a_pipeline_on_demand_says_how_to_run_it(orders: Workshop) -> None:
    project = Project(orders.path, orders.path)
    listed = {row["pipeline"]: row["schedule"] for row in project.json("dataflow", "pipeline", "list")}
    assert listed["OrdersDatasetPipeline"] == "none"
    assert listed["StepViewPipeline"] == "every 36 hours"
    ran = project.run("dataflow", "run", "OrdersDatasetPipeline").stderr
    assert "OrdersDatasetPipeline runs only on request, with a dataid" in ran
    assert ran.endswith("next: dataflow run OrdersDatasetPipeline --dataid DATAID\n")
    planned = project.run("dataflow", "pipeline", "plan", "AskedViewPipeline", "--dataid", "2024-02-29")
    assert "2024-02-29" in planned.stdout


def _dataids(orders: Workshop, job: str) -> list[str]:
    return sorted(orders.store.read.list_done_dataids(get_plan(orders.store, job).job_id, 10))
