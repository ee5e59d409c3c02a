"""Spark's scratch files, which contain rows: only their owner can read them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from dataflow.pipelines.spark.session_setup import find_scratch_folder

SHUFFLE = """
import glob, sys
from dataflow.pipelines.spark.session import SparkSettings, start_session

session = start_session(SparkSettings(master="local[1]"), sys.argv[1] + "/spark.log")
session.range(1000).repartition(3).count()
print(glob.glob(sys.argv[1] + "/dataflow-*/spark/blockmgr-*/*/shuffle_*.data")[0])
session.stop()
"""


KILLED = """
import os, subprocess, sys
from dataflow.pipelines.spark.session_setup import start_java

class Killed(subprocess.Popen):
    def __init__(self, *arguments, **options):
        os.kill(os.getpid(), 9)

subprocess.Popen = Killed  # PySpark starts Java with it
start_java({"spark.master": "local[1]", "spark.secret": "hunter2"})
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A world-writable folder for temporary files, like /tmp."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / f"dataflow-{os.geteuid()}"


def mode_of(path: str | Path) -> int:
    return stat.S_IMODE(os.lstat(path).st_mode)


@pytest.mark.timeout(120)
def test_rows_that_spark_shuffles_are_in_a_private_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHUFFLE, str(tmp_path)],
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        umask=0o000,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    own = tmp_path / f"dataflow-{os.geteuid()}"
    assert done.stdout.startswith(str(own))
    assert [mode_of(own), mode_of(own / "spark")] == [0o700, 0o700]
    assert list((own / "spark").rglob("*.data")) == []


def test_a_driver_killed_while_java_starts_leaves_no_file_with_its_options(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED],
        check=False,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]


def test_a_folder_is_reused(folder: Path) -> None:
    assert find_scratch_folder() == find_scratch_folder() == str(folder / "spark")


@pytest.mark.parametrize("trap", ["open", "link", "file"])
def test_a_folder_that_others_may_have_created_is_not_used(folder: Path, tmp_path: Path, trap: str) -> None:
    if trap == "open":
        folder.mkdir()
        folder.chmod(0o777)
    elif trap == "link":
        (tmp_path / "theirs").mkdir(mode=0o700)
        folder.symlink_to("theirs")
    else:
        folder.write_text("")
    found = find_scratch_folder()
    assert not found.startswith(str(folder))
    assert mode_of(found) == 0o700
