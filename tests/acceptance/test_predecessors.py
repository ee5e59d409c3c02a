"""The next run of the work ends an earlier run whose RunJob and guard are both stopped."""

from __future__ import annotations

import signal
import sys

import pytest

from tests.acceptance.flow import ONE_JOB, Flow, find_guards, finish, is_running, signal_all, wait_until

SHORT_JOB = f'{ONE_JOB}lease = "3.2s"\ngrace = "0.1s"\n'
SCRIPT = """
test "$dataid" = 1 || exit 0
echo $$ > "pid.$DATAFLOW_RUN_ID"
test "$DATAFLOW_RUN_ID" != 1 || exec sleep 60
test "$(sed 's/.*) //; s/ .*//' /proc/$(cat pid.1)/stat)" = Z
"""
CLIENT = """
import dataflow
with dataflow.open() as flow, flow.claim("loadbob") as run:
    print(run.run_id, open(f"/proc/{open('pid.1').read().strip()}/stat").read().split()[2])
"""


def start_frozen(flow: Flow, declared: str = SHORT_JOB) -> tuple[int, list[int]]:
    """Return the script of run 1, which keeps working, and its stopped RunJob and guards."""
    flow.declare(declared)
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh", SCRIPT)
    frozen = flow.start("--dataid", "1", "loadbob.sh")
    child = flow.wait_for_pid("pid.1")
    stopped = [*find_guards(frozen.pid), frozen.pid]
    signal_all(stopped, signal.SIGSTOP)
    return child, stopped


@pytest.mark.parametrize(
    "how",
    ["lost", *(pytest.param(how, marks=pytest.mark.full) for how in ("cancelled", "lost and resubmitted"))],
)
def test_the_next_run_of_the_work_ends_it(flow: Flow, how: str) -> None:
    child, stopped = start_frozen(flow)
    if how == "cancelled":
        flow.dataflow("cancel", "1")
        flow.dataflow("resubmit", "loadbob", "1")
    wait_until(lambda: (flow.runs()[0].lease_left_seconds or 0) <= 0)
    if how == "lost and resubmitted":
        flow.runjob("--dataid", "2", "loadbob.sh")
        assert flow.outcomes() == ["LOST", "DONE"]
        flow.dataflow("resubmit", "loadbob", "1")
    assert is_running(child)
    wait_until(lambda: flow.dataflow("why", "loadbob", "1").stdout.find("may still be ending") < 0)
    flow.runjob("--dataid", "1", "loadbob.sh")
    assert not is_running(child)
    assert flow.states()["1"] == "DONE"
    signal_all(reversed(stopped), signal.SIGCONT)
    assert finish(flow.started[0])[0] == 125


def test_a_python_program_ends_it_too(flow: Flow) -> None:
    child, stopped = start_frozen(flow)
    wait_until(lambda: (flow.runs()[0].lease_left_seconds or 0) <= 0)
    assert is_running(child)
    done = flow.project.run(sys.executable, "-c", CLIENT, env=flow.env)
    assert done.stdout.split() == ["2", "Z"]
    signal_all(reversed(stopped), signal.SIGCONT)
    assert finish(flow.started[0])[0] == 125


def test_the_next_run_of_any_work_ends_it_if_the_job_runs_one_at_a_time(flow: Flow) -> None:
    child, stopped = start_frozen(
        flow, SHORT_JOB.replace("[dataset.bobout]", '[dataset.bobout]\nmode = "snapshot"')
    )
    wait_until(lambda: (flow.runs()[0].lease_left_seconds or 0) <= 0)
    assert is_running(child)
    flow.runjob("--dataid", "2", "loadbob.sh")
    assert not is_running(child)
    assert flow.outcomes() == ["LOST", "DONE"]
    signal_all(reversed(stopped), signal.SIGCONT)
    assert finish(flow.started[0])[0] == 125
