"""RunJob itself: draining, choosing, showing, warning, and what it does with output."""

from __future__ import annotations

import os
import signal
import sys

import pytest

from tests.acceptance.flow import (
    ONE_JOB,
    RECORDS,
    Flow,
    find_guards,
    finish,
    is_running,
    kill_together,
    wait_until,
)

WAITS = 'echo "$dataid" >> ran; until test -e go; do sleep 0.01; done'


def test_drain_takes_everything_in_natural_order(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "10.0", "2.0", "1.0", "b10", "b9")
    flow.script("loadbob.sh")
    done = flow.runjob("--drain", "loadbob.sh")
    assert flow.lines() == ["1.0", "2.0", "10.0", "b9", "b10"]
    assert "5 chunks done, 0 failed" in done.stderr


def test_drain_counts_the_work_that_still_waits(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1", "2", "3", "4")
    flow.dataflow("withdraw", "bobin", "3")
    flow.dataflow("hold", "loadbob", "4")
    flow.script("loadbob.sh")
    done = flow.runjob("--drain", "loadbob.sh")
    assert "loadbob: 2 chunks done, 0 failed, 2 left (dataflow why loadbob)\n" in done.stderr
    flow.dataflow("ready", "bobin", "3")
    flow.dataflow("release", "loadbob", "4")
    done = flow.runjob("--drain", "loadbob.sh")
    assert "loadbob: 2 chunks done, 0 failed, none left\n" in done.stderr


def test_drain_counts_a_chunk_once_and_its_retries_apart(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.dataflow("job", "add", "loadbob", "--retries", "1", "--retry-delay", "0.1s")
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh", 'case "$dataid" in 1) ! mkdir tried;; 2) true;; 3) false;; esac')
    done = flow.runjob("--drain", "loadbob.sh", code=1)
    outcomes = flow.outcomes()
    assert outcomes[:3] == ["FAILED", "DONE", "FAILED"]
    assert sorted(outcomes[3:]) == ["DONE", "FAILED"]  # which retry comes first is left to chance
    assert "loadbob: 2 chunks done, 1 failed, none left; 2 retries\n" in done.stderr


def test_drain_counts_a_chunk_whose_retry_is_not_due_as_left(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.dataflow("job", "add", "loadbob", "--retries", "1", "--retry-delay", "1h")
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "exit 3")
    done = flow.runjob("--drain", "loadbob.sh", code=1)
    assert "loadbob: 0 chunks done, 0 failed, 1 left (dataflow why loadbob)\n" in done.stderr


def test_drain_does_not_count_work_that_is_done_again_as_a_retry(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    again = f"{sys.executable} -m dataflow.cli.main ready bobin 1 --again"
    flow.script("loadbob.sh", f"mkdir published || exit 0; {again}")
    done = flow.runjob("--drain", "loadbob.sh")
    assert flow.outcomes() == ["DONE", "DONE"]
    assert "loadbob: 1 chunk done, 0 failed, none left\n" in done.stderr


def test_drain_with_streams_runs_that_many_in_parallel(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", *map(str, range(1, 9)))
    # Each child waits until four are there at once: with fewer streams none would ever go on.
    flow.script(
        "loadbob.sh",
        RECORDS
        + '; touch "here.$dataid"; n=0; until test "$n" -ge 4; do n=$(ls here.* | wc -l); sleep 0.01; done',
    )
    flow.runjob("--drain", "-j", "4", "loadbob.sh")
    assert sorted(flow.lines()) == sorted(map(str, range(1, 9)))
    assert flow.outcomes() == ["DONE"] * 8


def test_drain_never_runs_more_than_its_streams(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", *map(str, range(30)))
    flow.script("loadbob.sh", "mkdir a.$$; ls -d a.* | wc -l >> counts; sleep 0.02; rmdir a.$$")
    flow.runjob("--drain", "-j", "3", "loadbob.sh")
    assert len(flow.lines("counts")) == 30
    assert max(map(int, flow.lines("counts"))) <= 3


def test_drain_takes_what_becomes_ready_meanwhile(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WAITS)
    draining = flow.start("--drain", "loadbob.sh")
    wait_until(flow.lines)
    flow.ready("bobin", "2")
    (flow.path / "go").touch()
    assert finish(draining)[0] == 0
    assert flow.lines() == ["1", "2"]


def test_max_running_limits_all_processes_together(flow: Flow) -> None:
    flow.declare(ONE_JOB + "max_running = 2\n")
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh", WAITS)
    streams = [flow.start("loadbob.sh") for _ in range(2)]
    wait_until(lambda: len(flow.lines()) == 2)
    flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    assert "may have 2 running" in flow.json("why", "loadbob", "3")["verdict"]
    (flow.path / "go").touch()
    assert [finish(stream)[0] for stream in streams] == [0, 0]
    flow.runjob("loadbob.sh")
    assert sorted(flow.lines()) == ["1", "2", "3"]


def test_dataid_takes_only_that_chunk(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh")
    flow.runjob("--dataid", "2", "loadbob.sh")
    assert flow.lines() == ["2"]
    done = flow.runjob("--dataid", "2", "--waiting-exit-code", "99", "loadbob.sh", code=0)
    assert "READY" in done.stderr
    flow.runjob("--dataid", "7", "--waiting-exit-code", "99", "loadbob.sh", code=99)
    assert flow.states() == {"1": "CLAIMABLE", "2": "DONE", "3": "CLAIMABLE"}


def test_dataid_is_made_canonical_before_it_is_searched(sqlite_flow: Flow) -> None:
    sqlite_flow.declare(
        '[dataset.bobin]\ngrain = "daily"\n[dataset.bobout]\ngrain = "daily"\n'
        '[job.loadbob]\nin = ["bobin"]\nout = ["bobout"]\n'
    )
    sqlite_flow.ready("bobin", "2026-08-20")
    sqlite_flow.script("loadbob.sh")
    sqlite_flow.runjob("--dataid", " 2026-08-20", "loadbob.sh", code=None)
    refused = sqlite_flow.runjob("--dataid", "2026-02-30", "loadbob.sh", code=65)
    assert "2026-02-30" in refused.stderr


def test_dry_run_shows_what_would_be_passed_on_and_changes_nothing(flow: Flow) -> None:
    flow.declare(ONE_JOB + '[job.loadbob.environment]\nregion = "eu"\n')
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh")
    before = _everything(flow)
    shown = flow.runjob("--dry-run", "loadbob.sh").stdout
    assert "would claim loadbob 1" in shown
    assert "bobin_datasetid=bobin" in shown
    assert "region=eu" in shown
    assert "ready? yes" in shown
    assert "safe? yes: no other writer or reader\n" in shown
    assert _everything(flow) == before
    assert flow.lines() == []
    assert "loadbob 2" in flow.runjob("--dry-run", "--dataid", "2", "loadbob.sh").stdout
    flow.runjob("--drain", "loadbob.sh")
    nothing = flow.runjob("--dry-run", "loadbob.sh").stdout
    assert "nothing" in nothing


def test_dry_run_and_why_of_a_calendar_job_with_a_staged_output_change_nothing(flow: Flow) -> None:
    flow.declare(
        '[dataset.bobout]\ngrain = "daily"\nlocation = "out/{dataid}/{run_id}"\n[job.loadbob]\n'
        'out = ["bobout"]\nschedule = "@daily"\nstart = "2024-03-01"\nend = "2024-03-03"\ncatchup = true\n'
    )
    flow.script("loadbob.sh")
    before = _everything(flow)
    assert "would claim loadbob 2024-03-01" in flow.runjob("--dry-run", "loadbob.sh").stdout
    assert "2024-03-02" in flow.runjob("--dry-run", "--dataid", "2024-03-02", "loadbob.sh").stdout
    flow.dataflow("why", "loadbob")
    assert _everything(flow) == before
    assert not (flow.path / "out").exists()


def _everything(flow: Flow) -> list[object]:
    tables = ("work", "run", "chunk", "work_input", "journal", "job", "run_input", "calendar")
    return [flow.select(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]


def test_a_job_may_have_a_different_name_from_its_command(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.runjob("--job", "loadbob", "/bin/sh", "-c", RECORDS)
    assert flow.lines() == ["1"]


def test_a_script_found_on_the_path_is_the_job_without_its_extension(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1")
    (sqlite_flow.path / "bin").mkdir()
    sqlite_flow.script("bin/loadbob.sh")
    sqlite_flow.runjob("loadbob.sh", env={"PATH": f"{sqlite_flow.path}/bin:{os.environ['PATH']}"})
    assert sqlite_flow.lines() == ["1"]


def test_a_failed_attempt_is_retried_after_its_delay_until_none_is_left(flow: Flow) -> None:
    flow.declare(ONE_JOB + 'retries = 2\nretry_delay = "0.2s"\n')
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh", RECORDS + '; test "$dataid" = 2')
    flow.runjob("--drain", "loadbob.sh", code=1)
    assert flow.states() == {"1": "FAILED", "2": "DONE"}
    assert flow.lines().count("1") == 3
    assert [run.attempt for run in flow.runs() if run.dataid == "1"] == [1, 2, 3]
    assert flow.outcomes().count("FAILED") == 3


def test_the_same_job_from_another_path_warns_and_runs(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh")
    (flow.path / "copy").mkdir()
    flow.script("copy/loadbob.sh")
    assert "warning" not in flow.runjob("./loadbob.sh").stderr
    warned = flow.runjob("copy/loadbob.sh")
    assert (
        "warning: job loadbob was first run from ./loadbob.sh, now from ./copy/loadbob.sh. " in warned.stderr
    )
    assert "warning" not in flow.runjob("loadbob.sh").stderr
    assert flow.lines() == ["1", "2", "3"]


def test_a_script_that_cannot_run_is_not_remembered(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.runjob("--job", "loadbob", "/", code=126)
    assert flow.json("job", "show", "loadbob")["script_path"] is None


def test_force_runs_in_any_state(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    flow.runjob("loadbob.sh")
    command = ("--", "/bin/sh", "-c", 'echo "forced $dataid" >> ran')
    assert "warning" not in flow.dataflow("force", "loadbob", "1", *command).stderr
    flow.dataflow("force", "loadbob", "7", *command)
    flow.dataflow("hold", "loadbob")
    flow.dataflow("force", "loadbob", "1", *command)
    assert flow.lines() == ["1", "forced 1", "forced 7", "forced 1"]
    assert flow.version("bobout", "1") == 3
    assert [row[0] for row in flow.select("SELECT action FROM journal WHERE action = 'force'")] == [
        "force"
    ] * 3


def test_force_does_not_take_work_from_a_live_run(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WAITS)
    running = flow.start("loadbob.sh")
    wait_until(flow.lines)
    flow.dataflow("force", "loadbob", "1", "--", "/bin/sh", "-c", "echo forced >> ran", check=False)
    assert flow.lines() == ["1"]
    (flow.path / "go").touch()
    assert finish(running)[0] == 0


def test_what_a_script_leaves_in_the_background_ends_with_it(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "sleep 60 & echo $! > pid")
    flow.runjob("loadbob.sh")
    assert not is_running(flow.wait_for_pid("pid"))


@pytest.mark.parametrize(
    "died", ["after kill -9 of RunJob", "after kill -9 of RunJob and its guard", "after SIGTERM"]
)
def test_the_kill_command_runs_before_the_work_is_retried(flow: Flow, died: str) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", 'echo "start $DATAFLOW_RUN_ID" >> events; echo $$ > pid; sleep 60')
    kill = flow.script("kill.sh", 'echo "kill $DATAFLOW_RUN_ID $dataid $jobid" >> events')
    first = flow.start("--kill-command", str(kill), "--grace", "1s", "loadbob.sh")
    flow.wait_for_pid("pid")
    if died == "after SIGTERM":
        first.terminate()
        assert finish(first)[0] == 128 + signal.SIGTERM
    else:
        guards = find_guards(first.pid)
        kill_together(*([*guards, first.pid] if "guard" in died else [first.pid]))
        first.wait()
    flow.script("loadbob.sh", 'echo "start $DATAFLOW_RUN_ID" >> events')
    flow.repeat_until_done("--kill-command", str(kill), "loadbob.sh")
    events = flow.lines("events")
    assert events[0] == "start 1"
    assert events[-1] == "start 2"
    assert set(events[1:-1]) == {"kill 1 1 loadbob"}


def test_a_kill_command_that_fails_keeps_the_work_waiting(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh", 'echo "$dataid" >> ran; test "$dataid" = 2 || exec sleep 60')
    bad = flow.script("kill.sh", "exit 3")
    first = flow.start("--kill-command", str(bad), "loadbob.sh")
    wait_until(flow.lines)
    kill_together(*find_guards(first.pid), first.pid)
    first.wait()
    warned = flow.runjob("--kill-command", str(bad), "loadbob.sh")
    assert "kill command" in warned.stderr
    assert flow.lines() == ["1", "2"]
    assert flow.states() == {"1": "RUNNING", "2": "DONE"}
    good = flow.script("kill.sh", "exit 0")
    flow.script("loadbob.sh")
    flow.runjob("--kill-command", str(good), "loadbob.sh")
    assert flow.lines() == ["1", "2", "1"]
    assert flow.states() == {"1": "DONE", "2": "DONE"}


def test_a_runjob_inside_a_runjob_works_on_its_own_chunk(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(ONE_JOB + '[dataset.end]\n[job.inner]\nin = ["bobin"]\nout = ["end"]\n')
    flow.ready("bobin", "1")
    flow.script("inner.sh", 'echo "inner $dataid $jobid" >> ran')
    inner = " ".join(f"'{word}'" for word in flow.project.command("RunJob", "inner.sh"))
    flow.script("loadbob.sh", f'{inner}; echo "outer $dataid $jobid" >> ran')
    flow.runjob("loadbob.sh")
    assert flow.lines() == ["inner 1 inner", "outer 1 loadbob"]


def test_a_script_that_disappears_stops_the_drain_and_costs_no_attempt(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3", "4")
    flow.script("loadbob.sh", WAITS)
    draining = flow.start("--drain", "-j", "2", "loadbob.sh")
    wait_until(lambda: len(flow.lines()) == 2)
    (flow.path / "loadbob.sh").unlink()
    (flow.path / "go").touch()
    code, _, error = finish(draining)
    assert code == 127, error
    assert flow.states() == {"1": "DONE", "2": "DONE", "3": "CLAIMABLE", "4": "CLAIMABLE"}
    flow.script("loadbob.sh")
    flow.runjob("--drain", "loadbob.sh")
    assert sorted(flow.lines()) == ["1", "2", "3", "4"]


def test_a_running_job_cannot_be_removed(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WAITS)
    running = flow.start("loadbob.sh")
    wait_until(flow.lines)
    for words in (("job", "remove", "loadbob", "--yes"), ("dataset", "remove", "bobout", "--yes")):
        refused = flow.dataflow(*words, check=False)
        assert refused.returncode == 75, refused.stderr
    (flow.path / "go").touch()
    assert finish(running)[0] == 0
    assert flow.states() == {"1": "DONE"}


def test_the_outputs_of_a_running_job_cannot_change(flow: Flow) -> None:
    """The run does not know a new output, and would publish what it has not produced."""
    flow.declare(ONE_JOB + "[dataset.extra]\n")
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", WAITS)
    running = flow.start("loadbob.sh")
    wait_until(flow.lines)
    words = ("job", "add", "loadbob", "--in", "bobin", "--out", "bobout", "--out", "extra")
    assert flow.dataflow(*words, check=False).returncode == 75
    (flow.path / "go").touch()
    assert finish(running)[0] == 0
    assert (flow.version("bobout", "1"), flow.version("extra", "1")) == (1, 0)
    flow.dataflow(*words)
