"""A copy of a project, made while it works, leaves the original's processes alone."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.acceptance.flow import wait_until
from tests.project import Project

# In the original it waits until the test lets it go; in the copy it ends at once.
SCRIPT = """
echo run >> ran
test -e copied || until test -e go; do sleep 0.05; done
"""


def copy_at_work(project: Project, lease: str) -> tuple[Project, subprocess.Popen[str]]:
    """Start a script that waits, and copy its project with the store and the locks."""
    project.run("dataflow", "dataset", "add", "bobin")
    project.run("dataflow", "job", "add", "loadbob", "--in", "bobin", "--lease", lease, "--grace", "0.1s")
    project.run("dataflow", "ready", "bobin", "1")
    project.script("loadbob.sh", SCRIPT)
    working = project.start("RunJob", "./loadbob.sh", stderr=subprocess.PIPE)
    wait_until((project.path / "ran").exists)
    copy = Project(project.path.parent / "copy", project.home)
    shutil.copytree(project.path, copy.path)
    (copy.path / "copied").touch()
    (copy.path / "ran").unlink()
    return copy, working


def let_go(project: Project, working: subprocess.Popen[str]) -> None:
    (project.path / "go").touch()
    assert "DONE" in working.communicate(timeout=60)[1]
    assert (project.path / "ran").read_text() == "run\n"


def test_a_copied_lock_does_not_make_the_original_look_dead(project: Project) -> None:
    copy, working = copy_at_work(project, "5m")
    assert "RUNNING" in copy.run("RunJob", "./loadbob.sh").stderr
    let_go(project, working)


@pytest.mark.full
def test_a_lease_that_lapses_in_the_copy_does_not_end_the_original(project: Project) -> None:
    copy, working = copy_at_work(project, "10s")
    wait_until(lambda: "DONE" in copy.run("RunJob", "./loadbob.sh").stderr)
    assert (copy.path / "ran").read_text() == "run\n"
    let_go(project, working)
