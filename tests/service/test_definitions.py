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


def test_an_empty_file_is_broken_and_the_worker_goes_on_with_its_commands(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("load.sh", f"{RECORDS_JOB}; while ! test -e go; do sleep 0.05; done")
    crew.flow.ready("raw", "1", "2", "3")
    worker = crew.start("--until-idle", "-j", "1")
    wait_until(lambda: crew.flow.lines() == ["load 1"])
    write(crew, "")
    worker.wait_for("dataflow: The worker keeps the settings it has.")
    (crew.flow.path / "go").touch()
    assert worker.process.wait(60) == 0, worker.said
    assert crew.flow.lines() == ["load 1", "load 2", "load 3"]
    assert worker.said.count("declares no command any more") == 1


def test_a_worker_says_that_it_stops_and_that_a_job_was_registered(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("load.sh", f"{RECORDS_JOB}; while ! test -e go; do sleep 0.05; done")
    worker = crew.start_ready("-j", "1")
    write(crew, ONE + '[job.more]\nin = ["raw"]\ncommand = ["./load.sh"]\n')
    worker.wait_for("Job more has a command but is not registered")
    crew.flow.dataflow("apply", "dataflow.toml", "--yes")
    worker.wait_for("Job more is registered now.")
    crew.flow.ready("raw", "1")
    wait_until(lambda: bool(crew.flow.lines()))
    worker.send(signal.SIGTERM)
    worker.wait_for("Stopping after 1 run. A second signal hands running work back.")
    (crew.flow.path / "go").touch()
    assert worker.process.wait(60) == 0


def test_a_worker_says_what_it_takes_over_and_what_is_quarantined(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE + "max_crashes = 1\n")
    crew.flow.script("load.sh", "kill -9 $PPID")
    crew.flow.ready("raw", "1")
    crew.start().process.wait(60)
    worker = crew.start_ready()
    worker.wait_for("A process of this machine has died. Taking over its work of load.")
    worker.wait_for("load: 1 chunk quarantined, because runs of it keep dying. See: dataflow why load")
    assert worker.end() == 0
