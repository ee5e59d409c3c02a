"""How a worker ends: it drains, hands back, is killed, or loses the store; nothing is left behind."""

from __future__ import annotations

import signal
import time
from collections import Counter

import pytest

from tests.acceptance.flow import Flow, family, is_running, kill_together, wait_until
from tests.acceptance.proxy import Proxy
from tests.postgres import PostgresServer, create_database
from tests.project import Project
from tests.service.crew import ONE, RECORDS_JOB, SLEEPS, Crew

HAND_BACK = 128 + signal.SIGTERM
WAITS = 'echo "$dataid" >> began; while ! test -e go; do sleep 0.05; done; echo "$dataid" >> ran'


def test_sigterm_finishes_what_runs_and_claims_nothing_more(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh", WAITS)
    crew.flow.ready("raw", "1", "2", "3")
    worker = crew.start_ready("-j", "1")
    wait_until(lambda: crew.flow.lines("began") == ["1"])
    worker.send(signal.SIGTERM)
    crew.flow.ready("raw", "0")  # comes first, and wakes nobody who drains
    (crew.flow.path / "go").touch()
    assert worker.process.wait(60) == 0, worker.said
    assert crew.flow.lines() == ["1"]
    assert crew.flow.states("load") == {"0": "CLAIMABLE", "1": "DONE", "2": "CLAIMABLE", "3": "CLAIMABLE"}
    assert crew.list_pids() == []


def test_a_second_sigterm_hands_the_work_back(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh", SLEEPS)
    crew.flow.ready("raw", "1", "2")
    worker = crew.start_ready("-j", "2")
    children = [crew.flow.wait_for_pid(f"pid.{number}") for number in (1, 2)]
    worker.send(signal.SIGTERM)
    time.sleep(0.5)  # two signals that arrive together count as one
    assert all(map(is_running, children))
    assert worker.end(signal.SIGTERM) == HAND_BACK, worker.said
    assert not any(map(is_running, children))
    assert crew.flow.states("load") == {"1": "CLAIMABLE", "2": "CLAIMABLE"}
    assert crew.flow.outcomes() == ["INTERRUPTED", "INTERRUPTED"]


def test_sigint_drains_an_idle_worker_at_once(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(ONE)
    sqlite_crew.flow.script("load.sh")
    worker = sqlite_crew.start_ready()
    assert worker.end(signal.SIGINT) == 0, worker.said
    assert sqlite_crew.list_pids() == []


def test_a_killed_worker_leaves_no_child_and_another_goes_on_at_once(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh", SLEEPS)
    crew.flow.ready("raw", "1", "2")
    first = crew.start_ready("-j", "2")
    children = [crew.flow.wait_for_pid(f"pid.{number}") for number in (1, 2)]
    second = crew.start_ready("-j", "2")
    crew.flow.script("load.sh", RECORDS_JOB)
    began_at = time.monotonic()
    first.send(signal.SIGKILL)
    wait_until(lambda: set(crew.flow.states("load").values()) == {"DONE"})
    print(f"the work of a killed worker was done again after {time.monotonic() - began_at:.2f} s")
    assert not any(map(is_running, children))
    assert sorted(crew.flow.lines()) == ["load 1", "load 2"]
    assert crew.flow.outcomes() == ["LOST", "LOST", "DONE", "DONE"]
    wait_until(lambda: crew.list_pids() == [second.pid])
    assert "is gone" in second.said
    assert second.end() == 0, second.said


def test_the_work_of_a_killed_runjob_is_taken_over_too(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(ONE)
    sqlite_crew.flow.script("load.sh", SLEEPS)
    sqlite_crew.flow.ready("raw", "1")
    worker_free = sqlite_crew.flow.start("load.sh")
    sqlite_crew.flow.wait_for_pid("pid.1")
    sqlite_crew.start_ready()
    sqlite_crew.flow.script("load.sh", RECORDS_JOB)
    worker_free.kill()
    wait_until(lambda: sqlite_crew.flow.states("load") == {"1": "DONE"})


def test_a_worker_that_lost_the_store_stops_its_children_in_time_and_goes_on_with_it(
    project: Project,
) -> None:
    with PostgresServer.create(durable=True) as server:
        flow = Flow(project, server.url(create_database(server)))
        try:
            crew = Crew(flow)
            crew.declare(ONE + 'lease = "6s"\ngrace = "1s"\n')
            flow.script("load.sh", SLEEPS)
            flow.ready("raw", "1")
            worker = crew.start_ready()
            child = flow.wait_for_pid("pid.1")
            flow.script("load.sh", RECORDS_JOB)
            server.stop()
            wait_until(lambda: not is_running(child), 30)
            assert worker.process.poll() is None
            server.start()
            wait_until(lambda: flow.states("load") == {"1": "DONE"})
            assert worker.said.count("waits for the store") <= 1, worker.said
            flow.ready("raw", "2")
            wait_until(lambda: flow.states("load") == {"1": "DONE", "2": "DONE"})
            assert worker.end() == 0, worker.said
        finally:
            flow.end()


def test_short_restarts_of_the_store_lose_no_chunk_and_repeat_none(project: Project) -> None:
    with PostgresServer.create(durable=True) as server:
        flow = Flow(project, server.url(create_database(server)))
        try:
            crew = Crew(flow)
            crew.declare()
            flow.script("step.sh", RECORDS_JOB)
            worker = crew.start_ready("-j", "2")
            for batch in range(3):
                flow.ready("raw", *(str(batch * 10 + number) for number in range(10)))
                wait_until(lambda batch=batch: len(flow.lines()) > batch * 30 + 5)  # type: ignore[misc]
                server.restart()
            wait_until(lambda: len(flow.lines()) >= 90)
            assert worker.end() == 0, worker.said
            assert Counter(flow.lines()) == Counter(
                f"{job} {number}" for job in ("extract", "load", "report") for number in range(30)
            )
            assert set(flow.outcomes()) == {"DONE"}
        finally:
            flow.end()


def test_answers_that_get_lost_repeat_nothing(project: Project, postgres_url: str) -> None:
    flow = Flow(project, postgres_url)
    try:
        crew = Crew(flow)
        crew.declare()
        flow.script("step.sh", RECORDS_JOB)
        flow.ready("raw", *map(str, range(10)))
        with Proxy(flow.url, cut=lambda number: number % 5 == 0) as proxy:
            worker = crew.start("-j", "2", env={"DATAFLOW_STORE": proxy.url})
            wait_until(lambda: set(flow.states("report").values()) == {"DONE"} and len(flow.lines()) == 30)
            assert proxy.cuts >= 5
            assert worker.end() == 0, worker.said
        assert len(set(flow.lines())) == 30
        assert set(flow.outcomes()) == {"DONE"}, worker.said
    finally:
        flow.end()


def test_signals_are_heard_while_the_store_does_not_answer(project: Project, postgres_url: str) -> None:
    flow = Flow(project, postgres_url)
    try:
        crew = Crew(flow)
        crew.declare(ONE + 'lease = "1h"\ngrace = "1s"\n')
        waits = "while [ ! -e go_on ]; do sleep 0.05; done; touch ended"
        flow.script("load.sh", f'[ "$dataid" = 1 ] && {{ {waits}; exit 0; }}; {SLEEPS}')
        flow.ready("raw", "1", "2")
        with Proxy(flow.url) as proxy:
            worker = crew.start("-j", "2", env={"DATAFLOW_STORE": proxy.url})
            sleeper = flow.wait_for_pid("pid.2")
            proxy.stall()
            (flow.path / "go_on").touch()
            wait_until((flow.path / "ended").exists)
            time.sleep(0.5)  # it is recording that now, and would wait for long
            began_at = time.monotonic()
            worker.send(signal.SIGTERM)
            worker.wait_for("does not answer. The worker waits for the store.", 10)
            print(f"a signal was heard after {time.monotonic() - began_at:.2f} s")
            assert is_running(sleeper)
            worker.send(signal.SIGTERM)
            wait_until(lambda: not is_running(sleeper), 10)
            print(f"the second one ended the script after {time.monotonic() - began_at:.2f} s")
            proxy.go_on()
            assert worker.process.wait(60) == 128 + signal.SIGTERM, worker.said
        assert flow.states("load") == {"1": "DONE", "2": "CLAIMABLE"}, worker.said
    finally:
        flow.end()


def test_a_worker_with_nothing_but_an_unanswered_claim_ends_and_another_one_takes_it(
    project: Project, postgres_url: str
) -> None:
    flow = Flow(project, postgres_url)
    try:
        crew = Crew(flow)
        crew.declare(ONE + 'lease = "1h"\n')
        flow.script("load.sh", RECORDS_JOB)

        def stall_after_claim(_number: int) -> bool:
            if flow.select("SELECT 1 FROM work"):
                time.sleep(0.3)  # the server commits
                if flow.outcomes():
                    proxy.stall()
            return False

        with Proxy(flow.url, cut=stall_after_claim) as proxy:
            worker = crew.start("-j", "1", env={"DATAFLOW_STORE": proxy.url})
            wait_until(lambda: worker.pid in crew.list_pids())
            flow.ready("raw", "1")
            wait_until(lambda: flow.outcomes() == ["RUNNING"])
            time.sleep(0.5)
            began_at = time.monotonic()
            assert worker.end(limit_seconds=20) == 0, worker.said
            print(f"the worker ended after {time.monotonic() - began_at:.2f} s")
        assert flow.lines() == []
        crew.drain()  # sooner than its lease lapses
        assert flow.lines() == ["load 1"]
    finally:
        flow.end()


def test_an_ending_whose_answer_is_lost_for_long_counts_as_accepted(
    project: Project, postgres_url: str
) -> None:
    flow = Flow(project, postgres_url)
    try:
        crew = Crew(flow)
        crew.declare(ONE + 'lease = "1h"\n')
        flow.script("load.sh", RECORDS_JOB)
        flow.ready("raw", "1")
        with Proxy(flow.url, cut=lambda number: (flow.path / "ran").exists() and not gone.exists()) as proxy:
            gone = flow.path / "gone"
            worker = crew.start("-j", "1", env={"DATAFLOW_STORE": proxy.url})
            worker.wait_for("The worker waits for the store.", 120)  # longer than a verb retries by itself
            gone.touch()
            worker.wait_for("load 1: DONE")
            assert worker.end() == 0, worker.said
        assert "not accepted" not in worker.said
        assert flow.outcomes() == ["DONE"]
    finally:
        flow.end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_of_a_worker_outlives_it(sqlite_crew: Crew, number: int) -> None:
    sqlite_crew.declare(ONE)
    sqlite_crew.flow.script("load.sh", "sleep 300 & echo $! > pid.1; sleep 0.2")
    sqlite_crew.flow.ready("raw", "1")
    worker = sqlite_crew.start_ready()
    grandchild = sqlite_crew.flow.wait_for_pid("pid.1")
    everyone = [*family(worker.pid), grandchild]
    worker.end(number)
    wait_until(lambda: not any(map(is_running, everyone)))


def test_a_chunk_that_kills_its_worker_takes_no_other_chunk_into_quarantine(crew: Crew) -> None:
    crew.declare(ONE + "max_crashes = 2\n")
    crew.flow.script("load.sh", 'echo "$dataid" >> began; test $dataid != 1 || kill -9 $PPID; sleep 1')
    crew.flow.ready("raw", "1", "2", "3", "4")
    for _ in range(30):
        if {"DONE", "FAILED"}.issuperset(crew.flow.states("load").values()):
            break
        crew.start("--until-idle", "-j", "4").process.wait(60)
    assert crew.flow.states("load") == {"1": "FAILED", "2": "DONE", "3": "DONE", "4": "DONE"}
    assert crew.flow.outcomes().count("LOST") >= 5  # all four, and the bad one alone


def test_a_worker_until_idle_takes_over_the_only_work_from_a_dead_one(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh", SLEEPS)
    crew.flow.ready("raw", "1")
    dead = crew.start_ready()
    crew.flow.wait_for_pid("pid.1")
    crew.flow.script("load.sh", RECORDS_JOB)
    kill_together(dead.pid, *family(dead.pid))
    dead.process.wait()
    assert f"(process {dead.pid}) is gone." in crew.drain()
    assert crew.flow.states("load") == {"1": "DONE"}
