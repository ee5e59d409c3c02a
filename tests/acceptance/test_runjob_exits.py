"""The exit codes of RunJob, row by row of the documented table."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.acceptance.flow import RECORDS, Flow, finish, wait_until


@pytest.fixture
def loadbob(sqlite_flow: Flow) -> Flow:
    """A project with one job and one chunk ready."""
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1.0")
    return sqlite_flow


@pytest.mark.parametrize("code", [1, 3, 64, 99, 124, 125, 126, 127, 143, 255])
def test_a_script_that_ran_gives_its_own_code(loadbob: Flow, code: int) -> None:
    loadbob.script("loadbob.sh", f"exit {code}")
    loadbob.runjob("loadbob.sh", code=code)
    [run] = loadbob.runs()
    assert (run.outcome, run.exit_code) == ("FAILED", code)
    assert loadbob.states() == {"1.0": "FAILED"}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGHUP])
def test_a_script_killed_by_a_signal_gives_128_and_its_number(loadbob: Flow, number: signal.Signals) -> None:
    loadbob.script("loadbob.sh", f"kill -{number.value} $$")
    done = loadbob.runjob("loadbob.sh", code=128 + number)
    assert f"killed by {number.name}" in done.stderr
    assert loadbob.outcomes() == ["FAILED"]


def test_success_and_already_done_are_zero_whatever_waiting_gives(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1.0")
    flow.script("loadbob.sh")
    flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=0)
    flow.runjob("--waiting-exit-code", "99", "loadbob.sh", code=0)
    flow.runjob("--waiting-exit-code", "99", "--dataid", "1.0", "loadbob.sh", code=0)
    assert flow.lines() == ["1.0"]


def test_waiting_is_zero_or_the_requested_code(loadbob: Flow) -> None:
    loadbob.script("loadbob.sh", 'echo "$dataid" >> ran; until test -e go; do sleep 0.01; done')
    loadbob.runjob("--dataid", "2.0", "loadbob.sh", code=0)
    loadbob.runjob("--dataid", "2.0", "--waiting-exit-code", "99", "loadbob.sh", code=99)
    running = loadbob.start("loadbob.sh")
    wait_until(loadbob.lines)
    loadbob.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    loadbob.runjob("--waiting-exit-code", "99", "--drain", "loadbob.sh", code=99)
    (loadbob.path / "go").touch()
    assert finish(running)[0] == 0


def test_failed_work_that_nothing_retries_is_waiting_and_named(loadbob: Flow) -> None:
    loadbob.script("loadbob.sh", "exit 3")
    loadbob.runjob("loadbob.sh", code=3)
    done = loadbob.runjob("--waiting-exit-code", "99", "loadbob.sh", code=99)
    assert "FAILED" in done.stderr
    assert "dataflow resubmit loadbob 1.0" in done.stderr


def test_drain_is_zero_when_all_succeeded_and_one_when_any_failed(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh")
    flow.runjob("--drain", "loadbob.sh", code=0)
    flow.ready("bobin", "4", "5", "6")
    flow.script("loadbob.sh", RECORDS + '; test "$dataid" != 5 || exit 42')
    flow.runjob("--drain", "loadbob.sh", code=1)
    assert flow.lines() == ["1", "2", "3", "4", "5", "6"]
    assert flow.states() == dict.fromkeys("12346", "DONE") | {"5": "FAILED"}
    flow.runjob("--drain", "--waiting-exit-code", "99", "loadbob.sh", code=99)


@pytest.mark.parametrize("manners", ["obeys", "ignores"])
def test_timeout_is_124_and_a_failed_attempt(loadbob: Flow, manners: str) -> None:
    trap = "trap '' TERM; " if manners == "ignores" else ""
    loadbob.script("loadbob.sh", f"{trap}echo $$ > pid; while :; do sleep 0.05; done")
    done = loadbob.runjob("--timeout", "0.5s", "--grace", "0.3s", "loadbob.sh", code=124)
    assert "timed out" in done.stderr
    [run] = loadbob.runs()
    assert (run.outcome, run.exit_code) == ("FAILED", 124)
    assert not Path(f"/proc/{loadbob.wait_for_pid('pid')}").exists()


def test_a_timeout_longer_than_the_script_changes_nothing(loadbob: Flow) -> None:
    loadbob.script("loadbob.sh")
    loadbob.runjob("--timeout", "1h", "loadbob.sh", code=0)
    assert loadbob.outcomes() == ["DONE"]


def test_a_cancelled_run_ends_its_script_and_gives_125(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1.0")
    flow.script("loadbob.sh", "echo $$ > pid; exec sleep 60")
    running = flow.start("--lease", "6s", "--grace", "0.5s", "loadbob.sh")
    pid = flow.wait_for_pid("pid")
    [run] = flow.runs()
    flow.dataflow("cancel", str(run.run_id))
    code, _, error = finish(running)
    assert code == 125
    assert "was cancelled or lost its lease" in error
    assert not Path(f"/proc/{pid}").exists()
    assert flow.outcomes() == ["CANCELLED"]
    assert flow.states() == {"1.0": "FAILED"}


def test_a_drain_with_a_cancelled_run_counts_it_and_gives_125(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh", '[ "$dataid" != 1 ] || { echo $$ > pid; exec sleep 60; }')
    running = flow.start("--drain", "--lease", "6s", "--grace", "0.5s", "loadbob.sh")
    flow.wait_for_pid("pid")
    flow.dataflow("cancel", "1")
    code, _, error = finish(running)
    assert code == 125
    assert "loadbob: 2 chunks done, 0 failed, 1 run cancelled or lost, none left\n" in error


def _bad_script(flow: Flow, kind: str) -> str:
    path = flow.script("loadbob.sh")
    if kind == "not executable":
        path.chmod(0o644)
    elif kind == "bad interpreter":
        flow.script("loadbob.sh", "exit 0", interpreter="/no/such/interpreter")
    elif kind == "directory":
        path.unlink()
        path.mkdir()
    else:
        path.unlink()
    return "./loadbob.sh"


@pytest.mark.parametrize(
    ("kind", "code"),
    [("not executable", 126), ("bad interpreter", 126), ("directory", 126), ("missing", 127)],
)
def test_a_command_that_cannot_be_executed_costs_no_attempt(flow: Flow, kind: str, code: int) -> None:
    flow.declare()
    flow.ready("bobin", "1.0", "2.0")
    script = _bad_script(flow, kind)
    foretold = flow.runjob("--dry-run", script, code=code)
    assert "would claim loadbob 1.0 and run" not in foretold.stdout
    done = flow.runjob("--drain", script, code=code)
    assert "loadbob.sh" in done.stderr
    assert set(flow.states().values()) == {"CLAIMABLE"}
    assert flow.select("SELECT sum(attempts), sum(losses) FROM work") == [(0, 0)]
    assert set(flow.outcomes()) <= {"RETURNED"}

    if kind == "directory":
        (flow.path / "loadbob.sh").rmdir()
    flow.script("loadbob.sh")
    flow.runjob("--drain", script, code=0)
    assert flow.lines() == ["1.0", "2.0"]


def test_a_dry_run_says_why_a_script_could_not_be_executed(loadbob: Flow) -> None:
    loadbob.script("loadbob.sh").chmod(0o644)
    shown = loadbob.runjob("--dry-run", "./loadbob.sh", code=126).stdout.splitlines()
    place = loadbob.path / "loadbob.sh"
    assert shown[0] == (
        "would claim loadbob 1.0 and hand it back with exit code 126: "
        f'Cannot run "{place}": it is not executable. Make it so: chmod +x {place}'
    )
    assert loadbob.runs() == []


def test_after_a_failure_there_is_nothing_to_claim_and_quiet_prints_nothing(loadbob: Flow) -> None:
    loadbob.script("loadbob.sh", "exit 3")
    loadbob.runjob("--quiet", "--drain", "./loadbob.sh", code=1)
    done = loadbob.runjob("--quiet", "./loadbob.sh", code=0)
    assert (done.stdout, done.stderr) == ("", "")
    loadbob.runjob("--quiet", "--waiting-exit-code", "99", "./loadbob.sh", code=99)
    assert "FAILED" in loadbob.runjob("./loadbob.sh", code=0).stderr
    assert loadbob.dataflow("status", "--fail-if", "failed", check=False).returncode == 1


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--drain"],
        ["--no-such-option", "loadbob.sh"],
        ["-j", "2", "loadbob.sh"],
        ["--drain", "-j", "0", "loadbob.sh"],
        ["--drain", "-j", "x", "loadbob.sh"],
        ["--drain", "--dataid", "1.0", "loadbob.sh"],
        ["--waiting-exit-code", "often", "loadbob.sh"],
        ["--store", "postgresql://etl:hunter2hunter2@db/x", "loadbob.sh"],
    ],
)
def test_an_invalid_command_line_is_64_and_runs_nothing(loadbob: Flow, words: list[str]) -> None:
    loadbob.script("loadbob.sh")
    done = loadbob.runjob(*words, code=64)
    assert done.stderr.startswith("RunJob: ")
    assert "Traceback" not in done.stderr
    assert "hunter2hunter2" not in done.stderr
    assert loadbob.runs() == []


def test_invalid_durations_are_65(loadbob: Flow) -> None:
    loadbob.script("loadbob.sh")
    too_short = ["--lease", "10s", "--grace", "10s"]
    for words in (["--lease", "soon"], ["--timeout=-3s"], ["--grace", "5 parsecs"], too_short):
        done = loadbob.runjob(*words, "loadbob.sh", code=65)
        assert "Traceback" not in done.stderr
    assert loadbob.runs() == []


def test_an_unknown_job_is_66_and_names_the_nearest(loadbob: Flow) -> None:
    loadbob.script("loadbbo.sh")
    done = loadbob.runjob("loadbbo.sh", code=66)
    assert "loadbbo" in done.stderr
    assert "loadbob" in done.stderr


def test_a_file_that_is_not_a_store_is_refused_and_left_unchanged(loadbob: Flow) -> None:
    loadbob.script("loadbob.sh")
    diary = loadbob.path / "diary.txt"
    diary.write_text("this is a diary, not a database\n" * 100)
    done = loadbob.runjob("--store", "sqlite:///diary.txt", "loadbob.sh", code=77)
    assert "diary.txt" in done.stderr
    assert diary.read_text() == "this is a diary, not a database\n" * 100


def test_a_newer_schema_is_76(loadbob: Flow) -> None:
    with loadbob.store() as store:
        newer = "UPDATE meta SET value = '99' WHERE key = 'oldest_schema'; PRAGMA user_version = 99"
        store.database.write(lambda tx: tx._connection.execute(newer))  # type: ignore[attr-defined]
    loadbob.script("loadbob.sh")
    assert "99" in loadbob.runjob("loadbob.sh", code=76).stderr


def test_each_way_postgresql_refuses_has_its_own_code_and_message(postgres_flow: Flow) -> None:
    postgres_flow.script("loadbob.sh")
    parts = urlsplit(postgres_flow.url)
    assert parts.password
    place = f"{parts.hostname}:{parts.port}"
    wrong = {
        "password": (parts._replace(netloc=f"{parts.username}:wrongwrongwrong@{place}"), 77),
        "database": (parts._replace(path="/nosuchdatabase"), 77),
        "user": (parts._replace(netloc=f"nobody:{parts.password}@{place}"), 77),
    }
    messages = set()
    for what, (url, code) in wrong.items():
        env = {"DATAFLOW_STORE": urlunsplit(url)}
        done = postgres_flow.runjob("loadbob.sh", code=code, env=env)
        assert parts.password not in done.stderr, what
        assert "wrongwrongwrong" not in done.stderr, what
        messages.add(done.stderr)
    done = postgres_flow.runjob("loadbob.sh", code=76, env={"DATAFLOW_SCHEMA": "elsewhere"})
    assert "dataflow db upgrade" in done.stderr
    assert len(messages | {done.stderr}) == 4


def test_a_folder_whose_name_no_store_can_hold_is_refused(sqlite_flow: Flow) -> None:
    folder = os.fsencode(sqlite_flow.path) + b"/caf\xe9"
    os.mkdir(folder)
    command = sqlite_flow.project.command("RunJob", "loadbob.sh")
    env = sqlite_flow.project.environment(sqlite_flow.env)
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 78
    assert "not UTF-8" in done.stderr and "Traceback" not in done.stderr
