"""How long a run may take, and how long a drain waits for a retry."""

from __future__ import annotations

import re
import signal
import sys
import time

import pytest

from tests.acceptance.flow import ONE_JOB, Flow, finish, wait_until

SLOW = 'test -n "$fast" || exec sleep 30'
FAILS_ONCE = 'echo "$dataid" >> ran; test "$(wc -l < ran)" -gt 1'


@pytest.mark.parametrize("how", ["toml", "job add"])
def test_the_timeout_of_a_job_ends_its_script(flow: Flow, how: str) -> None:
    flow.declare(f'{ONE_JOB}timeout = "0.3s"\n' if how == "toml" else ONE_JOB)
    if how == "job add":
        flow.dataflow("job", "add", "loadbob", "--timeout", "0.3s")
    assert flow.json("job", "show", "loadbob")["timeout_seconds"] == 0.3
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", SLOW)
    began_at = time.monotonic()
    flow.runjob("loadbob.sh", code=124)
    assert time.monotonic() - began_at < 20
    assert flow.runs()[-1].reason == "timed out after 0.3 s"


def test_the_flag_overrides_the_timeout_of_the_job(flow: Flow) -> None:
    flow.declare(f'{ONE_JOB}timeout = "0.2s"\n')
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "sleep 0.6")
    flow.runjob("--timeout", "20s", "loadbob.sh")
    assert flow.outcomes() == ["DONE"]


def test_a_timeout_survives_an_export(flow: Flow) -> None:
    flow.declare(f'{ONE_JOB}timeout = "2h"\n')
    assert 'timeout = "2h"' in flow.dataflow("export").stdout


def test_python_can_ask_whether_its_time_is_up(flow: Flow) -> None:
    flow.declare(f'{ONE_JOB}timeout = "0.2s"\n')
    flow.ready("bobin", "1")
    program = """
import dataflow, time
with dataflow.open() as flow, flow.claim("loadbob") as run:
    before = run.timed_out
    time.sleep(0.3)
    print(before, run.timed_out)
"""
    done = flow.project.run(sys.executable, "-c", program, env=flow.env)
    assert done.stdout == "False True\n"
    assert flow.outcomes() == ["DONE"]


def test_a_drain_waits_for_a_retry_that_is_due_soon(flow: Flow) -> None:
    flow.declare(f'{ONE_JOB}retries = 1\nretry_delay = "1s"\n')
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", FAILS_ONCE)
    done = flow.runjob("--drain", "loadbob.sh", code=1)
    assert re.search(
        r"loadbob 1: FAILED, exited with 1; now WAITING, retry in (0\.[89]|1\.[012]) s \(run 1, ", done.stderr
    ), done.stderr
    assert flow.outcomes() == ["FAILED", "DONE"]


def test_a_drain_does_not_wait_for_a_later_retry(flow: Flow) -> None:
    flow.declare(f'{ONE_JOB}retries = 1\nretry_delay = "61s"\n')
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "exit 3")
    began_at = time.monotonic()
    flow.runjob("--drain", "loadbob.sh", code=1)
    assert time.monotonic() - began_at < 30
    assert flow.states() == {"1": "WAITING"}


def test_one_run_without_drain_does_not_wait_for_its_retry(flow: Flow) -> None:
    flow.declare(f'{ONE_JOB}retries = 1\nretry_delay = "1s"\n')
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "exit 3")
    flow.runjob("loadbob.sh", code=3)
    assert flow.outcomes() == ["FAILED"]


def test_a_signal_ends_the_wait_for_a_retry(flow: Flow) -> None:
    flow.declare(f'{ONE_JOB}retries = 1\nretry_delay = "50s"\n')
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "exit 3")
    process = flow.start("--drain", "loadbob.sh")
    wait_until(lambda: flow.states() == {"1": "WAITING"})
    process.send_signal(signal.SIGTERM)
    assert finish(process)[0] == 128 + signal.SIGTERM
