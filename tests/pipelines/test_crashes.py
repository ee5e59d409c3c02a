"""A driver killed at any step: the same command again loses and duplicates nothing."""

from __future__ import annotations

import signal
import sqlite3
import textwrap
from collections.abc import Iterator
from contextlib import closing

import pyarrow.parquet as pq
import pytest

from dataflow.pipelines.lake.manifest import read_frame
from tests.pipelines.api_server import ApiServer
from tests.pipelines.postgres.orders import list_staging, query
from tests.project import Project

PIPELINE = """
class OrdersDatasetPipeline:
    table_name = "orders"
    source_url = constants.API + "/next"
    target_db = constants.TARGET
    field_mapping = [("id", "order_id", "bigint PRIMARY KEY"), ("name", "name", "text")]
"""
VIEW = """
class NamesViewPipeline:
    view_name = "names"
    dataset_pipeline = OrdersDatasetPipeline
    fields = [("name", "name")]
"""
DAY = "2026-11-14"
STEPS = {"after_page": range(1, 20), "after_fetch": range(1, 20)}
STEPS |= dict.fromkeys(["after_stage", "after_publish", "before_finish"], range(1))
"""Where the drivers are killed in turn, and how many of twenty pages each may request."""
ROWS = [{"id": number, "name": f"order {number}"} for number in range(200)]


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer(ROWS, page_size=10) as server:
        yield server


@pytest.fixture
def orders(project: Project, api: ApiServer) -> Project:
    (project.path / "pipelines").mkdir()
    (project.path / "pipelines" / "orders.py").write_text(textwrap.dedent(PIPELINE))
    (project.path / "constants.py").write_text(f"API = {api.origin!r}\nTARGET = 'lake'\n")
    (project.path / "dataflow.toml").touch()
    return project


def run(orders: Project, failpoint: str = "", name: str = "OrdersDatasetPipeline") -> int:
    env = {"DATAFLOW_FAILPOINT": failpoint} if failpoint else {}
    return orders.run(
        *("dataflow", "run", name, "--dataid", DAY), env=env, check=False, timeout=300
    ).returncode


def forget_the_loss(orders: Project) -> None:
    """Resets the losses of the work, which would otherwise be delayed and finally fail."""
    with closing(sqlite3.connect(orders.path / ".dataflow" / "dataflow.db", timeout=30)) as store, store:
        store.execute("update work set losses = 0")


def list_ids(orders: Project) -> list[int]:
    [row] = orders.json("dataflow", "sql", "select location from chunk where location <> ''")
    frame = read_frame(str(orders.path / row["location"]))
    return sorted(
        number for path in frame.files for number in pq.ParquetFile(path).read()["order_id"].to_pylist()
    )


def test_drivers_killed_at_each_step_lose_nothing_and_repeat_nothing(orders: Project, api: ApiServer) -> None:
    for step, pages in STEPS.items():
        asked = len(api.seen)
        assert run(orders, f"{step}:kill") == -signal.SIGKILL
        # Complete pages staged by a dead driver are not requested again.
        assert len(api.seen) - asked in pages, step
        forget_the_loss(orders)
    asked = len(api.seen)
    assert run(orders) == 0
    assert len(api.seen) == asked
    assert list_ids(orders) == list(range(200))
    outcomes = [found["outcome"] for found in orders.json("dataflow", "runs")]
    assert outcomes == ["DONE", *["LOST"] * len(STEPS)]


def test_a_table_whose_publisher_died_before_it_finished_is_finished_and_read_by_views(
    orders: Project, api: ApiServer, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (orders.path / "pipelines" / "orders.py").write_text(PIPELINE + VIEW)
    (orders.path / "constants.py").write_text(f"API = {api.origin!r}\nTARGET = 'warehouse'\n")
    monkeypatch.setenv("AIRFLOW_CONN_WAREHOUSE", postgres_url)
    assert run(orders, "after_publish:kill") == -signal.SIGKILL
    asked = len(api.seen)
    assert run(orders) == 0
    assert len(api.seen) == asked
    assert [found["outcome"] for found in orders.json("dataflow", "runs")] == ["DONE", "LOST"]
    [chunk] = orders.json(
        "dataflow", "sql", "select location, row_count, checked from chunk where location <> ''"
    )
    assert chunk["location"].endswith("?run=2")
    assert (chunk["row_count"], chunk["checked"]) == (
        200,
        "checked by the run that published it, which died",
    )
    assert run(orders, name="NamesViewPipeline") == 0
    found = query(postgres_url, "select count(distinct name) from names_2026_11_14")
    assert found == [(200,)]
    assert list_staging(postgres_url) == []
