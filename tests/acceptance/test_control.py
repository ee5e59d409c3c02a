"""The commands that control jobs while they run, and retries as scripts see them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable

import pytest

from tests.acceptance.flow import ONE_JOB, Flow, finish, wait_until

TWO_JOBS = """
[dataset.bobin]
[dataset.one]
[dataset.two]
[job.load]
in = ["bobin"]
out = ["one"]
pool = "warehouse"
lease = "30s"
[job.extract]
in = ["bobin"]
out = ["two"]
pool = "warehouse"
lease = "30s"
"""
NOTES = 'echo "%s $(date +%%s%%N) $DATAFLOW_RUN_ID" >> ran'
AT_WORK = f"{NOTES % '+'}; sleep 0.1; {NOTES % '-'}"


def most_at_once(lines: Iterable[str]) -> int:
    """How many children were at work at once, by what they wrote; one that was killed counts at its start."""
    events, ended = [], set()
    for line in lines:
        sign, at, run_id = line.split()
        events.append((int(at), sign, run_id))
        if sign == "-":
            ended.add(run_id)
    most = running = 0
    for _, sign, run_id in sorted(events):
        if sign == "-":
            running -= 1
            continue
        most = max(most, running + 1)
        running += run_id in ended
    return most


def test_no_run_starts_after_pause_has_returned(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", *map(str, range(400)))
    flow.script("loadbob.sh", "sleep 0.02")
    drains = [flow.start("--drain", "-j", "2", "loadbob.sh") for _ in range(3)]
    wait_until(lambda: len(flow.runs()) > 6)
    paused = flow.dataflow("pause", "--why", "moving the warehouse")
    runs = len(flow.runs())
    assert "Paused everything" in paused.stderr and "To resume: dataflow resume" in paused.stderr
    for drain in drains:
        assert finish(drain, timeout=120)[0] == 0
    assert len(flow.runs()) == runs
    assert set(flow.outcomes()) == {"DONE"}, "a pause ends no run"
    said = flow.runjob("--waiting-exit-code", "75", "loadbob.sh", code=75).stderr
    assert "everything is paused since" in said and "moving the warehouse)" in said
    assert "next: dataflow resume" in said
    status = flow.dataflow("status").stdout
    assert status.startswith("Everything is paused since") and "moving the warehouse" in status
    assert flow.json("status")["paused"]["why"] == "moving the warehouse"
    assert flow.dataflow("resume").stderr == "Resumed: jobs start new work again.\n"
    flow.runjob("loadbob.sh")
    assert len(flow.runs()) == runs + 1


def test_work_can_be_forced_while_everything_is_paused(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.dataflow("pause")
    flow.dataflow("force", "loadbob", "1", "--", "true")
    assert flow.outcomes() == ["DONE"]


def test_pausing_a_job_is_its_hold(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    said = flow.dataflow("pause", "loadbob", "--why", "later").stderr
    assert said.startswith("Paused job loadbob: it is on hold.") and "dataflow resume loadbob" in said
    assert "already paused" in flow.dataflow("pause", "loadbob").stderr
    assert "on hold (by" in flow.runjob("loadbob.sh").stderr
    assert flow.json("job", "show", "loadbob")["hold"] is True
    assert "Still on hold: loadbob" in flow.dataflow("resume").stderr
    assert flow.dataflow("resume", "loadbob").stderr == "Resumed job loadbob.\n"
    flow.runjob("loadbob.sh")
    assert flow.states() == {"1": "DONE"}


def test_a_drain_obeys_a_new_limit_at_once_and_ends_no_run(flow: Flow) -> None:
    flow.declare(keep=True)
    flow.ready("bobin", *map(str, range(300)))
    flow.script("loadbob.sh", AT_WORK)
    drain = flow.start("--drain", "-j", "4", "loadbob.sh")
    wait_until(lambda: len(flow.lines()) > 8)
    said = flow.dataflow("scale", "loadbob", "1").stderr
    assert "Job loadbob now has a limit of 1 run at a time (was no limit)." in said
    assert "dataflow.toml declares no max_running for job loadbob" in said
    first = flow.runs()[-1].run_id + 1
    wait_until(lambda: flow.runs()[-1].run_id > first + 3)
    drain.send_signal(signal.SIGTERM)
    finish(drain, timeout=120)
    later = [line for line in flow.lines() if int(line.split()[2]) >= first]
    assert most_at_once(later) == 1
    assert set(flow.outcomes()) <= {"DONE", "INTERRUPTED"}


def test_a_pool_is_neither_exceeded_nor_leaked_when_its_processes_are_killed(flow: Flow) -> None:
    flow.dataflow("pool", "set", "warehouse", "2")
    flow.declare(TWO_JOBS)
    flow.ready("bobin", *map(str, range(12)))
    for job in ("load", "extract"):
        flow.script(f"{job}.sh", AT_WORK)
    first = flow.start("--drain", "-j", "3", "load.sh")
    other = flow.start("--drain", "-j", "3", "extract.sh")
    wait_until(lambda: len(flow.lines()) > 6)
    shown = flow.json("pool", "list")[0]
    assert (shown["pool"], shown["size"], [one["job"] for one in shown["jobs"]]) == (
        "warehouse",
        2,
        ["extract", "load"],
    )
    assert shown["running"] == sum(one["running"] for one in shown["jobs"]) <= 2
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    for job in ("load", "extract"):
        flow.repeat_until_done("--drain", "-j", "3", f"{job}.sh", job=job, limit_seconds=180, code=None)
    finish(other, timeout=120)
    assert most_at_once(flow.lines()) <= 2
    assert flow.json("pool", "list")[0]["running"] == 0


def test_the_commands_of_a_pool_refuse_what_cannot_be(sqlite_flow: Flow) -> None:
    flow = sqlite_flow

    def refused(*words: str) -> str:
        done = flow.dataflow(*words, check=False)
        assert done.returncode != 0 and "Traceback" not in done.stderr
        return done.stderr

    assert "cannot have size 0; give a number from 1" in refused("pool", "set", "warehouse", "0")
    assert "cannot have size -1" in refused("pool", "set", "warehouse", "-1")
    assert 'must be a whole number, got "many"' in refused("pool", "set", "warehouse", "many")
    flow.dataflow("pool", "set", "warehouse", "2")
    flow.declare(TWO_JOBS)
    assert "used by extract, load" in refused("pool", "remove", "warehouse")
    assert 'no pool "warehuse". Did you mean "warehouse"?' in refused(
        "job", "add", "load", "--pool", "warehuse"
    )
    assert "cannot run -2 at a time" in refused("scale", "load", "-2")
    assert 'No job "lode"' in refused("scale", "lode", "2")
    assert "exclude each other" in refused("job", "add", "load", "--order", "newest", "--ordered")
    assert "has 256" in refused("job", "add", "load", "--final-exit-codes", "2,256")
    assert "whole number" in refused("job", "add", "load", "--final-exit-codes", "two")
    assert "must be a number" in refused("job", "add", "load", "--retry-backoff", "nan")
    for job in ("load", "extract"):
        flow.dataflow("job", "add", job, "--pool", "")
    assert flow.dataflow("pool", "remove", "warehouse").stderr == "Removed pool warehouse.\n"


def test_all_settings_survive_export_and_apply(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.dataflow("pool", "set", "warehouse", "2")
    flow.declare()
    flow.dataflow(
        *("job", "add", "loadbob", "--pool", "warehouse", "--order", "newest", "--retry-backoff", "1.5"),
        *("--retry-max-delay", "2h", "--final-exit-codes", "64,2,2", "--max-crashes", "7"),
    )
    text = flow.dataflow("export").stdout
    for line in (
        'pool = "warehouse"',
        'order = "newest"',
        "retry_backoff = 1.5",
        'retry_max_delay = "2h"',
        "final_exit_codes = [2, 64]",
        "max_crashes = 7",
    ):
        assert line in text.splitlines()
    (flow.path / "all.toml").write_text(text)
    assert (
        "unchanged" in flow.dataflow("apply", "all.toml").stdout + flow.dataflow("apply", "all.toml").stderr
    )


@pytest.mark.parametrize("code", [64, 2])
def test_a_final_exit_code_is_not_retried(flow: Flow, code: int) -> None:
    flow.declare(ONE_JOB + 'retries = 3\nretry_delay = "0s"\nfinal_exit_codes = [64]\n')
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", f"exit {code}")
    flow.runjob("--drain", "loadbob.sh", code=1)
    assert flow.states() == {"1": "FAILED"}
    assert len(flow.runs()) == (1 if code == 64 else 4)
    assert ("exited with 64, which is final" in flow.dataflow("why", "loadbob", "1").stdout) == (code == 64)


def test_a_chunk_that_kills_its_worker_is_quarantined_and_the_others_go_on(flow: Flow) -> None:
    flow.declare(ONE_JOB + "max_crashes = 2\n")
    flow.ready("bobin", "1", "2", "3")
    flow.script(
        "loadbob.sh", 'echo "chunk $dataid"; test "$dataid" != 1 || { sleep 0.5; kill -9 $PPID; sleep 1; }'
    )
    until = time.monotonic() + 180
    while "FAILED" not in flow.states().values():
        assert time.monotonic() < until, flow.states()
        flow.runjob("--drain", "loadbob.sh", code=None)
    flow.runjob("--drain", "loadbob.sh", code=None)
    assert flow.states() == {"1": "FAILED", "2": "DONE", "3": "DONE"}
    shown = flow.json("why", "loadbob", "1")
    assert "quarantined after 2 crashes" in shown["verdict"]
    assert [crash["last_lines"] for crash in shown["crashes"]] == [["chunk 1"], ["chunk 1"]]
    status = flow.json("status")
    assert (status["jobs"][0]["FAILED"], status["jobs"][0]["quarantined"]) == (1, 1)
    assert [failure["quarantined"] for failure in status["failures"]] == [True]
    assert "1 (1 quarantined)" in flow.dataflow("status").stdout
    assert "quarantined after 2 crashes" in flow.dataflow("runs").stdout
    flow.script("loadbob.sh", "true")
    flow.dataflow("resubmit", "loadbob", "1")
    flow.runjob("loadbob.sh")
    assert flow.states() == {"1": "DONE", "2": "DONE", "3": "DONE"}


def test_newest_first(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(ONE_JOB.replace("[dataset.bobin]", '[dataset.bobin]\ngrain = "sequence"').replace(
        "[dataset.bobout]", '[dataset.bobout]\ngrain = "sequence"') + 'order = "newest"\n')  # fmt: skip
    flow.ready("bobin", "9", "10", "11")
    flow.script("loadbob.sh")
    flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == ["11", "10", "9"]
