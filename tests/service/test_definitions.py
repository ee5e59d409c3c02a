"""A worker takes up changed definitions by itself, and keeps the last good ones when a file is broken."""

from __future__ import annotations

import os
import signal

import pytest

from tests.acceptance.flow import wait_until
from tests.service.crew import ONE, RECORDS_JOB, Crew

OTHER = ONE.replace("./load.sh", "./other.sh")


def write(crew: Crew, text: str) -> None:
    (crew.flow.path / "dataflow.toml").write_text(text)


def test_a_changed_command_is_used_for_the_next_run(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("load.sh", f"{RECORDS_JOB}; while ! test -e go; do sleep 0.05; done; echo old >> ran")
    crew.flow.script("other.sh", "echo new >> ran")
    worker = crew.start_ready("-j", "1")
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.lines() == ["load 1"])
    write(crew, OTHER)
    worker.wait_for("Loaded dataflow.toml again.")
    (crew.flow.path / "go").touch()  # the run under way keeps its command
    wait_until(lambda: crew.flow.lines() == ["load 1", "old"])
    crew.flow.ready("raw", "2")
    wait_until(lambda: crew.flow.lines() == ["load 1", "old", "new"])
    assert worker.end() == 0


def test_a_broken_file_keeps_the_last_good_definition_and_is_reported_once(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("load.sh", RECORDS_JOB)
    worker = crew.start_ready()
    write(crew, ONE + "[job.load\n")
    worker.wait_for("keeps the settings it has")
    worker.send(signal.SIGHUP)
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.lines() == ["load 1"])
    assert worker.said.count("keeps the settings it has") == 1, worker.said
    assert worker.end() == 0


def test_sighup_loads_a_file_again_whose_change_cannot_be_seen(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("lead.sh", "echo new >> ran")
    worker = crew.start_ready()
    file = crew.flow.path / "dataflow.toml"
    before = file.stat()
    with file.open("r+") as opened:  # the same inode, size and, below, time
        opened.write(ONE.replace("./load.sh", "./lead.sh"))
        opened.flush()
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    worker.send(signal.SIGHUP)
    worker.wait_for("Loaded dataflow.toml again.", 20)
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.lines() == ["new"])
    assert worker.end() == 0


def test_a_job_that_is_registered_and_declared_later_is_served_without_a_restart(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh", RECORDS_JOB)
    crew.flow.script("later.sh", RECORDS_JOB)
    worker = crew.start_ready()
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.lines() == ["load 1"])
    crew.declare(ONE + '[job.later]\nin = ["raw"]\ncommand = "./later.sh"\n')
    worker.wait_for("Loaded dataflow.toml again.")
    wait_until(lambda: crew.flow.lines() == ["load 1", "later 1"])
    assert worker.end() == 0


def test_a_worker_keeps_working_on_a_store_that_a_newer_version_has_upgraded(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("load.sh", RECORDS_JOB)
    worker = crew.start_ready()
    with crew.flow.store() as store:
        newer = "ALTER TABLE job ADD COLUMN later text NOT NULL DEFAULT ''; PRAGMA user_version = 99"
        store.database.write(lambda tx: tx._connection.execute(newer))  # type: ignore[attr-defined]
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.lines() == ["load 1"])
    assert worker.end() == 0
    crew.flow.ready("raw", "2")
    crew.drain()  # one that starts now, too
    assert crew.flow.lines() == ["load 1", "load 2"]


@pytest.mark.full
def test_a_job_that_is_removed_and_registered_again_is_served_again(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh", RECORDS_JOB)
    worker = crew.start_ready()
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.lines() == ["load 1"])
    crew.flow.dataflow("job", "remove", "load", "--yes")
    crew.flow.ready("raw", "2")
    worker.wait_for("Job load has a command but is not registered", 5)
    crew.declare(ONE)
    wait_until(lambda: sorted(crew.flow.lines()) == ["load 1", "load 1", "load 2"], 5)
    assert worker.end() == 0, worker.said
