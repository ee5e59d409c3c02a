"""Which script does a job's work: remembered relative to the project, forgotten on request."""

from __future__ import annotations

import shutil

import pytest

from tests.acceptance.flow import ONE_JOB, Flow
from tests.project import Project

WARNING = "job loadbob was first run from"


def test_a_second_machine_with_the_project_elsewhere_gets_no_warning(flow: Flow) -> None:
    flow.declare(keep=True)
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh")
    flow.runjob("loadbob.sh")
    shutil.copytree(flow.path, flow.path.parent / "elsewhere")
    second = Project(flow.path.parent / "elsewhere", flow.project.home)
    assert second.run("RunJob", "--quiet", "./loadbob.sh", env=flow.env).stderr == ""
    assert flow.json("job", "show", "loadbob")["script_path"] == "./loadbob.sh"


def test_a_command_found_on_the_path_counts_by_its_name(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2")
    for folder in ("first", "second"):
        tools = flow.path.parent / folder
        tools.mkdir()
        (tools / "loader").write_text("#!/bin/sh\n")
        (tools / "loader").chmod(0o755)
        path = {"PATH": f"{tools}:/usr/bin:/bin"}
        assert flow.runjob("--quiet", "--job", "loadbob", "loader", env=path).stderr == ""


@pytest.mark.parametrize("end", ["reset", "declaration"])
def test_another_script_is_warned_about_until_it_is_accepted(flow: Flow, end: str) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2", "3")
    flow.script("loadbob.sh")
    flow.script("other.sh")
    flow.runjob("loadbob.sh")
    warned = flow.runjob("--quiet", "--job", "loadbob", "other.sh").stderr
    assert warned == (
        f"RunJob: warning: {WARNING} ./loadbob.sh, now from ./other.sh. "
        "If that is intended: dataflow job reset-script loadbob\n"
    )
    if end == "reset":
        flow.dataflow("job", "reset-script", "loadbob")
    else:
        flow.declare(f"{ONE_JOB}retries = 1\n")
    assert flow.runjob("--quiet", "--job", "loadbob", "other.sh").stderr == ""
    assert flow.json("job", "show", "loadbob")["script_path"] == "./other.sh"


def test_a_script_called_pipeline_is_still_a_script(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("pipeline")
    flow.runjob("--job", "loadbob", "./pipeline")
    assert flow.json("job", "show", "loadbob")["script_path"] == "./pipeline"


def test_a_declaration_without_changes_keeps_the_script(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh")
    flow.runjob("loadbob.sh")
    flow.declare()
    assert flow.json("job", "show", "loadbob")["script_path"] == "./loadbob.sh"


def test_a_double_dash_before_the_command_is_not_the_command(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh")
    flow.runjob("--job", "loadbob", "--", "./loadbob.sh", "--drain")
    flow.runjob("--", "loadbob.sh")
    assert flow.lines() == ["1", "2"]
    assert flow.runjob("--job", "loadbob", "--", code=64).stderr.startswith("RunJob: ")
