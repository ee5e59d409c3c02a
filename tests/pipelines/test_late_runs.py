"""A run that published but did not finish, and the next run of the same work."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from dataflow import failpoints
from dataflow.actions.interventions import cancel
from tests.pipelines.api_server import ApiServer
from tests.pipelines.postgres.orders import query
from tests.pipelines.workshop import Workshop

JOB, DAY = "OrdersDatasetPipeline", "2026-11-14"
PIPELINE = """
    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        target_db = "warehouse"
        field_mapping = [("id", "id", "bigint PRIMARY KEY"), ("name", "name", "text")]
"""


@pytest.fixture
def api() -> Iterator[ApiServer]:
    with ApiServer([{"id": number, "name": "first"} for number in range(40)], page_size=10) as server:
        yield server


@pytest.fixture
def orders(workshop: Workshop, api: ApiServer, postgres_url: str) -> Workshop:
    workshop.environ = {"API": api.origin, "DATAFLOW_CONN_WAREHOUSE": postgres_url}
    workshop.write("orders.py", PIPELINE)
    return workshop


@contextmanager
def frozen_after_publish(orders: Workshop, gate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A run suspended between publish and finish; it resumes at the end, too late."""
    monkeypatch.setitem(failpoints._armed, "after_publish", f"wait={gate}")
    with ThreadPoolExecutor(1) as pool:
        late = pool.submit(orders.run, JOB, DAY)
        try:
            while not count(orders, "dataflow_ledger where run_id is not null"):
                time.sleep(0.05)
            monkeypatch.delitem(failpoints._armed, "after_publish")
            yield
        finally:
            gate.touch()
    assert late.result().done == 0


def count(orders: Workshop, rows: str) -> int:
    url = orders.environ["DATAFLOW_CONN_WAREHOUSE"]
    name = rows.partition(" ")[0]
    if query(url, f"select to_regclass('{name}')") == [(None,)]:
        return 0
    return int(query(url, f"select count(*) from {rows}")[0][0])


def fix_names(api: ApiServer) -> None:
    for row in api.rows:
        row["name"] = "fixed"
    api._bodies.clear()


def test_the_next_run_finishes_it_without_reading_the_source_again(
    orders: Workshop, api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with frozen_after_publish(orders, tmp_path / "go", monkeypatch):
        fix_names(api)
        orders.let_the_lease_lapse()
        assert orders.run(JOB, DAY).done == 1, orders.said
    assert count(orders, "orders where name = 'first'") == 40


def test_it_is_repeated_if_the_definition_changed(
    orders: Workshop, api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with frozen_after_publish(orders, tmp_path / "go", monkeypatch):
        fix_names(api)
        orders.let_the_lease_lapse()
        orders.write("orders.py", PIPELINE.replace("/next", "/next?again=1"))
        assert orders.run(JOB, DAY).done == 1, orders.said
    assert count(orders, "orders where name = 'fixed'") == 40


def test_it_is_repeated_after_a_resubmit(
    orders: Workshop, api: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with frozen_after_publish(orders, tmp_path / "go", monkeypatch):
        fix_names(api)
        cancel(orders.store, 1)
        orders.let_the_lease_lapse()
        orders.resubmit(JOB, DAY)
        assert orders.run(JOB, DAY).done == 1, orders.said
    assert count(orders, "orders where name = 'fixed'") == 40
    assert not list((orders.path / ".dataflow" / "staging").rglob("part-*"))
