"""Every command converts a dataid to its canonical form."""

from __future__ import annotations

import sys
import time

import pytest

from tests.acceptance.flow import Flow, wait_until

NUMBERED = """
[dataset.parts]
grain = "sequence"
[dataset.sums]
grain = "sequence"
location = "out/{dataid}.txt"
[job.add]
in = ["parts"]
out = ["sums"]
"""


@pytest.mark.parametrize("dataid", ["../../escaped", "a\nb", "x" * 10_000, "-1", "\udcff", ""])
def test_force_and_dataid_refuse_what_ready_would_refuse(sqlite_flow: Flow, dataid: str) -> None:
    flow = sqlite_flow
    flow.declare(NUMBERED)
    forced = flow.dataflow("force", "add", "--", dataid, check=False)
    assert forced.returncode in (64, 65)
    forced = flow.dataflow("force", "add", dataid, "--", "true", check=False)
    assert forced.returncode in (64, 65)
    flow.script("add.sh", "true")
    flow.runjob(f"--dataid={dataid}", "./add.sh", code=65)
    assert flow.states("add") == {}
    assert "Traceback" not in forced.stderr


def test_another_spelling_names_the_same_work(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(NUMBERED)
    flow.ready("parts", "7")
    flow.script("add.sh", 'mkdir -p out; echo "$dataid" > "$sums_location"')
    flow.runjob("--dataid", "007", "./add.sh")
    flow.dataflow("force", "add", "0007", "--", "./add.sh")
    assert flow.states("add") == {"7": "DONE"}


def test_a_command_is_not_started_once_its_lease_has_run_out(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    go_on = flow.path / "go-on"
    late = flow.start(
        *("--lease", "4s", "--grace", "0s", "./loadbob.sh"),
        env=flow.env | {"DATAFLOW_FAILPOINT": f"before_spawn:wait={go_on}"},
    )
    wait_until(lambda: "RUNNING" in flow.states().values())
    wait_until(lambda: flow.select("SELECT count(*) FROM run WHERE ended_at IS NULL")[0][0] == 1)
    lapsed = "SELECT lease_until FROM run"
    until = flow.select(lapsed)[0][0]
    wait_until(lambda: _boottime() > until)
    flow.runjob("./loadbob.sh")
    go_on.touch()
    assert late.wait(timeout=300) == 125
    assert flow.lines() == ["1"]
    assert flow.outcomes() == ["LOST", "DONE"]


def _boottime() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def test_a_kill_command_with_open_quotes_is_a_usage_error(sqlite_flow: Flow) -> None:
    done = sqlite_flow.runjob("--kill-command", "kill 'x", "./loadbob.sh", code=64)
    assert "--kill-command" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["--timeout", "0"], ["--waiting-exit-code", "300"], ["--lease", "soon"]])
def test_an_invalid_option_is_named(sqlite_flow: Flow, words: list[str]) -> None:
    done = sqlite_flow.runjob(*words, "./loadbob.sh", code=None)
    assert done.returncode in (64, 65)
    assert words[0] in done.stderr


def test_a_python_claim_runs_the_checks_too(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(
        '[dataset.bobin]\n[dataset.bobout]\nformat = "csv"\ncheck = ["test", "-e", "good"]\n'
        '[job.loadbob]\nin = ["bobin"]\nout = ["bobout"]\n',
        keep=True,
    )
    flow.ready("bobin", "1", "2")
    code = (
        "import dataflow\nwith dataflow.open() as flow:\n    with flow.claim('loadbob') as run:\n"
        "        print(run.dataid)\n"
    )
    bad = flow.project.run(sys.executable, "-c", code, env=flow.env, check=False)
    assert bad.returncode != 0
    assert "INVALID" in bad.stderr
    (flow.path / "good").touch()
    flow.project.run(sys.executable, "-c", code, env=flow.env)
    assert flow.states() == {"1": "INVALID", "2": "DONE"}
