"""A RunJob paused for longer than its lease has lost its work when it wakes up."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tests.acceptance.flow import (
    Flow,
    family,
    find_guards,
    finish,
    is_running,
    signal_all,
    state_of,
    wait_until,
)

STAGED = """
[dataset.bobin]
[dataset.bobout]
location = "out/{dataid}/{run_id}.txt"
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
"""
SCRIPT = """
echo $$ > "pid.$DATAFLOW_RUN_ID"
until test -e "go.$DATAFLOW_RUN_ID"; do sleep 0.01; done
echo "run $DATAFLOW_RUN_ID" > "$bobout_location"
"""
SHORT = ("--lease", "3.2s", "--grace", "0.1s")


def start_paused(flow: Flow, place: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A RunJob that is stopped with all its processes and whose lease has lapsed."""
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", SCRIPT)
    env = {}
    if place == "about to publish":
        (flow.path / "go.1").touch()
        env["DATAFLOW_FAILPOINT"] = "before_finish:stop"
    paused = flow.start(*SHORT, "loadbob.sh", env=env)
    if place == "about to publish":
        wait_until(lambda: state_of(paused.pid) == "T")
        processes = [paused.pid]
    else:
        child = flow.wait_for_pid("pid.1")
        os.kill(paused.pid, signal.SIGSTOP)
        # The guards come last when they go on, so that they do not end the child before RunJob has looked.
        processes = sorted(
            [paused.pid, *family(paused.pid)], key=lambda pid: (pid != child, pid != paused.pid)
        )
        signal_all(processes, signal.SIGSTOP)
        if place == "its child ends at once":
            (flow.path / "go.1").touch()
    wait_until(lambda: (flow.runs()[0].lease_left_seconds or 0) <= 0)
    return paused, processes


def assert_it_lost(flow: Flow, paused: subprocess.Popen[str], processes: list[int]) -> None:
    """It exits with 125, says so, and nothing of it is left."""
    code, _, error = finish(paused)
    assert code == 125, error
    assert "run 1" in error.lower()
    wait_until(lambda: not [pid for pid in processes if is_running(pid)])


def published(flow: Flow) -> list[str]:
    """What a reader of the output sees."""
    rows = flow.select(
        "SELECT c.location, c.version FROM chunk c JOIN dataset d ON d.dataset_id = c.dataset_id "
        "WHERE d.name = 'bobout'"
    )
    return [f"version {version}: {(flow.path / place).read_text().strip()}" for place, version in rows]


PLACES = ["its child runs on", "its child ends at once", "about to publish"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("where", ["here", pytest.param("elsewhere", marks=pytest.mark.full)])
def test_a_run_that_wakes_up_while_another_runs_can_do_nothing(flow: Flow, place: str, where: str) -> None:
    paused, processes = start_paused(flow, place)
    start = flow.start if where == "here" else flow.elsewhere
    other = start("--lease", "30s", "loadbob.sh")
    flow.wait_for_pid("pid.2")
    signal_all(processes, signal.SIGCONT)
    assert_it_lost(flow, paused, processes)
    assert flow.outcomes() == ["LOST", "RUNNING"]
    assert flow.states() == {"1": "RUNNING"}
    assert published(flow) == []
    (flow.path / "go.2").touch()
    assert finish(other)[0] == 0
    assert flow.outcomes() == ["LOST", "DONE"]
    assert published(flow) == ["version 1: run 2"]


@pytest.mark.full
@pytest.mark.parametrize("place", PLACES)
def test_a_run_that_wakes_up_after_another_has_ended_can_do_nothing(flow: Flow, place: str) -> None:
    paused, processes = start_paused(flow, place)
    (flow.path / "go.2").touch()
    assert finish(flow.elsewhere("loadbob.sh"))[0] == 0
    assert published(flow) == ["version 1: run 2"]
    signal_all(processes, signal.SIGCONT)
    assert_it_lost(flow, paused, processes)
    assert flow.outcomes() == ["LOST", "DONE"]
    assert flow.states() == {"1": "DONE"}
    assert published(flow) == ["version 1: run 2"]


@pytest.mark.parametrize("place", ["its child runs on", "about to publish"])
def test_a_lapsed_lease_is_lost_even_if_no_other_run_took_the_work(flow: Flow, place: str) -> None:
    paused, processes = start_paused(flow, place)
    # The guards stay stopped: the test is about whether the store renews a lapsed lease.
    guards = find_guards(paused.pid)
    signal_all([pid for pid in processes if pid not in guards], signal.SIGCONT)
    assert_it_lost(flow, paused, processes)
    assert published(flow) == []
    (flow.path / "go.2").touch()
    flow.runjob("loadbob.sh")
    assert flow.outcomes() == ["LOST", "DONE"]
    assert published(flow) == ["version 1: run 2"]


def test_a_cancelled_run_cannot_publish_though_its_lease_still_runs(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", SCRIPT)
    (flow.path / "go.1").touch()
    paused = flow.start("loadbob.sh", env={"DATAFLOW_FAILPOINT": "before_finish:stop"})
    wait_until(lambda: state_of(paused.pid) == "T")
    flow.dataflow("cancel", "1")
    os.kill(paused.pid, signal.SIGCONT)
    assert_it_lost(flow, paused, [])
    assert flow.outcomes() == ["CANCELLED"]
    assert flow.states() == {"1": "FAILED"}
    assert published(flow) == []
    # It has reported its end, so no other run has to wait for its lease.
    flow.dataflow("resubmit", "loadbob", "1")
    assert flow.states() == {"1": "CLAIMABLE"}


def test_a_short_pause_costs_nothing(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", SCRIPT)
    running = flow.start("--lease", "60s", "loadbob.sh")
    flow.wait_for_pid("pid.1")
    processes = [running.pid, *family(running.pid)]
    signal_all(processes, signal.SIGSTOP)
    # D is a shell that waits for a child which was stopped between vfork and exec.
    wait_until(lambda: all(state_of(pid) in ("T", "D", "Z", "") for pid in processes))
    signal_all(processes, signal.SIGCONT)
    (flow.path / "go.1").touch()
    assert finish(running)[0] == 0
    assert flow.outcomes() == ["DONE"]


def test_a_child_whose_runjob_alone_is_paused_is_ended_before_the_lease_lapses(flow: Flow) -> None:
    """The guard enforces the deadline: nothing may still write when another run gets the work."""
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", SCRIPT)
    paused = flow.start(*SHORT, "loadbob.sh")
    child = flow.wait_for_pid("pid.1")
    os.kill(paused.pid, signal.SIGSTOP)
    wait_until(lambda: not is_running(child))
    assert (flow.runs()[0].lease_left_seconds or 0) > 0
    os.kill(paused.pid, signal.SIGCONT)
    # It is in time to hand the work back itself: lost, not failed.
    code, _, error = finish(paused)
    assert code == 125, error
    assert flow.outcomes() == ["LOST"]
    assert flow.states() == {"1": "CLAIMABLE"}
