"""`pipeline show`, `plan` and `preview`: what a run would do, without doing it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dataflow.cli.progress import PipelineProgress
from dataflow.config.settings import load_config
from dataflow.errors import BadInput
from dataflow.pipelines.show.description import describe
from dataflow.pipelines.show.plan import Outlook, Scene, look_ahead
from dataflow.pipelines.show.preview import Preview
from dataflow.pipelines.show.preview import preview as preview_interval
from dataflow.pipelines.show.statements import describe_interval
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.workshop import HAWK, SharedSession, Workshop
from tests.project import Project

PIPELINES = """
    from dataflow.pipelines.shape.checks import minimum_rows
    from dataflow.pipelines.declare.sources import hawk, http

    class OrdersDatasetPipeline:
        table_name = "orders"
        source = http(
            constants.API + "/next?api_key=hidden&since=5", auth=hawk(), headers={"X-Key": "hidden"}
        )
        target_db = "lake"
        field_mapping = [
            ("id", "order_id", "bigint PRIMARY KEY"),
            ("amount", "amount", "numeric(12,2) NOT NULL"),
            ("at", "ordered_at", "timestamp with time zone"),
        ]
        checks = [minimum_rows(1)]

    class MonthViewPipeline:
        view_name = "month"
        dataset_pipeline = OrdersDatasetPipeline
        schedule_interval = "@monthly"
        start_date = datetime(2017, 11, 1)
        end_date = datetime(2018, 1, 1)
        catchup = True
        fields = [("order_id", "Order"), ("amount::numeric / 2", "Half")]
        where_clause = "date_trunc('month', ordered_at)::date = '{{ ds }}'::date ORDER BY order_id"
"""
DATASET, VIEW = "OrdersDatasetPipeline", "MonthViewPipeline"
TABLES = ("dataset", "job", "job_input", "calendar", "chunk", "work", "run", "journal")


def make_rows() -> list[dict[str, Any]]:
    return [
        {"id": number, "amount": f"{number}.50", "at": f"2017-{11 + number % 2}-0{1 + number % 9}T00:00:00Z"}
        for number in range(40)
    ]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(make_rows(), page_size=10, hawk=Hawk(HAWK["HAWK_ID"], HAWK["HAWK_KEY"])) as server:
        yield server


@pytest.fixture
def orders(workshop: Workshop, api: ApiServer) -> Workshop:
    workshop.environ["API"] = api.origin
    workshop.write("orders.py", PIPELINES)
    return workshop


def scene_of(workshop: Workshop) -> Scene:
    return Scene(workshop.catalog(), workshop.settings(), load_config(str(workshop.path), {}))


def facilities_of(workshop: Workshop) -> SharedSession:
    scene = scene_of(workshop)
    constants = scene.catalog.constants
    made = SharedSession(scene.config, workshop.store, scene.settings, constants, PipelineProgress())
    return made.lend(workshop.spark)


def plan(workshop: Workshop, name: str, dataid: str | None = None) -> tuple[Outlook, dict[str, Any]]:
    scene = scene_of(workshop)
    definition = scene.catalog.get(name)
    outlook = look_ahead(workshop.store, definition, scene, dataid)
    detail = describe_interval(outlook.plan, facilities_of(workshop)) if outlook.plan else {}
    return outlook, detail


def preview(workshop: Workshop, name: str, dataid: str | None = None, rows: int = 3) -> Preview:
    scene = scene_of(workshop)
    definition = scene.catalog.get(name)
    outlook = look_ahead(workshop.store, definition, scene, dataid)
    return preview_interval(outlook, facilities_of(workshop), rows)


def facts(workshop: Workshop) -> dict[str, list[Any]]:
    """Everything in the store and the folder that a run would change."""
    rows = {
        table: sorted(map(repr, workshop.store.database.select(f"SELECT * FROM {table}")[1]))
        for table in TABLES
    }
    return rows | {"files": sorted(str(path) for path in workshop.path.rglob("*.parquet"))}


def test_a_definition_is_shown_in_full_with_its_place_and_without_secrets(orders: Workshop) -> None:
    found = describe(orders.catalog().get(DATASET), orders.settings())
    assert found["source"]["url"].endswith("/next?api_key=…&since=5")
    assert found["source"]["authentication"] == "hawk, from HAWK_ID, HAWK_KEY, HAWK_ALGORITHM"
    assert found["source"]["headers"] == ["X-Key"]
    assert found["mapping"][0] == {"source": "id", "column": "order_id", "type": "bigint PRIMARY KEY"}
    assert found["target"] == {"connection": "lake", "url": "lake:lake"}
    assert "minimum_rows(1)" in found["checks"]
    assert "unique(order_id)" in found["checks"]
    assert found["place"] == "pipelines/orders.py:5"
    assert "hidden" not in json.dumps(found)
    assert HAWK["HAWK_KEY"] not in json.dumps(found)


OVER = """
    from dataflow.pipelines.shape.checks import minimum_rows, not_null
    from dataflow.pipelines.declare.sources import files

    class OverDatasetPipeline:
        table_name = "over"
        source = files("over.jsonl")
        field_mapping = [("id", "id", "bigint NOT NULL")]
        start_date = datetime.now().replace(day=1)
        end_date = datetime(2019, 12, 1)

    class HalvesViewPipeline:
        view_name = "halves"
        dataset_pipeline = OverDatasetPipeline
        schedule_interval = "@monthly"
        start_date = datetime(2019, 10, 1)
        end_date = datetime(2019, 11, 1)
        catchup = True
        fields = [("id / 2", "Half")]
        checks = [not_null("Half"), minimum_rows(1)]
