"""`dataflow run -j N`: several intervals of a pipeline at once, in one process on one Spark session."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from dataflow.config.settings import load_config
from dataflow.errors import JobFailed, LeaseLost
from dataflow.model.records import WorkRow
from dataflow.model.status import WorkState
from dataflow.pipelines.run.streams import MARGIN_SECONDS, Streams
from dataflow.runjob.lock import is_dead
from dataflow.runjob.presence import Presence
from dataflow.store.opener import open_store
from tests.pipelines.local_server import LocalServer, QuietHandler
from tests.pipelines.workshop import Workshop
from tests.project import Project
from tests.runjob.claimant import wait_until

EVENTS = """
    class EventsDatasetPipeline:
        table_name = "events"
        source_url = constants.API + "/events?day={dataid}"
        mode = "partition"
        start_date = datetime(2026, 11, 1)
        end_date = datetime(2026, 11, 4)
        catchup = True
        field_mapping = [("id", "event_id", "bigint PRIMARY KEY"), ("day", "day", "date")]
"""
MEETING = """
    import threading
    import time
    import dataflow

    together = threading.Barrier(2)

    @dataflow.job(
        outputs=["met"], schedule="@daily", start_date=datetime(2026, 11, 1), end_date=datetime(2026, 11, 4),
        catchup=True,
    )
    def meet(run):
        together.wait(120)
        run.log(f"the log of {run.dataid}")
        beats = [thread.name for thread in threading.enumerate()].count("heartbeat")
        rows = [(run.dataid, beats)]
        run.write("met", run.spark.createDataFrame(rows, "day string, heartbeats int"))
"""
STAYING = """
    import atexit
    import time
    from pathlib import Path
    import dataflow

    folder = Path(constants.FOLDER)

    def wait_to_go():
        (folder / "leaving").touch()
        while not (folder / "go").exists():
            time.sleep(0.05)

    @dataflow.job(
        outputs=["met"], schedule="@daily", start_date=datetime(2026, 11, 1), end_date=datetime(2026, 11, 4),
        catchup=True,
    )
    def stay(run):
        atexit.register(wait_to_go)
        run.log("here")
        time.sleep(600)
"""
WRITTEN = """
    import time
    from pathlib import Path
    import dataflow

    @dataflow.job(
        outputs=["met"], schedule="@daily", start_date=datetime(2026, 11, 1), end_date=datetime(2026, 11, 1),
        catchup=True,
    )
    def write(run):
        run.write("met", run.spark.range(3))
        (Path(constants.FOLDER) / "written").touch()
        while not (Path(constants.FOLDER) / "go").exists():
            time.sleep(0.05)
