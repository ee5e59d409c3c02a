"""A target that fails while a run writes to it: the run waits, reports the cause, and publishes once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from dataflow import failpoints
from dataflow.errors import TargetUnreachable
from dataflow.pipelines.handover.patience import Patience
from dataflow.pipelines.run import pipeline_run
from tests.acceptance.proxy import Proxy
from tests.pipelines.api_server import ApiServer
from tests.pipelines.postgres.orders import load, make_rows, make_target, query, read_orders, stage
from tests.pipelines.warehouse import PIPELINES
from tests.pipelines.workshop import Workshop
from tests.postgres import PostgresServer

NATIVE = """
    class NativeViewPipeline(NamesViewPipeline):
        view_name = "native"
        dataset_pipeline = OrdersDatasetPipeline
"""
ROWS = [{"id": number, "name": f"order {number}"} for number in range(45)]
WAITS = "The run waits and continues automatically."


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer.create() as own:
        yield own


@pytest.fixture
def url(server: PostgresServer) -> str:
    """The URL of the running server, without our tables."""
    if not server.is_running():
        server.start()
    with psycopg.connect(server.url(), autocommit=True) as database:
        database.execute("drop schema public cascade; create schema public")
        database.execute("drop schema if exists dataflow_staging cascade")
    return server.url()


@pytest.fixture
def orders(workshop: Workshop, url: str) -> Iterator[Workshop]:
    with ApiServer(ROWS) as api:
        workshop.environ |= {"API": api.origin, "DATAFLOW_CONN_WAREHOUSE": url}
        workshop.environ.pop("HAWK_ID")
        workshop.write("orders.py", PIPELINES + NATIVE)
        yield workshop


class Held:
    """A run suspended at a failpoint until it is released; the test controls the server."""

    def __init__(self, orders: Workshop, job: str, dataid: str | None, place: str) -> None:
        self._gate = orders.path / "gate"
        self._gate.unlink(missing_ok=True)
        self._orders = orders
        failpoints.arm(f"{place}:wait={self._gate}")
        self.done = 0
        self._running = threading.Thread(target=self._run, args=(job, dataid))

    def _run(self, job: str, dataid: str | None) -> None:
        self.done = self._orders.run(job, dataid).done

    def __enter__(self) -> Held:
        self._running.start()
        return self

    def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Waits until the condition holds; fails if the run ends first."""
        while not is_so():
            self._running.join(0.05)
            assert self._running.is_alive(), self._orders.said

    def let_go(self) -> None:
        """Resumes the run; it does not stop there again."""
        failpoints.arm("after_stage:,after_fetch:")
        self._gate.touch()

    def __exit__(self, *_: object) -> None:
        self.let_go()
        self._running.join()


def count(server: PostgresServer, table: str) -> int:
    return int(query(server.url(), f"select count(*) from {table}")[0][0])


def count_staging(server: PostgresServer) -> int:
    """The number of staging tables."""
    [(found,)] = query(server.url(), "select count(*) from pg_tables where schemaname = 'dataflow_staging'")
    return int(found)


def is_staged(server: PostgresServer, rows: int) -> bool:
    """True if a run has staged this many rows."""
    sql = "select schemaname || '.' || tablename from pg_tables where schemaname = 'dataflow_staging'"
    return any(count(server, name) == rows for (name,) in query(server.url(), sql))


@pytest.mark.parametrize("place", ["after_fetch", "after_stage"])
@pytest.mark.parametrize("is_crash", [True, False])
def test_a_run_waits_for_a_restarting_target_and_writes_each_row_once(
    orders: Workshop, server: PostgresServer, place: str, is_crash: bool
) -> None:
    # From the second day on rows are staged in an unlogged table, which a crash empties.
    assert orders.run("OrdersDatasetPipeline", "2026-11-13").done == 1, orders.said
    with Held(orders, "OrdersDatasetPipeline", "2026-11-14", place) as held:
        held.wait_until(
            lambda: is_staged(server, len(ROWS)) if place == "after_stage" else count_staging(server) == 1
        )
        server.stop(immediate=is_crash)
        held.let_go()
        held.wait_until(lambda: WAITS in orders.log())
        server.start()
    assert held.done == 1, orders.said
    assert count(server, "orders") == len(ROWS)
    published = "select count(*) from dataflow_ledger where run_id is not null"
    assert query(server.url(), published) == [(2,)]
    assert count_staging(server) == 0
    assert "Connection warehouse does not answer" in orders.log()


