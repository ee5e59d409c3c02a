"""Processes killed, stopped and told to go at random for a minute, on one machine and on two."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time

import pytest

from dataflow.runjob.processes import GUARD_NAMES
from tests.acceptance.flow import (
    Flow,
    children_of,
    family,
    finish,
    kill_together,
    name_of,
    signal_all,
    state_of,
    wait_until,
)
from tests.chaos.history import (
    BEATING,
    assert_each_chunk_was_done_once,
    assert_no_two_runs_of_a_chunk_overlap,
)

SECONDS = 45
SHORT = ("--lease", "4s", "--grace", "0.5s")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """A new seed each time, printed when the test fails."""
    value = random.randrange(1_000_000)
    print(f"seed {value}")
    return value


def set_up(flow: Flow, chunks: int, longest: float) -> list[str]:
    dataids = [str(number) for number in range(chunks)]
    flow.declare()
    flow.ready("bobin", *dataids)
    flow.script("loadbob.py", BEATING.replace("{longest}", str(longest)), interpreter=sys.executable)
    return dataids


def finish_all(flow: Flow) -> None:
    """The ordinary command, until everything is done; work that was lost often waits for minutes before."""
    for _ in range(20):
        flow.dataflow("resubmit", "loadbob", "--failed", check=False)
        waiting = [dataid for dataid, state in flow.states().items() if state == "WAITING"]
        if waiting:
            flow.dataflow("resubmit", "loadbob", *waiting, check=False)
        flow.runjob("--drain", "-j", "2", "--quiet", "loadbob.py", code=None, timeout=120)
        if set(flow.states().values()) == {"DONE"}:
            return
        time.sleep(1)
    raise AssertionError(flow.states())


@pytest.mark.timeout(400)
def test_random_kills_and_pauses_lose_nothing_and_let_no_two_runs_overlap(flow: Flow, seed: int) -> None:
    chance = random.Random(seed)
    dataids = set_up(flow, chunks=300, longest=0.4)
    workers: list[subprocess.Popen[str]] = []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and set(flow.states().values()) != {"DONE"}:
        workers = [worker for worker in workers if worker.poll() is None]
        while len(workers) < 3:
            workers.append(flow.start("--drain", "-j", "2", *SHORT, "loadbob.py", **quiet))
        time.sleep(chance.uniform(0.1, 0.8))
        strike(chance, chance.choice(workers).pid)
    for worker in workers:
        worker.kill()
        worker.wait()
    finish_all(flow)
    assert_no_two_runs_of_a_chunk_overlap(flow)
    assert_each_chunk_was_done_once(flow, dataids)


def strike(chance: random.Random, pid: int) -> None:
    """Do something bad to a RunJob, its guards or its children."""
    guards = list_guards(pid)
    children = [child for child in children_of(pid) if child not in guards]
    blow = chance.choice(["kill", "kill", "pair", "all", "guard", "child", "term", "pause", "long pause"])
    if blow == "kill":
        kill_together(pid)
    elif blow == "pair":
        kill_together(pid, *guards[:1])
    elif blow == "all":
        kill_together(pid, *guards)
    elif blow == "guard":
        signal_all(guards[:1], signal.SIGKILL)
    elif blow == "child" and children:
        signal_all([chance.choice(children)], signal.SIGKILL)
    elif blow == "term":
        signal_all([pid], signal.SIGTERM)
    elif blow.endswith("pause"):
        victims = [pid, *family(pid)]
        signal_all(victims, signal.SIGSTOP)
        time.sleep(chance.uniform(4.5, 6) if blow == "long pause" else chance.uniform(0.1, 1))
        signal_all(victims, signal.SIGCONT)


def list_guards(pid: int) -> list[int]:
    """The guard of a RunJob and its backup, as far as they are alive."""
    return [child for child in children_of(pid) if name_of(child) in GUARD_NAMES]


@pytest.mark.timeout(300)
def test_several_paused_past_their_leases_and_woken_in_any_order(flow: Flow, seed: int) -> None:
    chance = random.Random(seed)
    dataids = set_up(flow, chunks=60, longest=0.5)
    workers = [flow.start("--drain", *SHORT, "loadbob.py") for _ in range(6)]
    wait_until(lambda: len(flow.runs()) >= 12)
    paused = chance.sample([worker.pid for worker in workers if worker.poll() is None], 3)
    processes = {pid: [pid, *family(pid)] for pid in paused}
    for pids in processes.values():
        signal_all(pids, signal.SIGSTOP)
        time.sleep(chance.uniform(0, 0.5))
    wait_until(lambda: all(state_of(pid) == "T" for pid in paused))
    began = time.monotonic()
    wait_until(lambda: time.monotonic() - began > 5)
    chance.shuffle(paused)
    for pid in paused:
        pids = processes[pid]
        chance.shuffle(pids)
        signal_all(pids, signal.SIGCONT)
    codes = {finish(worker, timeout=120)[0] for worker in workers}
    # One killed from outside the run of another's successor may count as failed: none may be anything else.
    assert codes <= {0, 1, 125}
    finish_all(flow)
    assert_no_two_runs_of_a_chunk_overlap(flow)
    assert_each_chunk_was_done_once(flow, dataids)


@pytest.mark.timeout(300)
def test_two_machines_share_the_work_through_kills(postgres_flow: Flow, seed: int) -> None:
    """What only one machine knows (locks, tokens) is of no use to the other: the leases alone decide."""
    flow = postgres_flow
    chance = random.Random(seed)
    dataids = set_up(flow, chunks=120, longest=0.4)
    until = time.monotonic() + SECONDS
    here: list[subprocess.Popen[str]] = []
    there: list[subprocess.Popen[str]] = []
    while time.monotonic() < until and set(flow.states().values()) != {"DONE"}:
        here = [worker for worker in here if worker.poll() is None] or [
            flow.start("--drain", *SHORT, "loadbob.py")
        ]
        there = [worker for worker in there if worker.poll() is None] or [
            flow.elsewhere("--drain", *SHORT, "loadbob.py")
        ]
        time.sleep(chance.uniform(0.5, 1.5))
        victim = chance.choice(here + there).pid
        signal_all([victim] if chance.random() < 0.5 else list_guards(victim), signal.SIGKILL)
    for worker in here + there:
        worker.kill()
        worker.wait()
    finish_all(flow)
    assert_no_two_runs_of_a_chunk_overlap(flow)
    assert_each_chunk_was_done_once(flow, dataids)
