"""Connections cut, cables pulled, servers restarted: nothing is lost and nothing is done twice."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.acceptance.flow import RECORDS, Flow, finish, is_running, wait_until
from tests.acceptance.proxy import Proxy
from tests.postgres import PostgresServer, create_database
from tests.project import Project


def test_a_connection_cut_between_commit_and_its_answer_repeats_nothing(postgres_flow: Flow) -> None:
    flow = postgres_flow
    flow.declare()
    chunks = [str(number) for number in range(30)]
    flow.ready("bobin", *chunks)
    flow.script("loadbob.sh")
    with Proxy(flow.url, cut=lambda number: number % 3 == 0) as proxy:
        done = flow.runjob(
            "--drain", "-j", "2", "--lease", "1h", "loadbob.sh", env={"DATAFLOW_STORE": proxy.url}
        )
        assert proxy.cuts >= 5
    assert "Traceback" not in done.stderr
    assert Counter(flow.lines()) == Counter(chunks)
    assert Counter(flow.outcomes()) == {"DONE": len(chunks)}
    assert set(flow.states().values()) == {"DONE"}
    assert flow.select("SELECT count(*) FROM run WHERE ended_at IS NULL") == [(0,)]


@pytest.mark.parametrize("nth", range(1, 7))
def test_a_single_run_survives_the_loss_of_any_one_answer(postgres_flow: Flow, nth: int) -> None:
    flow = postgres_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    with Proxy(flow.url, cut=lambda number: number == nth) as proxy:
        flow.runjob("--lease", "1h", "loadbob.sh", env={"DATAFLOW_STORE": proxy.url})
    assert flow.lines() == ["1"]
    assert flow.outcomes() == ["DONE"]
    assert flow.states() == {"1": "DONE"}


def test_a_worker_cut_off_from_the_store_ends_its_child_before_the_lease_lapses(postgres_flow: Flow) -> None:
    flow = postgres_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "echo $$ > pid; exec sleep 60")
    with Proxy(flow.url) as proxy:
        cut_off = flow.start(
            "--lease", "4s", "--grace", "0.5s", "loadbob.sh", env={"DATAFLOW_STORE": proxy.url}
        )
        child = flow.wait_for_pid("pid")
        proxy.stall()
        wait_until(lambda: not is_running(child))
        assert (flow.runs()[0].lease_left_seconds or 0) > 0
        wait_until(lambda: (flow.runs()[0].lease_left_seconds or 0) <= 0)
        flow.script("loadbob.sh")
        flow.runjob("loadbob.sh")
        assert flow.outcomes() == ["LOST", "DONE"]
        proxy.go_on()
        code, _, error = finish(cut_off, timeout=300)
    assert code == 125, error
    assert flow.outcomes() == ["LOST", "DONE"]
    assert flow.lines() == ["1"]


@pytest.mark.full
def test_a_server_restarted_every_few_seconds_under_load_loses_and_repeats_nothing(project: Project) -> None:
    # Durable: what was committed must be there after the restart.
    with PostgresServer.create(durable=True) as server:
        flow = Flow(project, server.url(create_database(server)))
        try:
            drain_through_restarts(flow, server, chunks=120, restarts=3)
        finally:
            flow.end()


def drain_through_restarts(flow: Flow, server: PostgresServer, chunks: int, restarts: int) -> None:
    """Four processes drain while the server dies and comes back; what they did is then counted."""
    dataids = [str(number) for number in range(chunks)]
    flow.declare()
    flow.ready("bobin", *dataids)
    flow.script("loadbob.sh", RECORDS + "; sleep 0.2")
    workers = [flow.start("--drain", "--lease", "10m", "loadbob.sh") for _ in range(4)]
    for _ in range(restarts):
        done = len(flow.lines())
        wait_until(lambda done=done: len(flow.lines()) >= done + 8, limit_seconds=300)  # type: ignore[misc]
        server.restart(immediate=True)
    for worker in workers:
        code, _, error = finish(worker, timeout=300)
        assert code == 0, error
        assert "Traceback" not in error
    assert Counter(flow.lines()) == Counter(dataids)
    assert Counter(flow.outcomes()) == {"DONE": chunks}
    assert set(flow.states().values()) == {"DONE"}