@pytest.mark.parametrize("job", ["NamesViewPipeline", "NativeViewPipeline"])
def test_a_view_is_computed_again_after_its_target_crashed(
    orders: Workshop, server: PostgresServer, job: str
) -> None:
    source = "LocalDatasetPipeline" if job == "NamesViewPipeline" else "OrdersDatasetPipeline"
    assert orders.run(source, "2026-11-14").done == 1, orders.said
    with Held(orders, job, None, "after_stage") as held:
        held.wait_until(lambda: is_staged(server, len(ROWS)))
        server.stop()
        held.let_go()
        held.wait_until(lambda: WAITS in orders.log())
        server.start()
    assert held.done == 1, orders.said
    named = "select table_name from dataflow_ledger where dataset in ('names', 'native')"
    [(table,)] = query(server.url(), named)
    assert count(server, f'"{table}"') == len(ROWS)


def test_a_commit_that_a_crashing_server_did_not_confirm_is_found_in_the_ledger(
    server: PostgresServer, url: str
) -> None:
    load(make_target(url, 1), make_rows(1, "old"))
    staging = make_target(url, 2, "2024-01-02", strategy="append")
    staging.begin()
    staged = stage(staging, make_rows(3, first=1))
    waited: list[str] = []

    def restart(trouble: str, left: float) -> None:
        if not waited:
            server.restart()
        waited.append(trouble)

    with Proxy(url, cut=lambda number: number == 1) as proxy:
        target = make_target(proxy.url, 2, "2024-01-02", strategy="append")
        target.patience = Patience([0.01] * 5, restart)
        assert target.publish([staged]).rows == 3
        assert proxy.cuts == 1
    assert len(waited) >= 1
    assert len(read_orders(url)) == 4


def test_an_unreachable_target_is_reported_with_the_time_waited(
    orders: Workshop, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline_run, "WAITS", (0.1, 0.2))
    with Held(orders, "OrdersDatasetPipeline", "2026-11-14", "after_fetch") as held:
        held.wait_until(lambda: count_staging(server) == 1)
        server.stop()
    assert held.done == 0
    said = "\n".join(orders.said)
    assert "OrdersDatasetPipeline 2026-11-14: Connection warehouse does not answer: " in said
    assert "Gave up after 0 s." in said
    assert server.password not in said + orders.log()


def test_the_targets_error_in_a_task_is_in_the_message(orders: Workshop, server: PostgresServer) -> None:
    with Held(orders, "OrdersDatasetPipeline", "2026-11-14", "after_fetch") as held:
        held.wait_until(lambda: count_staging(server) == 1)
        query(server.url(), "alter role postgres set default_transaction_read_only = on")
    query(server.url(), "set transaction read write; alter role postgres reset default_transaction_read_only")
    assert held.done == 0
    said = "\n".join(orders.said)
    assert "TargetError: Connection warehouse answered: cannot execute COPY FROM in a read-only" in said
    assert "An exception was thrown" not in said


def test_retrying_ends_and_reports_how_long_it_took() -> None:
    told: list[str] = []
    short = Patience([0.05, 1.0], lambda trouble, left: told.append(trouble))

    def work() -> None:
        raise TargetUnreachable("Connection x does not answer.")

    with pytest.raises(TargetUnreachable, match=r"Connection x does not answer\. Gave up after 1 s\."):
        short.repeat(work)
    assert set(told) == {"Connection x does not answer."}