"""


def test_a_pipeline_that_starts_after_its_end_is_reported_and_runs_a_given_dataid(
    workshop: Workshop,
) -> None:
    (workshop.path / "over.jsonl").write_text('{"id": 4}\n')
    workshop.write("over.py", OVER)
    project, name = Project(workshop.path, workshop.path), "OverDatasetPipeline"
    listed = project.json("dataflow", "pipeline", "list")
    note = "starts after its end; run one with --dataid, or change end_date: pipelines/over.py:5"
    assert [row["note"] for row in listed] == [note, ""]
    shown = project.run("dataflow", "pipeline", "show", name).stdout
    assert note in shown
    assert "is_over" not in shown
    assert project.json("dataflow", "pipeline", "show", name)["schedule"]["is_over"]
    planned = project.run("dataflow", "pipeline", "plan", name)
    assert (
        f"{name} starts after its end (pipelines/over.py:5). To run an interval anyway: --dataid"
        in planned.stderr
    )
    ran = project.run("dataflow", "run", name).stderr
    assert f"change end_date of {name}, or run one interval" in ran
    assert ran.endswith(f"next: dataflow run {name} --dataid DATAID\n")
    changed = project.run("dataflow", "job", "add", name, "--end", "2030-01-01").stderr
    assert f"warning: {name} is a pipeline; the next dataflow run restores what its class declares" in changed
    assert workshop.run(name, "2019-12-01").done == 1, workshop.said
    assert workshop.rows("over", "2019-12-01") == [{"id": 4}]


def test_a_view_is_shown_with_its_checks_and_a_plan_with_one_interval(workshop: Workshop) -> None:
    workshop.write("over.py", OVER)
    project = Project(workshop.path, workshop.path)
    shown = project.json("dataflow", "pipeline", "show", "HalvesViewPipeline")
    assert shown["checks"] == ["not_null(Half)", "minimum_rows(1)"]
    planned = project.run("dataflow", "pipeline", "plan", "HalvesViewPipeline", "--dataid", "2019-10")
    assert "not shown" not in planned.stderr
    assert "not_null(Half), minimum_rows(1)" in planned.stdout
    workshop.register()
    cited = project.run("dataflow", "why", "HalvesViewPipeline", "2019-10").stdout
    assert cited.endswith("\nplan: dataflow pipeline plan HalvesViewPipeline --dataid 2019-10\n")
    workshop.write("over.py", OVER.replace('"bigint NOT NULL")', '"bigint NOT NULL"), ...'))
    open_ended = describe(workshop.catalog().get("OverDatasetPipeline"), workshop.settings())
    assert open_ended["checks"] == ["not_null(id)"]
    assert plan(workshop, "OverDatasetPipeline", "2019-10-01")[1]["checks"] == ["not_null(id)"]
    workshop.write("over.py", "x = (1\n")
    broken = project.run("dataflow", "pipeline", "list", check=False)
    assert broken.stderr.startswith("pipelines/over.py:1: ")


def test_a_plan_shows_which_intervals_are_done_waiting_and_due(orders: Workshop) -> None:
    outlook, _ = plan(orders, VIEW)
    assert [(one.dataid, one.state) for one in outlook.intervals] == [
        (month, "waiting") for month in ("2017-11", "2017-12", "2018-01")
    ]
    assert "waits for orders to cover 2017-11" in outlook.intervals[0].why
    orders.run(DATASET, "2017-12-31")
    orders.run(VIEW)
    outlook, detail = plan(orders, VIEW)
    assert [one.state for one in outlook.intervals] == ["done", "due", "waiting"]
    assert detail["dataid"] == "2017-12"
    assert outlook.counts == {"due": 1, "done": 1, "waiting": 1}


def test_a_plan_has_exactly_the_sql_that_a_run_logs(orders: Workshop) -> None:
    orders.run(DATASET, "2018-03-01")
    _, detail = plan(orders, VIEW)
    assert "CAST('2017-11-01' AS DATE)" in detail["select"]
    assert detail["spark_sql"] != detail["select"]
    assert detail["reads"] == {"orders": "2018-03-01 version 1"}
    assert detail["columns"]["Order"] == "bigint"
    assert detail["location"] == "lake/month/dataid=2017-11/{run_id}/_manifest.json"
    orders.run(VIEW)
    logs = [path.read_text() for path in (orders.path / ".dataflow" / "logs").glob("*.log")]
    assert any(detail["select"] in log for log in logs)


def test_a_plan_of_a_view_knows_its_sql_before_anything_is_published(orders: Workshop) -> None:
    _, detail = plan(orders, VIEW)
    assert detail["reads"] == {"orders": "nothing that covers it is published"}
    assert "order_id" in detail["spark_sql"]


def test_a_plan_of_a_dataset_has_its_first_request_and_no_secret(orders: Workshop, api: ApiServer) -> None:
    _, detail = plan(orders, DATASET, "2017-12-31")
    assert detail["source"] == {
        "first_url": f"{api.origin}/next?api_key=…&since=5",
        "pagination": "next_link()",
        "staging": str(orders.path / f".dataflow/staging/{DATASET}/2017-12-31/{{run_id}}"),
    }
    assert api.seen == []


def test_a_plan_shows_the_interval_parameters_and_no_other_value(orders: Workshop) -> None:
    asked = "/next?from={start}&range={start}/{end}&token={dataid}&kind=open&key-{dataid}=x&mixed=abc{dataid}"
    orders.write("orders.py", PIPELINES.replace("/next?api_key=hidden&since=5", asked))
    _, detail = plan(orders, DATASET, "2017-12-31")
    start, end = "2017-12-31T00%3A00%3A00%2B00%3A00", "2018-01-01T00%3A00%3A00%2B00%3A00"
    shown = f"/next?from={start}&range={start}/{end}&token=…&kind=…&key-2017-12-31=…&mixed=…"
    assert detail["source"]["first_url"].endswith(shown)


def test_a_plan_for_postgresql_has_the_ddl_of_its_table(orders: Workshop) -> None:
    orders.environ["AIRFLOW_CONN_DATASETS_DB"] = "postgresql+psycopg2://etl:secret@nowhere.invalid/datasets"
    text = PIPELINES.replace(
        'target_db = "lake"', 'target_db = "datasets_db"\n        indexes = ["amount"]', 1
    )
    orders.write("orders.py", text.replace('"lake"', '"datasets_db"'))
    _, detail = plan(orders, DATASET, "2017-12-31")
    assert detail["ddl"] == [
        'create table "public"."orders" ("order_id" bigint, "amount" numeric(12,2), '
        '"ordered_at" timestamp with time zone)',
        'alter table "public"."orders" alter column "order_id" set not null, '
        'alter column "amount" set not null, add primary key ("order_id")',
        'create index if not exists "orders_amount_idx" on "public"."orders" ("amount")',
    ]
    assert "secret" not in json.dumps(detail)


def test_a_view_from_the_lake_into_postgresql_has_the_ddl_of_its_interval(orders: Workshop) -> None:
    orders.environ["DATAFLOW_CONN_DATASETS_DB"] = "postgresql://nowhere.invalid/datasets"
    text = 'view_name = "month"\n        target_db = "datasets_db"'
    orders.write("orders.py", PIPELINES.replace('view_name = "month"', text))
    _, detail = plan(orders, VIEW, "2017-11")
    assert detail["runs_on"] == "spark"
    assert detail["ddl"][0].startswith(
        'create table "public"."month_2017_11_01" ("Order" bigint, "Half" numeric'
    )


def test_a_view_inside_one_database_is_planned_and_previewed_there(
    orders: Workshop, postgres_url: str
) -> None:
    orders.environ["DATAFLOW_CONN_DATASETS_DB"] = postgres_url
    orders.write("orders.py", PIPELINES.replace('"lake"', '"datasets_db"'))
    _, detail = plan(orders, VIEW, "2017-11")
    assert detail["ddl"] == ["-- the columns are not known until an input is published"]
    orders.run(DATASET, "2018-03-01")
    _, detail = plan(orders, VIEW, "2017-11")
    assert detail["runs_on"] == "datasets_db"
    assert detail["ddl"] == ['create table "public"."month_2017_11_01" ("Order" bigint, "Half" numeric)']
    found = preview(orders, VIEW, "2017-11", rows=2)
    assert found.rows == ({"Order": 0, "Half": Decimal("0.25")}, {"Order": 2, "Half": Decimal("1.25")})
    assert found.columns == (("Order", "bigint"), ("Half", "numeric"))
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("select to_regclass('month_2017_11_01')").fetchone() == (None,)


def test_a_plan_of_a_python_job_shows_its_due_work_and_its_inputs(orders: Workshop) -> None:
    orders.write(
        "jobs.py",
        """
        import dataflow

        @dataflow.job(inputs=[OrdersDatasetPipeline], outputs=["copies"])
        def copy_orders(run):
            run.write("copies", run.read("orders"))
        """,
    )
    outlook, detail = plan(orders, "copy_orders")
    assert (outlook.intervals, detail) == ((), {})
    orders.run(DATASET, "2017-12-31")
    outlook, detail = plan(orders, "copy_orders")
    assert [(one.dataid, one.state) for one in outlook.intervals] == [("2017-12-31", "due")]
    assert detail["reads"] == {"orders": "2017-12-31 version 1"}
    described = describe(orders.catalog().get("copy_orders"), orders.settings())
    assert (described["kind"], described["inputs"], described["dataset"]) == ("job", ["orders"], "copies")


def test_planning_and_previewing_change_nothing(orders: Workshop) -> None:
    orders.run(DATASET, "2018-03-01")
    before = facts(orders)
    for name in (DATASET, VIEW):
        plan(orders, name)
        plan(orders, name, "2017-12-31" if name == DATASET else "2018-01")
        preview(orders, name)
    assert facts(orders) == before


def test_a_preview_of_a_dataset_requests_one_page_and_shapes_it(orders: Workshop, api: ApiServer) -> None:
    found = preview(orders, DATASET, "2017-12-31", rows=2)
    assert [row["amount"] for row in found.rows] == [Decimal("0.50"), Decimal("1.50")]
    assert found.columns[2] == ("ordered_at", "timestamp with time zone")
    assert len(api.seen) == 1
    assert "api_key=…" in found.read


def test_a_preview_shows_what_would_be_rejected_and_how_the_source_drifts(
    orders: Workshop, api: ApiServer
) -> None:
    api.rows[1] = {"id": "one", "amount": "1", "extra": True}  # type: ignore[index]
    found = preview(orders, DATASET, "2017-12-31", rows=50)
    assert len(found.rows) == 9
    assert found.rejects[0]["row"] == 2
    assert found.rejects[0]["field"] == "id"
    assert "source field extra is not mapped" in found.drift


def test_a_preview_reports_forbidden_nulls_and_fields_that_no_row_has(
    orders: Workshop, api: ApiServer
) -> None:
    api.rows[1]["id"] = None
    text = PIPELINES.replace('("amount",', '("amuont",').replace("(12,2) NOT NULL", "(12,2)")
    text = text.replace(
        "[minimum_rows(1)]", '[not_null("amount"), not_null("ordered_at", severity="warning")]'
    )
    orders.write("orders.py", text.replace("import minimum_rows", "import not_null"))
    api.rows[2]["at"] = None
    found = preview(orders, DATASET, "2017-12-31", rows=50)
    assert found.refused == (
        "column order_id must not be NULL, but is in 1 of 10 rows read",
        "column amount must not be NULL, but is in 10 of 10 rows read",
    )
    assert "source field amuont is in no row" in found.drift


def test_a_preview_of_files_reads_the_first_file(workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "2017-12-31.csv").write_text("name,count\na,1\nb,x\n")
    workshop.write(
        "counts.py",
        """
        from dataflow.pipelines.declare.sources import files

        class CountsDatasetPipeline:
            table_name = "counts"
            source = files("in/{dataid}.csv")
            field_mapping = [("name", "text"), ("count", "integer")]
        """,
    )
    found = preview(workshop, "CountsDatasetPipeline", "2017-12-31")
    assert found.rows == ({"name": "a", "count": 1},)
    assert found.rejects[0]["value"] == "x"


def test_a_preview_of_a_view_has_the_first_rows_that_its_run_publishes(orders: Workshop) -> None:
    orders.run(DATASET, "2018-03-01")
    found = preview(orders, VIEW, "2017-11", rows=4)
    assert orders.chunk("month", "2017-11") is None
    orders.run(VIEW, "2017-11")
    rows = sorted(orders.rows("month", "2017-11"), key=lambda row: row["Order"])
    assert list(found.rows) == rows[:4]


def test_a_preview_of_a_view_shows_the_same_times_in_any_zone_of_the_machine(
    orders: Workshop, tokyo: None
) -> None:
    orders.write("orders.py", PIPELINES.replace('"Order")', '"Order"), ("ordered_at", "At")'))
    orders.run(DATASET, "2018-03-01")
    (row,) = preview(orders, VIEW, "2017-11", rows=1).rows
    assert row["At"] == datetime(2017, 11, 1, tzinfo=UTC)


def test_a_preview_of_a_view_names_its_missing_inputs(orders: Workshop) -> None:
    with pytest.raises(BadInput, match="cannot read orders yet: waits for orders to cover 2017-11"):
        preview(orders, VIEW, "2017-11")
