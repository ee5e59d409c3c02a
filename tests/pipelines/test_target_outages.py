"""A target that goes away while a run writes to it: waited for, told with its cause, published once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import psycopg
import pytest

from dataflow import failpoints
from dataflow.errors import TargetUnreachable
from dataflow.pipelines.handover.patience import Patience
from dataflow.pipelines.run import leases
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
WAITS = "The run waits for it and goes on by itself."


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer.create() as own:
        yield own


@pytest.fixture
def url(server: PostgresServer) -> str:
    """The running server's, with nothing of ours in it."""
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
    """A run that stands still at a place until it is let go; what happens to the server is the test's."""

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
        """Until it is so; fails when the run ends before."""
        while not is_so():
            self._running.join(0.05)
            assert self._running.is_alive(), self._orders.said

    def let_go(self) -> None:
        """Has the run go on; it does not stop there again."""
        failpoints.arm("after_stage:,after_fetch:")
        self._gate.touch()

    def __exit__(self, *_: object) -> None:
        self.let_go()
        self._running.join()


def count(server: PostgresServer, table: str) -> int:
    return int(query(server.url(), f"select count(*) from {table}")[0][0])


def count_staging(server: PostgresServer) -> int:
    """How many staging tables there are."""
    [(found,)] = query(server.url(), "select count(*) from pg_tables where schemaname = 'dataflow_staging'")
    return int(found)


def is_staged(server: PostgresServer, rows: int) -> bool:
    """Whether a run has staged so many rows."""
    sql = "select schemaname || '.' || tablename from pg_tables where schemaname = 'dataflow_staging'"
    return any(count(server, name) == rows for (name,) in query(server.url(), sql))


@pytest.mark.parametrize("place", ["after_fetch", "after_stage"])
@pytest.mark.parametrize("is_crash", [True, False])
def test_a_target_that_restarts_is_waited_for_and_has_each_row_once(
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
def test_a_view_is_computed_again_when_its_target_has_crashed(
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


def test_a_commit_without_an_answer_from_a_server_that_crashes_is_found_in_the_ledger(
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


def test_a_target_that_stays_away_is_told_with_how_long_it_was_waited_for(
    orders: Workshop, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leases, "WAITS", (0.1, 0.2))
    with Held(orders, "OrdersDatasetPipeline", "2026-11-14", "after_fetch") as held:
        held.wait_until(lambda: count_staging(server) == 1)
        server.stop()
    assert held.done == 0
    said = "\n".join(orders.said)
    assert "OrdersDatasetPipeline 2026-11-14: Connection warehouse does not answer: " in said
    assert "Gave up after 0 s." in said
    assert server.password not in said + orders.log()


def test_what_a_task_is_told_by_the_target_is_in_the_message(
    orders: Workshop, server: PostgresServer
) -> None:
    with Held(orders, "OrdersDatasetPipeline", "2026-11-14", "after_fetch") as held:
        held.wait_until(lambda: count_staging(server) == 1)
        query(server.url(), "alter role postgres set default_transaction_read_only = on")
    query(server.url(), "set transaction read write; alter role postgres reset default_transaction_read_only")
    assert held.done == 0
    said = "\n".join(orders.said)
    assert "TargetError: Connection warehouse answered: cannot execute COPY FROM in a read-only" in said
    assert "An exception was thrown" not in said


def test_patience_ends_and_says_how_long_it_was() -> None:
    told: list[str] = []
    short = Patience([0.05, 1.0], lambda trouble, left: told.append(trouble))

    def work() -> None:
        raise TargetUnreachable("Connection x does not answer.")

    with pytest.raises(TargetUnreachable, match=r"Connection x does not answer\. Gave up after 1 s\."):
        short.repeat(work)
    assert set(told) == {"Connection x does not answer."}
