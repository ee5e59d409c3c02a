"""`dataflow workers` and `dataflow up`: who is alive, where, and doing what."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import termios

from tests.acceptance.flow import family, kill_together, wait_until
from tests.service.crew import ONE, RECORDS_JOB, SLEEPS, Crew


def test_workers_are_listed_with_what_they_are_doing(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh", SLEEPS)
    assert crew.flow.json("workers") == []
    assert "No worker is alive" in crew.flow.dataflow("workers").stderr
    crew.flow.ready("raw", "1")
    worker = crew.start_ready("-j", "3")
    crew.flow.wait_for_pid("pid.1")
    (row,) = crew.flow.json("workers")
    assert (row["pid"], row["host"], row["streams"], row["jobs"]) == (worker.pid, os.uname().nodename, 3, 1)
    assert row["version"] and row["started_at"]
    (doing,) = row["doing"]
    assert (doing["job"], doing["dataid"]) == ("load", "1")
    assert "load 1 (run 1)" in crew.flow.dataflow("workers").stdout
    top = crew.flow.dataflow("top").stdout.splitlines()
    assert top[0].endswith("1 job, 1 running, 1 worker")
    (line,) = [line.split() for line in top if str(worker.pid) in line.split()]
    assert line[1:4] == [str(worker.pid), "1/3", "1"]


def test_a_worker_that_died_on_this_machine_is_not_listed_although_nobody_has_cleaned_up(crew: Crew) -> None:
    crew.declare(ONE)
    crew.flow.script("load.sh")
    worker = crew.start_ready()
    kill_together(worker.pid, *family(worker.pid))
    worker.process.wait()
    wait_until(lambda: crew.flow.json("workers") == [], 20)  # sooner than its heartbeat lapses
    assert "worker" not in crew.flow.dataflow("top").stdout
    assert crew.list_pids() == [worker.pid]
    other = crew.start_ready()
    wait_until(lambda: crew.list_pids() == [other.pid])
    assert [row for row in crew.flow.json("journal") if row["action"] == "lost worker"]


def test_a_killed_worker_is_an_incident_until_another_one_starts(crew: Crew) -> None:
    crew.declare(ONE + '[notify.page]\nkind = "command"\ncommand = "./page.sh"\n')
    crew.flow.script("load.sh", SLEEPS)
    crew.flow.script("page.sh", 'echo "$INCIDENT_EVENT $INCIDENT_KIND $INCIDENT_HOST" >> "$PWD/paged"')
    crew.flow.ready("raw", "1")
    worker = crew.start_ready("-j", "1")
    crew.flow.wait_for_pid("pid.1")
    kill_together(worker.pid, *family(worker.pid))
    (found,) = crew.flow.json("incidents")
    assert (found["kind"], found["host"], found["chunks"]) == ("worker_lost", os.uname().nodename, 1)
    assert f"process {worker.pid}" in found["reason"] and "running load 1 (run 1)" in found["reason"]
    crew.flow.dataflow("notify")
    crew.start_ready("-j", "1")
    assert crew.flow.json("incidents") == []
    told = [f"{event} worker_lost {os.uname().nodename}" for event in ("opened", "recovered")]
    wait_until(lambda: (crew.flow.path / "paged").read_text().splitlines() == told)


def test_a_worker_restarted_after_a_kill_tells_of_both(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    crew.flow.script("load.sh", "true")
    worker = crew.start_ready()
    kill_together(worker.pid, *family(worker.pid))
    other = crew.start_ready()
    other.wait_for(f"(process {worker.pid}) is gone.")
    assert crew.flow.json("incidents") == []
    (found,) = crew.flow.json("incidents", "--all")
    assert (found["kind"], found["recovered"]) == ("worker_lost", True)
    assert other.end() == 0
    assert len(crew.flow.json("incidents", "--all")) == 1


def test_up_works_without_a_terminal_and_says_what_it_does(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(ONE)
    sqlite_crew.flow.script("load.sh", RECORDS_JOB)
    sqlite_crew.flow.ready("raw", "1")
    worker = sqlite_crew.start_ready(command="up")
    worker.wait_for("load 1: DONE")
    assert worker.end(signal.SIGINT) == 0


def test_up_shows_on_a_terminal_what_it_does_and_leaves_it_as_it_was(sqlite_crew: Crew) -> None:
    flow = sqlite_crew.flow
    sqlite_crew.declare(ONE)
    flow.script("load.sh", SLEEPS)
    flow.ready("raw", "1")
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(ours)
    process = flow.project.start(
        *("dataflow", "up", "-j", "2"), env=flow.env | {"TERM": "xterm"}, start_new_session=True,
        stdin=theirs, stdout=theirs, stderr=theirs,
    )  # fmt: skip
    flow.started.append(process)
    os.close(theirs)
    os.set_blocking(ours, False)
    shown = bytearray()

    def shows(text: bytes) -> bool:
        with contextlib.suppress(BlockingIOError, OSError):  # the worker has closed its end
            shown.extend(os.read(ours, 1 << 16))
        return text in shown

    try:
        child = flow.wait_for_pid("pid.1")
        wait_until(lambda: shows(b"load"), 30)
        os.kill(child, signal.SIGTERM)
        wait_until(lambda: shows(b"load 1: FAILED"), 30)
        process.send_signal(signal.SIGINT)
        wait_until(lambda: shows(b"\0") or process.poll() is not None, 30)  # reads what it shows
        assert process.wait() == 0
        shows(b"")
        assert bytes(shown).count(b"\x1b[?25h") >= bytes(shown).count(b"\x1b[?25l") > 0, "the cursor is back"
        assert termios.tcgetattr(ours) == before
    finally:
        os.close(ours)


def test_init_writes_units_with_the_paths_of_this_machine(sqlite_crew: Crew) -> None:
    project = sqlite_crew.flow.project
    project.script("dataflow", "exit 0")
    env = {"PATH": f"{project.path}:/usr/bin:/bin"}
    (project.path / "dataflow.toml").write_text(ONE)
    project.run("dataflow", "init", "--systemd", env=env)
    unit = (project.path / "systemd" / "dataflow-worker.service").read_text()
    assert f"WorkingDirectory={project.path}\n" in unit
    assert f"ExecStart={project.path / 'dataflow'} worker\n" in unit
    assert "@" not in unit
    assert (project.path / "dataflow.toml").read_text() == ONE
    again = project.run("dataflow", "init", "--systemd", env=env, check=False)
    assert again.returncode == 75 and "already exists" in again.stderr
