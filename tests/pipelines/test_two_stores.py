"""Two stores, or one and its restored backup, in one project: neither touches what the other's runs made."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

import apsw
import pytest

from dataflow.actions.purge import Retained, retain
from dataflow.errors import FetchError
from tests.pipelines.api_server import ApiServer, Hawk
from tests.pipelines.workshop import HAWK, Workshop

PIPELINE = """
    class OrdersDatasetPipeline:
        table_name = "orders"
        source_url = constants.API + "/next"
        field_mapping = [("id", "order_id", "bigint PRIMARY KEY"), ("name", "name", "text")]
"""
NAME = "OrdersDatasetPipeline"
DAY = "2026-11-14"


@pytest.fixture
def api() -> Iterator[ApiServer]:
    rows = [{"id": number, "name": f"order {number}"} for number in range(50)]
    with ApiServer(rows, page_size=10, hawk=Hawk(HAWK["HAWK_ID"], HAWK["HAWK_KEY"])) as server:
        yield server


@pytest.fixture
def orders(workshop: Workshop, api: ApiServer) -> Workshop:
    workshop.environ["API"] = api.origin
    workshop.write("orders.py", PIPELINE)
    return workshop


def back_up(orders: Workshop, copy: str) -> None:
    state = orders.path / ".dataflow"
    with (
        closing(apsw.Connection(str(state / "dataflow.db"))) as store,
        closing(apsw.Connection(str(state / copy))) as kept,
        kept.backup("main", store, "main") as backup,
    ):
        backup.step()


def test_a_second_store_neither_overwrites_nor_purges_what_the_first_published(
    orders: Workshop, api: ApiServer
) -> None:
    assert orders.run(NAME, DAY).done == 1
    orders.use("b.db")
    api.rows, api.page_size = api.rows[:20], 5  # pages are kept by their size
    assert orders.run(NAME, DAY).done == 1  # both are run 1
    assert len(orders.rows("orders", DAY)) == 20
    assert retain(orders.store, 0, str(orders.path), "") == Retained(0, 0, 0)
    orders.use("dataflow.db")
    assert len(orders.rows("orders", DAY)) == 50
    assert retain(orders.store, 0, str(orders.path), "") == Retained(0, 0, 0)
    orders.use("b.db")
    assert len(orders.rows("orders", DAY)) == 20


def test_a_restored_store_does_again_what_it_has_forgotten(orders: Workshop, api: ApiServer) -> None:
    orders.register()
    back_up(orders, "b.db")
    assert orders.run(NAME, DAY).done == 1
    orders.use("b.db")
    api.rows, api.page_size = api.rows[:20], 5  # pages are kept by their size
    assert orders.run(NAME, DAY).done == 1  # is run 1 again
    assert len(orders.rows("orders", DAY)) == 20
    orders.use("dataflow.db")
    assert len(orders.rows("orders", DAY)) == 50


@pytest.mark.parametrize("kind", ["other", "restored"])
def test_pages_that_a_run_of_another_store_fetched_are_not_used(
    orders: Workshop, api: ApiServer, kind: str
) -> None:
    if kind == "restored":
        orders.register()
        back_up(orders, "b.db")
    api.fail(2, "html", times=2)
    assert isinstance(orders.run(NAME, DAY).error, FetchError)
    orders.use("b.db")
    asked = len(api.seen)
    assert isinstance(orders.run(NAME, DAY).error, FetchError)
    assert [seen.page for seen in api.seen[asked:]] == [0, 1, 2]
    orders.resubmit(NAME, DAY)
    assert orders.run(NAME, DAY).done == 1
    assert [seen.page for seen in api.seen[asked + 3 :]] == [2, 3, 4]
    if kind == "other":  # the second store has not removed them either
        orders.use("dataflow.db")
        orders.resubmit(NAME, DAY)
        assert orders.run(NAME, DAY).done == 1
        assert [seen.page for seen in api.seen[asked + 6 :]] == [2, 3, 4]