"""
DAYS = [f"2026-11-0{day}" for day in range(1, 5)]


class EventServer(LocalServer):
    """Answers with three rows of the day asked for, once as many requests as `at_once` are waiting."""

    def __init__(self, at_once: int) -> None:
        super().__init__(_EventHandler)
        self.together = threading.Barrier(at_once)
        self.asked: list[str] = []
        self.released = threading.Event()
        self.broken: set[str] = set()

    def __exit__(self, *_: object) -> None:
        self.released.set()
        super().__exit__()


class _EventHandler(QuietHandler):
    def do_GET(self) -> None:
        server: EventServer = self.server.owner
        day = parse_qs(urlsplit(self.path).query)["day"][0]
        server.asked.append(day)
        try:
            server.together.wait(120)
            status = 404 if day in server.broken else 200
        except threading.BrokenBarrierError:
            status = 404  # nobody else came
        rows = [{"id": int(day[-2:]) * 10 + number, "day": day} for number in range(3)]
        body = json.dumps({"results": rows, "next": None}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def pairs() -> Iterator[EventServer]:
    """A source that answers two requests at a time."""
    with EventServer(2) as server:
        yield server


def give(workshop: Workshop, server: EventServer) -> Workshop:
    workshop.environ = {"API": server.origin}
    workshop.write("events.py", EVENTS)
    return workshop


def read_all(workshop: Workshop, dataset: str) -> dict[str, list[dict[str, Any]]]:
    return {day: sorted(workshop.rows(dataset, day), key=str) for day in DAYS}


@pytest.mark.daily
def test_intervals_overlap_and_give_the_same_rows_as_one_after_the_other(
    workshop: Workshop, pairs: EventServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    give(workshop, pairs)
    outcome = workshop.run("EventsDatasetPipeline", drain=True, streams=2)
    assert (outcome.done, outcome.failed) == (4, 0), workshop.said
    with EventServer(1) as server:
        other = give(Workshop(tmp_path_factory.mktemp("other"), workshop.spark), server)
        assert other.run("EventsDatasetPipeline", drain=True).done == 4
    assert read_all(workshop, "events") == read_all(other, "events")
    runs = sorted(workshop.store.read.list_runs(10), key=lambda run: run.run_id)
    assert len({run.claimant for run in runs}) == 1


def test_each_run_has_its_own_log_and_all_share_one_heartbeat(workshop: Workshop) -> None:
    workshop.write("jobs.py", MEETING)
    assert workshop.run("meet", drain=True, streams=2).done == 4, workshop.said
    assert {row["heartbeats"] for rows in read_all(workshop, "met").values() for row in rows} == {1}
    for run in workshop.store.read.list_runs(10):
        log = (workshop.path / ".dataflow" / "logs" / f"{run.run_id}.log").read_text()
        assert [line for line in log.splitlines() if "the log of" in line] == [f"the log of {run.dataid}"]
        assert log.count("Spark ") == 1


def test_a_drain_ends_with_a_count_of_chunks_and_retries(workshop: Workshop) -> None:
    workshop.write(
        "jobs.py",
        """
        from pathlib import Path
        import dataflow

        @dataflow.job(
            outputs=["tried"], schedule="@daily", start_date=datetime(2026, 11, 1), catchup=True,
            end_date=datetime(2026, 11, 3), retries=1, retry_delay_seconds=0.1,
        )
        def attempt(run):
            if run.dataid == "2026-11-02" and not (Path(constants.FOLDER) / "before").exists():
                (Path(constants.FOLDER) / "before").touch()
                raise ValueError("not yet")
            if run.dataid == "2026-11-03":
                raise ValueError("never")
            run.write("tried", run.spark.range(3))
        """,
    )
    workshop.environ["FOLDER"] = str(workshop.path)
    project = Project(workshop.path, workshop.path)
    done = project.run("dataflow", "run", "attempt", "--drain", env=workshop.environ, check=False)
    told = "attempt: 2 chunks done, 1 failed, none left; 2 retries"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, told), done.stderr
    again = project.run("dataflow", "run", "attempt", "--drain", env=workshop.environ, check=False)
    assert "chunks" not in again.stderr


def test_a_failed_interval_leaves_the_others_published(workshop: Workshop, pairs: EventServer) -> None:
    give(workshop, pairs)
    pairs.broken = {DAYS[1]}
    outcome = workshop.run("EventsDatasetPipeline", drain=True, streams=2)
    assert (outcome.done, outcome.failed) == (3, 1), workshop.said
    assert {day: workshop.chunk("events", day).status for day in DAYS} == {
        day: "FAILED" if day == DAYS[1] else "READY" for day in DAYS
    }


def test_cancelling_one_run_leaves_the_other_at_work(workshop: Workshop) -> None:
    workshop.write(
        "jobs.py",
        """
        import time
        from pathlib import Path
        import dataflow

        @dataflow.job(
            outputs=["slow"], schedule="@daily", catchup=True, start_date=datetime(2026, 11, 1),
            end_date=datetime(2026, 11, 2),
        )
        def crawl(run):
            if run.dataid == "2026-11-01":
                run.spark.range(4000000).crossJoin(run.spark.range(4000000)).count()
            started = Path(constants.FOLDER)
            (started / run.dataid).touch()
            while not (started / "go").exists():
                time.sleep(0.05)
            run.write("slow", run.spark.range(3))
        """,
    )
    workshop.environ["FOLDER"] = str(workshop.path)
    outcomes: list[Any] = []
    thread = threading.Thread(
        target=lambda: outcomes.append(workshop.run("crawl", drain=True, streams=2)), daemon=True
    )
    thread.start()
    wait_until((workshop.path / DAYS[1]).exists)
    wait_until(lambda: list(workshop.spark.sparkContext.statusTracker().getActiveJobsIds()))
    runs = {run.dataid: run.run_id for run in workshop.store.read.list_runs(10, outcome="RUNNING")}
    workshop.store.cancel(runs[DAYS[0]], "a test wants it")
    wait_until(lambda: not workshop.spark.sparkContext.statusTracker().getActiveJobsIds())
    (workshop.path / "go").touch()
    thread.join(120)
    [outcome] = outcomes
    assert (outcome.done, type(outcome.error)) == (1, LeaseLost), workshop.said
    assert workshop.chunk("slow", DAYS[1]).status == "READY"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_hands_all_runs_back(workshop: Workshop, number: signal.Signals) -> None:
    with EventServer(3) as server:  # two streams wait for a third request that does not come
        give(workshop, server)
        process = start_streams(workshop, "EventsDatasetPipeline")
        wait_until(lambda: len(server.asked) == 2)
        process.send_signal(number)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + number, errors
    runs = workshop.store.read.list_runs(10)
    ended = {run.dataid: str(run.outcome) for run in runs}
    assert ended == dict.fromkeys(DAYS[:2], "INTERRUPTED")
    with EventServer(1) as server:
        assert give(workshop, server).run("EventsDatasetPipeline", drain=True).done == 4, workshop.said


def test_work_of_a_run_that_does_not_stop_is_claimed_once_the_process_is_gone(workshop: Workshop) -> None:
    stubborn = MEETING.replace("together.wait(120)", "run.log('here'); time.sleep(float(constants.SECONDS))")
    workshop.write("jobs.py", stubborn)
    workshop.environ["SECONDS"] = "600"
    process = start_streams(workshop, "meet")
    wait_until(lambda: workshop.log().count("here") == 2)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, errors
    workshop.environ["SECONDS"] = "0"
    assert workshop.run("meet", drain=True, streams=2).done == 4, workshop.said


def test_a_signal_ends_the_checks_of_inputs(workshop: Workshop) -> None:
    pids = checked_inputs(workshop, "echo $$ >> pids; sleep 600")
    process = start_streams(workshop, "copy")
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, errors
    assert not any(is_alive(pid) for pid in pids.read_text().split())
    assert [str(run.outcome) for run in workshop.store.read.list_runs(10)] == ["INTERRUPTED"] * 2


def checked_inputs(workshop: Workshop, check: str) -> Path:
    """A job with two days of an input that a script checks."""
    (workshop.path / "dataflow.toml").write_text(
        '[dataset.seed]\ngrain = "daily"\nlocation = "seed/{dataid}"\ncheck = ["./check.sh"]\n'
    )
    script = workshop.path / "check.sh"
    script.write_text(f"#!/bin/sh\n{check}\n")
    script.chmod(0o755)
    for day in DAYS[:2]:
        (workshop.path / "seed" / day).mkdir(parents=True)
    project = Project(workshop.path, workshop.path)
    project.run("dataflow", "apply", "--yes")
    project.run("dataflow", "ready", "seed", *DAYS[:2])
    workshop.write(
        "jobs.py",
        """
        import dataflow

        @dataflow.job(inputs=["seed"], outputs=["copied"])
        def copy(run):
            run.write("copied", run.spark.range(3))
        """,
    )
    return workshop.path / "pids"


def is_alive(pid: str) -> bool:
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    return True


def test_no_other_process_claims_work_while_a_thread_that_did_not_stop_may_write(workshop: Workshop) -> None:
    workshop.write("jobs.py", STAYING)
    workshop.environ["FOLDER"] = str(workshop.path)
    process = start_streams(workshop, "stay")
    wait_until(lambda: workshop.log().count("here") == 2)
    process.send_signal(signal.SIGTERM)
    wait_until((workshop.path / "leaving").exists)
    names = {run.claimant for run in workshop.store.read.list_runs(10)}
    lock_dir = load_config(str(workshop.path), {}).lock_dir
    before = [is_dead(lock_dir, name) for name in names]
    (workshop.path / "go").touch()
    assert process.wait(120) == 128 + signal.SIGTERM
    assert (before, [is_dead(lock_dir, name) for name in names]) == ([False], [True])


def test_an_interrupted_run_publishes_nothing(workshop: Workshop) -> None:
    workshop.write("jobs.py", WRITTEN)
    workshop.environ["FOLDER"] = str(workshop.path)

    def interrupt() -> None:
        wait_until((workshop.path / "written").exists)
        assert workshop.presence is not None
        workshop.presence.interrupt(KeyboardInterrupt())
        (workshop.path / "go").touch()

    thread = threading.Thread(target=interrupt, daemon=True)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        workshop.run("write")
    thread.join()
    [run] = workshop.store.read.list_runs(10)
    assert str(run.outcome) == "INTERRUPTED"
    assert workshop.chunk("met", DAYS[0]).version == 0


def start_streams(workshop: Workshop, name: str) -> subprocess.Popen[str]:
    return Project(workshop.path, workshop.path).start(
        "dataflow", "run", name, "--drain", "-j", "2", env=workshop.environ, stderr=subprocess.PIPE
    )


def no_claims() -> Presence:
    return Presence("", open_store("sqlite:///:memory:", "me"))


def test_a_stream_without_work_claims_again_when_a_run_ends() -> None:
    streams = Streams()
    lock = threading.Lock()
    open_work, later, threads = ["first"], ["second", "third"], []
    both = threading.Barrier(2)

    def run_one() -> bool:
        with lock:
            work = open_work.pop() if open_work else ""
        if work == "first":
            time.sleep(0.2)  # the other stream finds nothing meanwhile
            open_work.extend(later)
        elif work:
            both.wait(10)
            threads.append(threading.current_thread().name)
        return bool(work)

    streams.drain_in_threads([lambda: streams.drain(run_one)] * 2, no_claims())
    assert len(set(threads)) == 2


def test_an_error_in_one_stream_is_raised_once_the_others_have_ended_their_run() -> None:
    streams, is_ended = Streams(), threading.Event()
    both = threading.Barrier(2)

    def work() -> bool:
        both.wait(10)
        time.sleep(0.2)
        is_ended.set()
        return True

    def fail() -> bool:
        both.wait(10)
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        streams.drain_in_threads([lambda: streams.drain(work), lambda: streams.drain(fail)], no_claims())
    assert is_ended.is_set()


def test_a_thread_that_does_not_start_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    began_at = time.monotonic()
    with pytest.raises(RuntimeError, match="new thread"):
        Streams().drain_in_threads([lambda: None], no_claims())
    assert time.monotonic() - began_at < MARGIN_SECONDS


def test_idle_streams_wait_for_a_retry_that_is_due_soon() -> None:
    streams, attempts = Streams(), iter([False, True, False, False, False])
    work = WorkRow(1, "load", "1", WorkState.WAITING, False, False, 0, 1, 0, None, "", 0.1, "")
    streams.count_failed(JobFailed("not yet"), work)
    streams.drain(lambda: next(attempts))
    assert next(attempts) is False


def test_jobs_need_drain(project: Project) -> None:
    (project.path / "pipelines").mkdir()
    for words in (("run", "OrdersDatasetPipeline", "-j", "2"), ("pipeline", "run", "X", "--jobs", "2")):
        done = project.run("dataflow", *words, check=False)
        assert (done.returncode, "-j needs --drain." in done.stderr) == (64, True), done.stderr
