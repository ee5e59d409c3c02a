"""Write access to the store does not run code: it sets only variables that no program interprets."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from apsw import Connection

from tests.acceptance.flow import ONE_JOB, Flow

CODE = "$(touch pwned)"


@contextlib.contextmanager
def raw(flow: Flow) -> Iterator[Any]:
    """A connection to the store that bypasses DataFlow's rules."""
    if flow.is_postgres:
        with psycopg.connect(flow.url, autocommit=True) as connection:
            yield connection
    else:
        store = Connection(flow.url.removeprefix("sqlite:"))
        yield store
        store.close()


def smuggle(flow: Flow, name: str, value: str) -> None:
    """Write a variable directly into the store."""
    schema = "dataflow." if flow.is_postgres else ""
    with raw(flow) as connection:
        connection.execute(
            f"INSERT INTO {schema}job_environment (job_id, name, value) "
            f"SELECT job_id, '{name}', '{value}' FROM {schema}job WHERE name = 'loadbob'"
        )


@pytest.mark.parametrize("name", ["BASH_ENV", "PATH", "PASSKEY", "DATAFLOW_GUARD_TOKEN"])
def test_a_variable_written_without_the_checks_does_not_reach_the_script(flow: Flow, name: str) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    smuggle(flow, name, CODE)
    flow.script("loadbob.sh", "env > ran", interpreter="/bin/bash")
    refused = flow.runjob("loadbob.sh")
    assert f"safe? no: the store sets {name}" in refused.stderr
    assert flow.lines() == []
    # An operator may go on without the answers, but does not get the variable.
    flow.dataflow("force", "loadbob", "1", "--", "./loadbob.sh")
    assert flow.lines()
    assert not [line for line in flow.lines() if CODE in line]
    assert not (flow.path / "pwned").exists()


def test_a_variable_written_without_the_checks_hides_no_variable_of_dataflow(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    for name in ("dataid", "jobid", "bobin_datasetid"):
        smuggle(flow, name, CODE)
    flow.script("loadbob.sh", 'echo "$dataid $jobid $bobin_datasetid" > ran')
    flow.runjob("loadbob.sh")
    assert flow.lines() == ["1 loadbob bobin"]


def test_a_python_program_gets_no_work_of_a_job_with_such_a_variable(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    smuggle(flow, "BASH_ENV", CODE)
    claim = 'import dataflow\nwith dataflow.open() as f, f.claim("loadbob") as run: print(run)'
    done = flow.project.run(sys.executable, "-c", claim, env=flow.env)
    assert done.stdout == "None\n"
    assert flow.json("runs")[0]["reason"].startswith("safe? no: the store sets BASH_ENV")


@pytest.mark.parametrize("name", ["LD_PRELOAD", "BASH_ENV", "DATAFLOW_RUN_ID", "npm_config", "x=y;z"])
def test_a_dataset_of_any_name_gives_variables_of_its_fields_only(sqlite_flow: Flow, name: str) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    with raw(flow) as connection:
        connection.execute("UPDATE dataset SET name = ?, hostname = ? WHERE name = 'bobin'", (name, CODE))
    flow.script("loadbob.sh", "env -0 > ran", interpreter="/bin/bash")
    flow.runjob("loadbob.sh")
    given = (flow.path / "ran").read_text().split("\0")
    assert [item.partition("=")[0] for item in given if item.endswith(f"={CODE}")] == [
        f"{name.replace('=', '_').replace(';', '_')}_hostname"
    ]
    assert not (flow.path / "pwned").exists()


def test_the_dataflow_toml_of_the_machine_may_set_any_variable(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare(ONE_JOB + '[job.loadbob.environment]\nTZ = "Asia/Tokyo"\nregion = "eu"\n', keep=True)
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh", 'echo "$TZ $region" >> ran')
    flow.runjob("loadbob.sh")
    flow.runjob("--clean-env", "loadbob.sh")
    assert flow.lines() == ["Asia/Tokyo eu"] * 2
    (flow.path / "dataflow.toml").unlink()
    flow.ready("bobin", "3")
    flow.runjob("loadbob.sh", env={"TZ": "UTC"})
    assert flow.lines()[2] == "UTC eu"
