"""Checks of a run that a Python program holds: what they receive, what they show, how long they take."""

from __future__ import annotations

import sys

import pytest

from tests.acceptance.flow import Flow

CHECKED = """
[dataset.bobin]
grain = "text"
[dataset.bobout]
grain = "text"
check = ["./check.sh"]
[job.loadbob]
in = ["bobin"]
out = ["bobout"]
lease = "3.2s"
grace = "0.1s"
"""
INPUT_CHECKED = CHECKED.replace('check = ["./check.sh"]\n', "").replace(
    '"text"\n[dataset.bobout]', '"text"\ncheck = ["./check.sh"]\n[dataset.bobout]'
)
CLAIM = 'import dataflow\nwith dataflow.open() as f, f.claim("loadbob") as run: '
KEY = {"PASSKEY": "correct horse battery"}
OTHERS = {
    "A_password": "outer-password-A",
    "DATAFLOW_SECRET_NAMES": "A_password",
    "DATAFLOW_CONTEXT": "/outer",
}
SHOWS = 'echo "${PASSKEY-none} ${A_password-none} ${DATAFLOW_CONTEXT-none} $bobin_password."'


def python(flow: Flow, body: str, env: dict[str, str] | None = None) -> tuple[int, str, str]:
    done = flow.project.run(sys.executable, "-c", CLAIM + body, env=flow.env | (env or {}), check=False)
    return done.returncode, done.stdout, done.stderr


def test_a_check_sees_only_its_own_secrets_and_shows_none(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(CHECKED, keep=True)
    flow.dataflow("dataset", "add", "bobin", "--password-stdin", input="hunter2hunter2", env=KEY)
    flow.ready("bobin", "1")
    flow.script("check.sh", SHOWS)
    code, shown, error = python(flow, "pass", KEY | OTHERS)
    assert (code, shown) == (0, "none none none ***.\n"), error
    assert (flow.path / ".dataflow/logs/1.log").read_text() == shown


def test_no_secret_in_an_exception_is_kept(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(CHECKED.replace('check = ["./check.sh"]\n', ""))
    flow.ready("bobin", "1")
    code, _, _ = python(flow, "raise ValueError('correct horse battery, outer-password-A')", KEY | OTHERS)
    assert code == 1
    assert flow.runs()[0].reason == "ValueError: ***, ***"


@pytest.mark.parametrize("text", [CHECKED, INPUT_CHECKED], ids=["output", "input"])
def test_a_check_longer_than_the_lease_keeps_it(sqlite_flow: Flow, text: str) -> None:
    flow = sqlite_flow
    flow.declare(text, keep=True)
    flow.ready("bobin", "1")
    flow.script("check.sh", "sleep 4")
    code, _, error = python(flow, "pass")
    assert code == 0, error
    assert flow.outcomes() == ["DONE"]


def test_an_output_whose_check_cannot_run_is_invalid(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(CHECKED, keep=True)
    flow.ready("bobin", "1")
    code, _, error = python(flow, "pass")
    assert code == 1
    assert "Conflict" in error
    assert flow.states() == {"1": "INVALID"}
    assert "check.sh" in flow.runs()[0].reason


def test_an_input_whose_check_cannot_run_makes_the_work_wait(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(INPUT_CHECKED, keep=True)
    flow.ready("bobin", "1")
    code, shown, _ = python(flow, "print(run)")
    assert (code, shown) == (0, "None\n")
    assert flow.states() == {"1": "WAITING"}


@pytest.mark.parametrize(
    ("message", "kept"),
    [("'a' + chr(0) + 'b'", "a\\0b"), (r"b'caf\xe9'.decode('utf8', 'surrogateescape')", "caf\\udce9")],
)
def test_an_exception_that_a_database_cannot_store_as_text_is_recorded(
    flow: Flow, message: str, kept: str
) -> None:
    flow.declare(CHECKED)
    flow.ready("bobin", "1")
    code, _, error = python(flow, f"raise ValueError({message})")
    assert (code, "ValueError" in error) == (1, True)
    assert [(run.outcome, run.reason) for run in flow.runs()] == [("FAILED", f"ValueError: {kept}")]


def test_a_run_interrupted_during_its_check_is_handed_back(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(CHECKED, keep=True)
    flow.ready("bobin", "1")
    flow.script("check.sh", "sleep 60")
    code, _, error = python(
        flow, "__import__('threading').Timer(1, f.presence.interrupt, [KeyboardInterrupt()]).start()"
    )
    assert code != 0, error
    assert flow.outcomes() == ["INTERRUPTED"]


def test_a_run_claimed_during_an_interruption_is_handed_back(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(CHECKED)
    flow.ready("bobin", "1")
    late = CLAIM.replace(", f.claim", ":\n f.presence.interrupt(KeyboardInterrupt())\n with f.claim")
    done = flow.project.run(sys.executable, "-c", f"{late}print('began')", env=flow.env, check=False)
    assert (done.returncode != 0, done.stdout) == (True, "")
    assert flow.outcomes() == ["INTERRUPTED"]
