"""What children write: to the terminal, to the log, through readers that pause or disconnect."""

from __future__ import annotations

import os
import subprocess
import time

from tests.acceptance.flow import (
    RECORDS,
    Flow,
    finish,
    state_of,
    wait_until,
)


def test_output_goes_to_the_terminal_and_the_log_and_its_end_is_shown_again_on_failure(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "for i in $(seq 1 30); do echo line $i; done; echo complaint >&2; exit 7")
    done = flow.runjob("loadbob.sh", code=7)
    [run] = flow.runs()
    log = flow.path / f".dataflow/logs/{run.run_id}.log"
    assert done.stdout == "".join(f"line {number}\n" for number in range(1, 31))
    assert log.read_text() == done.stdout + "complaint\n"
    assert str(log) in done.stderr
    assert "  | line 30\n" in done.stderr
    assert "  | complaint\n" in done.stderr
    assert "  | line 1\n" not in done.stderr
    assert "exited with 7" in done.stderr


def test_quiet_prints_nothing_when_all_is_well(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1")
    sqlite_flow.script("loadbob.sh")
    assert sqlite_flow.runjob("--quiet", "loadbob.sh").stderr == ""


def test_a_reader_that_stops_reading_costs_no_lease(flow: Flow) -> None:
    """`RunJob | less`, paused for longer than the lease."""
    flow.declare()
    flow.ready("bobin", "1")
    flow.script(
        "loadbob.sh",
        "i=0; while [ $i -lt 4000 ]; do echo $i; i=$((i+1)); done; yes | head -c 3000000; echo end",
    )
    reader, writer = os.pipe()
    running = flow.start("--lease", "5s", "--grace", "0.5s", "loadbob.sh", stdout=writer)
    os.close(writer)
    wait_until(lambda: flow.outcomes() == ["RUNNING"])
    # The child cannot end while its output is not read, and more than a lease passes meanwhile.
    started = time.monotonic()
    wait_until(lambda: time.monotonic() - started > 6)
    assert running.poll() is None
    assert flow.outcomes() == ["RUNNING"]
    with os.fdopen(reader, "rb") as stream:
        received = stream.read()
    assert finish(running)[0] == 0
    assert received.endswith(b"end\n")
    assert flow.outcomes() == ["DONE"]


def test_drain_continues_when_its_reader_resumes(sqlite_flow: Flow) -> None:
    """No new work while the reader is far behind; all of it afterwards."""
    flow = sqlite_flow
    flow.declare()
    chunks = [str(number) for number in range(40)]
    flow.ready("bobin", *chunks)
    flow.script("loadbob.sh", RECORDS + "; yes | head -c 60000")
    reader, writer = os.pipe()
    draining = flow.start("--drain", "loadbob.sh", stdout=writer)
    os.close(writer)
    wait_until(lambda: len(flow.lines()) >= 10)
    wait_until(lambda: state_of(draining.pid) == "S" and not _moved(flow))
    assert len(flow.lines()) < 40
    assert draining.poll() is None
    with os.fdopen(reader, "rb") as stream:
        received = stream.read()
    assert finish(draining)[0] == 0
    assert flow.lines() == chunks
    assert len(received) == 40 * 60000


def _moved(flow: Flow, seconds: float = 1.0) -> bool:
    before = len(flow.lines())
    time.sleep(seconds)
    return len(flow.lines()) != before


def test_a_reader_that_disconnects_does_not_stop_the_work(flow: Flow) -> None:
    flow.declare()
    flow.ready("bobin", "1", "2")
    flow.script("loadbob.sh", "yes | head -c 200000; " + RECORDS)
    reader, writer = os.pipe()
    running = flow.start("--drain", "loadbob.sh", stdout=writer)
    os.close(writer)
    os.close(reader)
    assert finish(running)[0] == 0
    assert flow.lines() == ["1", "2"]


def test_standard_streams_may_be_closed(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "echo out; echo err >&2; " + RECORDS)
    command = " ".join(f"'{word}'" for word in flow.project.command("RunJob", "loadbob.sh"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"{command} <&- >&- 2>&-"],
        cwd=flow.path,
        env=flow.project.environment(flow.env),
        check=False,
    )
    assert done.returncode == 0
    assert flow.lines() == ["1"]


def test_a_log_left_by_an_earlier_store_is_not_continued(sqlite_flow: Flow) -> None:
    flow = sqlite_flow
    logs = flow.path / ".dataflow/logs"
    logs.mkdir(parents=True)
    (logs / "1.log").write_text("from a run 1 of long ago\n")
    flow.declare()
    flow.ready("bobin", "1")
    flow.script("loadbob.sh", "echo new")
    flow.runjob("loadbob.sh")
    assert (logs / "1.log").read_text() == "new\n"
