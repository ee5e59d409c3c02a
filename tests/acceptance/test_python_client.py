"""`import dataflow`: a few lines of a user's program, run as a process."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing

import pytest

import dataflow
from tests.acceptance.flow import Flow, find_guards, finish, is_running, kill_together, state_of, wait_until

STAGED = """
[dataset.bobin]
location = "in/{dataid}.csv"
[dataset.bobout]
location = "out/{dataid}/{run_id}.csv"
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
lease = "3.2s"
grace = "0.1s"
"""
PLAIN = STAGED.replace('location = "in/{dataid}.csv"\n', "").replace(
    'location = "out/{dataid}/{run_id}.csv"\n', ""
)


def python(flow: Flow, code: str, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    env = flow.env | options.pop("env", {})  # type: ignore[operator]
    text = "import dataflow, os, signal, sys, time\n" + textwrap.dedent(code)
    return flow.project.run(sys.executable, "-c", text, env=env, check=False, **options)  # type: ignore[arg-type]


def start(flow: Flow, code: str, **options: int) -> subprocess.Popen[str]:
    text = "import dataflow, os, signal, sys, time\n" + textwrap.dedent(code)
    process = flow.project.start(
        sys.executable, "-c", text, env=flow.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
    )
    flow.started.append(process)
    return process


def test_the_public_names_exist_and_are_few() -> None:
    assert len(dataflow.__all__) <= 20
    for name in dataflow.__all__:
        assert getattr(dataflow, name) is not None
    with pytest.raises(AttributeError):
        _ = dataflow.nonsense


def test_ready_claim_and_why_in_a_few_lines(flow: Flow) -> None:
    flow.declare(PLAIN)
    done = python(
        flow,
        """
        with dataflow.open() as flow:
            print(flow.make_ready("bobin", ["1.0", "2.0"]), flow.make_ready("bobin", ["1.0"]))
            with flow.claim("loadbob") as run:
                print(run.dataid, run.run_id, [answer.question for answer in run.answers][0])
                print(flow.why("loadbob", "1.0").verdict.split(":")[0])
            with flow.claim("loadbob", "2.0") as run:
                print(run.dataid)
            with flow.claim("loadbob") as run:
                print(run, flow.why("loadbob").verdict.split(":")[0])
        """,
    )
    assert done.stdout.splitlines() == ["2 0", "1.0 1 ready", "RUNNING", "2.0", "None READY"], done.stderr
    assert flow.status("bobout") == {"1.0": "READY", "2.0": "READY"}


def test_inputs_and_staged_outputs_have_their_locations(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1", "2")
    (flow.path / "in").mkdir()
    (flow.path / "in/2.csv").write_text("data")
    done = python(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            text = open(run.location("bobin")).read()
            open(run.location("bobout"), "w").write(text * 2)
            run.record_rows("bobout", 7)
        """,
    )
    assert done.returncode == 0, done.stderr
    # Chunk 1 has no file: it was returned on the way, and did not stop the other.
    assert flow.states() == {"1": "WAITING", "2": "DONE"}
    [(location, rows, size)] = flow.select(
        "SELECT location, row_count, size FROM chunk WHERE run_id IS NOT NULL"
    )
    assert (rows, size) == (7, 8)
    assert (flow.path / location).read_text() == "datadata"


def test_a_body_that_raises_has_failed_and_the_error_propagates(flow: Flow) -> None:
    flow.declare(PLAIN)
    flow.ready("bobin", "1")
    done = python(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            raise ValueError("no such column")
        """,
    )
    assert done.returncode == 1
    assert "ValueError: no such column" in done.stderr
    [run] = flow.runs()
    assert (run.outcome, run.reason) == ("FAILED", "ValueError: no such column")
    assert flow.version("bobout", "1") == 0


def test_a_body_that_did_not_write_its_output_is_invalid(flow: Flow) -> None:
    flow.declare(STAGED)
    flow.ready("bobin", "1")
    (flow.path / "in").mkdir()
    (flow.path / "in/1.csv").touch()
    done = python(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            pass
        """,
    )
    assert done.returncode == 1
    assert "INVALID" in done.stderr
    assert flow.states() == {"1": "INVALID"}
    assert flow.version("bobout", "1") == 0


