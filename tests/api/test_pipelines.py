"""Pipelines are shown as the commands show them, without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import apsw
import httpx
import psutil
import pytest

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.names import get_plan
from dataflow.api.pipeline_questions import LIMIT_SECONDS, MOST_CHILDREN
from dataflow.config.settings import load_config
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.register.pipeline_jobs import register_pipelines
from dataflow.pipelines.show.plan import Scene, look_ahead
from tests.acceptance.flow import Flow, wait_until
from tests.api.served import Served
from tests.project import Project

SECRET = "kept-from-everybody"
BROKEN = f"""
class BrokenDatasetPipeline:
    table_name = "{SECRET}"
    nonsense = 1
"""


@pytest.fixture
def shop(project: Project, sqlite_url: str) -> Iterator[Served]:
    """A server of the project that `dataflow init --pipelines` writes, on an empty store."""
    flow = Flow(project, sqlite_url)
    flow.dataflow("init", "--pipelines")
    flow.declare()
    with Served(flow) as served:
        yield served
    flow.end()


def test_pipelines_have_the_json_of_the_commands(shop: Served) -> None:
    listed = shop.get("/pipelines")
    assert listed["pipelines"] == shop.flow.json("pipeline", "list")
    assert listed["problems"] == []
    for pipeline in listed["pipelines"]:
        name = pipeline["pipeline"]
        assert shop.get(f"/pipelines/{name}") == shop.flow.json("pipeline", "show", name)
        assert shop.get(f"/pipelines/{name}/plan") == shop.flow.json("pipeline", "plan", name)
        columns = shop.get(f"/datasets/{pipeline['dataset']}/columns")
        assert columns == shop.flow.json("lineage", pipeline["dataset"], "--columns")
        assert columns["edges"]
    names = {child.name() for child in psutil.Process(shop.process.pid).children(recursive=True)}
    assert "java" not in names


def test_a_file_that_cannot_be_loaded_is_a_problem_of_that_file(shop: Served) -> None:
    before = len(shop.get("/pipelines")["pipelines"])
    (shop.flow.path / "pipelines" / "broken.py").write_text(BROKEN)
    found = shop.get("/pipelines")
    assert len(found["pipelines"]) == before
    assert "broken.py" in found["problems"][0]
    refused = shop.client.get("/api/v1/pipelines/BrokenDatasetPipeline")
    assert (refused.status_code, refused.json()["code"]) == (422, "bad-input")
    assert shop.client.get("/api/v1/pipelines/Nothing").status_code == 404


def test_columns_of_a_dataset_that_no_pipeline_makes_are_not_known(shop: Served) -> None:
    assert shop.client.get("/api/v1/datasets/bobin/columns").status_code == 409


def test_a_file_that_hangs_is_stopped_and_keeps_nothing_else_waiting(shop: Served) -> None:
    (shop.flow.path / "pipelines" / "slow.py").write_text("import time\ntime.sleep(600)\n")
    answers: list[httpx.Response] = []

    def ask() -> None:
        with httpx.Client(
            base_url=shop.base, headers=shop.client.headers, cookies=shop.client.cookies, timeout=120
        ) as client:
            answers.append(client.get("/api/v1/pipelines"))

    waiting = [threading.Thread(target=ask) for _ in range(12)]
    for thread in waiting:
        thread.start()
    wait_until(lambda: len(psutil.Process(shop.process.pid).children()) == MOST_CHILDREN)
    began_at = time.monotonic()
    assert shop.get("/jobs")
    assert time.monotonic() - began_at < LIMIT_SECONDS / 2
    for thread in waiting:
        thread.join()
    assert {(one.status_code, one.json()["code"]) for one in answers} == {(504, "timed-out")}
    wait_until(lambda: not psutil.Process(shop.process.pid).children())


def test_a_file_that_prints_or_ends_the_process_is_answered(shop: Served) -> None:
    file = shop.flow.path / "pipelines" / "loud.py"
    file.write_text("print('noise')\n")
    assert shop.get("/pipelines")["problems"] == []
    file.write_text("import os\nos._exit(0)\n")
    refused = shop.client.get("/api/v1/pipelines")
    assert (refused.status_code, refused.json()["code"]) == (422, "bad-input")


def test_the_plan_of_a_registered_pipeline_needs_no_lock(shop: Served) -> None:
    name = shop.get("/pipelines")["pipelines"][0]["pipeline"]
    expected = shop.get(f"/pipelines/{name}/plan")
    with shop.flow.store() as store:
        settings = PipelineSettings(str(shop.flow.path), {}, lambda: "")
        catalog = Catalog(str(shop.flow.path), {})
        register_pipelines(store, catalog.definitions.values(), settings)
        plan = get_plan(store, name)
        while add_due_intervals(store, plan):
            pass
        holder = apsw.Connection(shop.flow.url.removeprefix("sqlite://"))
        holder.execute("BEGIN IMMEDIATE")
        found = shop.get(f"/pipelines/{name}/plan")
        holder.execute("ROLLBACK")
    assert found["counts"] == expected["counts"]
    assert [one["dataid"] for one in found["intervals"]] == [one["dataid"] for one in expected["intervals"]]


def test_a_run_of_a_pipeline_says_how_long_its_steps_took(shop: Served) -> None:
    name = shop.get("/pipelines")["pipelines"][0]["pipeline"]
    shop.flow.dataflow("run", name)
    run = shop.get("/runs", job=name)[-1]
    steps = [one["step"] for one in shop.get(f"/runs/{run['run_id']}/context")["steps"]]
    assert steps == ["fetch and shape", "check", "publish"]


def test_the_plan_is_the_same_by_reading_and_by_rehearsal_on_both_stores(
    project: Project, store_url: str
) -> None:
    flow = Flow(project, store_url)
    flow.dataflow("init", "--pipelines")
    flow.declare()
    settings = PipelineSettings(str(flow.path), {}, lambda: "")
    catalog = Catalog(str(flow.path), {})
    scene = Scene(catalog, settings, load_config(str(flow.path), flow.env, None))
    definition = next(iter(catalog.definitions.values()))
    with flow.store() as store:
        rehearsed = look_ahead(store, definition, scene)
        assert definition.job not in [plan.job.name for plan in store.read.list_plans()]
        register_pipelines(store, catalog.definitions.values(), settings)
        while add_due_intervals(store, get_plan(store, definition.job)):
            pass
        read = look_ahead(store, definition, scene)
    assert (read.counts, read.dataid) == (rehearsed.counts, rehearsed.dataid)
    assert [one.dataid for one in read.intervals] == [one.dataid for one in rehearsed.intervals]
    flow.end()
