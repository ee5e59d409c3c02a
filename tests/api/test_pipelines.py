"""Pipelines are shown as the commands show them, without Spark."""

from __future__ import annotations

from collections.abc import Iterator

import psutil
import pytest

from tests.acceptance.flow import Flow
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