def test_ctrl_c_hands_the_work_back(flow: Flow) -> None:
    flow.declare(PLAIN)
    flow.ready("bobin", "1")
    running = start(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            open("started", "w").close()
            time.sleep(60)
        """,
    )
    wait_until((flow.path / "started").exists)
    running.send_signal(signal.SIGINT)
    assert finish(running)[0] != 0
    assert flow.outcomes() == ["INTERRUPTED"]
    assert flow.states() == {"1": "CLAIMABLE"}


def test_a_killed_program_is_noticed_at_once(flow: Flow) -> None:
    flow.declare(PLAIN.replace('"3.2s"', '"1h"'))
    flow.ready("bobin", "1")
    running = start(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            open("started", "w").close()
            time.sleep(60)
        """,
    )
    wait_until((flow.path / "started").exists)
    running.kill()
    running.wait()
    flow.script("loadbob.sh")
    flow.runjob("loadbob.sh")
    assert flow.outcomes() == ["LOST", "DONE"]


def test_a_claim_ends_what_a_dead_runjob_left_behind(flow: Flow) -> None:
    flow.declare(PLAIN)
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "echo $$ > pid; exec sleep 60")
    running = flow.start("loadbob.sh")
    child = flow.wait_for_pid("pid")
    kill_together(*find_guards(running.pid), running.pid)
    running.wait()
    assert is_running(child)
    done = python(
        flow,
        f"""
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            path = "/proc/{child}/stat"
            state = open(path).read().rpartition(")")[2].split()[0] if os.path.exists(path) else "Z"
            print(run.dataid, state)
        """,
    )
    assert done.stdout == "1 Z\n", done.stderr


def test_the_lease_is_renewed_while_the_body_runs(sqlite_flow: Flow) -> None:
    sqlite_flow.declare(PLAIN)
    sqlite_flow.ready("bobin", "1")
    done = python(
        sqlite_flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            time.sleep(5)
            assert not run.lost
        """,
    )
    assert done.returncode == 0, done.stderr
    assert sqlite_flow.outcomes() == ["DONE"]


def test_a_program_paused_past_its_lease_cannot_publish(flow: Flow) -> None:
    flow.declare(PLAIN)
    flow.ready("bobin", "1")
    paused = start(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            os.kill(os.getpid(), signal.SIGSTOP)
            while not run.lost:
                time.sleep(0.01)
            print("knows")
        """,
    )
    wait_until(lambda: state_of(paused.pid) == "T")
    wait_until(lambda: (flow.runs()[0].lease_left_seconds or 0) <= 0)
    flow.script("loadbob.sh")
    flow.runjob("loadbob.sh")
    os.kill(paused.pid, signal.SIGCONT)
    code, output, error = finish(paused)
    assert (code, output) == (1, "knows\n")
    assert "LeaseLost" in error
    assert flow.outcomes() == ["LOST", "DONE"]
    assert flow.version("bobout", "1") == 1


def test_a_program_whose_store_does_not_answer_knows_when_its_lease_is_over(
    sqlite_flow: Flow,
) -> None:
    flow = sqlite_flow
    flow.declare(PLAIN)
    flow.ready("bobin", "1")
    program = start(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            print("begins", flush=True)
            while not run.lost:
                time.sleep(0.01)
            print("knows", flush=True)
            sys.stdin.read()
        """,
        stdin=subprocess.PIPE,
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "begins\n"
    with closing(sqlite3.connect(flow.url.removeprefix("sqlite:///"), timeout=30)) as store:
        store.execute("begin exclusive")
        assert program.stdout.readline() == "knows\n"
        store.rollback()
    code, _, error = finish(program)
    assert code == 1
    assert "LeaseLost" in error
    assert flow.version("bobout", "1") == 0
    assert flow.outcomes()[0] in ("INTERRUPTED", "LOST")


def test_a_password_in_an_error_is_not_stored(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(PLAIN)
    key = {"PASSKEY": "correct horse battery"}
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="hunter2hunter2", env=key)
    flow.ready("bobin", "1")
    done = python(
        flow,
        """
        with dataflow.open() as flow, flow.claim("loadbob") as run:
            raise ConnectionError("postgresql://etl:" + run.password("bobin") + "@db/x refused")
        """,
        env=key,
    )
    assert done.returncode == 1
    [run] = flow.runs()
    assert "refused" in run.reason
    for table in ("run", "work", "journal"):
        assert "hunter2hunter2" not in str(flow.select(f"SELECT * FROM {table}"))


def test_asking_for_an_unknown_name_says_so(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(PLAIN)
    flow.ready("bobin", "1")
    done = python(
        flow,
        """
        with dataflow.open() as flow:
            for call in (lambda: flow.make_ready("bobbin", ["1"]), lambda: flow.why("loadbbo")):
                try:
                    call()
                except dataflow.UnknownName as error:
                    print(error)
            with flow.claim("loadbob") as run:
                for call in (run.location, run.password):
                    try:
                        call("elsewhere")
                    except dataflow.UnknownName as error:
                        print(error)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4
    assert "bobin" in done.stdout
