"""A worker serves all jobs of its machine: in a chain, beside others, in order, and at once."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import pytest

from tests.acceptance.flow import wait_until
from tests.service.crew import CHAIN, ONE, PATIENT, RECORDS_JOB, Crew

WAKE_SECONDS = 20.0
"""A generous bound: the machine may be busy. A patient worker looks by itself every 300 s."""


@pytest.mark.daily
def test_one_worker_drains_a_chain_of_three_jobs(crew: Crew) -> None:
    crew.declare()
    crew.flow.script("step.sh", RECORDS_JOB)
    crew.flow.ready("raw", *map(str, range(10)))
    crew.drain("-j", "2")
    assert Counter(crew.flow.lines()) == Counter(
        f"{job} {number}" for job in ("extract", "load", "report") for number in range(10)
    )
    assert set(crew.flow.status("end").values()) == {"READY"}


def test_the_words_of_a_command_reach_it_unchanged(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(ONE.replace('["./load.sh"]', """["./load.sh", "a  b", "$HOME", "*"]"""))
    sqlite_crew.flow.script("load.sh", 'printf "%s\\n" "$@" > ran')
    sqlite_crew.flow.ready("raw", "1")
    sqlite_crew.drain()
    assert sqlite_crew.flow.lines() == ["a  b", "$HOME", "*"]


def test_two_workers_do_no_chunk_twice_and_skip_none(crew: Crew) -> None:
    crew.declare()
    crew.flow.script("step.sh", RECORDS_JOB)
    crew.flow.ready("raw", *map(str, range(40)))
    first, second = crew.start("--until-idle", "-j", "2"), crew.start("--until-idle", "-j", "2")
    assert (first.process.wait(120), second.process.wait(120)) == (0, 0), first.said + second.said
    crew.drain()  # what one finished after the other had gone home
    assert Counter(crew.flow.lines()) == Counter(
        f"{job} {number}" for job in ("extract", "load", "report") for number in range(40)
    )
    assert set(crew.flow.outcomes()) == {"DONE"}


def test_a_waiting_worker_wakes_when_work_appears(crew: Crew) -> None:
    crew.declare()
    crew.flow.script("step.sh", RECORDS_JOB)
    crew.start_ready("-j", "2", program=PATIENT)
    crew.flow.ready("raw", "0")
    wait_until(lambda: "report 0" in crew.flow.lines())
    took = []
    for number in range(1, 6):
        time.sleep(0.3)  # it goes to sleep between two chunks, as after a quiet hour
        began_at = time.monotonic()
        crew.flow.ready("raw", str(number))
        wait_until(lambda number=number: f"extract {number}" in crew.flow.lines())  # type: ignore[misc]
        took.append(time.monotonic() - began_at)
    print(f"wake-up and first run: {', '.join(f'{seconds:.3f}' for seconds in took)} s")
    assert max(took) < WAKE_SECONDS


def test_a_waiting_worker_retries_when_the_wait_is_over(crew: Crew) -> None:
    crew.declare(ONE + 'retries = 2\nretry_delay = "1s"\n')
    crew.flow.script("load.sh", "echo $dataid >> ran; test $(wc -l < ran) -gt 2")
    crew.start_ready(program=PATIENT)
    crew.flow.ready("raw", "1")
    wait_until(lambda: crew.flow.states("load") == {"1": "DONE"})
    assert crew.flow.outcomes() == ["FAILED", "FAILED", "DONE"]


@pytest.mark.full
def test_a_waiting_worker_runs_an_interval_when_it_ends(crew: Crew) -> None:
    crew.declare('[job.load]\ncommand = "./load.sh"\nschedule = "* * * * *"\n')
    crew.flow.script("load.sh", "date +%s >> ran")
    crew.start_ready(program=PATIENT)
    wait_until(lambda: len(crew.flow.lines()) == 2, 150)
    late = int(crew.flow.lines()[1]) % 60
    print(f"the interval was run {late} s after its end")
    assert late < WAKE_SECONDS


def test_a_worker_runs_an_interval_that_has_ended(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(
        '[dataset.ticks]\n[job.load]\ncommand = "./load.sh"\nschedule = "@once"\nout = ["ticks"]\n'
    )
    sqlite_crew.flow.script("load.sh")
    sqlite_crew.start_ready()
    wait_until(lambda: len(sqlite_crew.flow.lines()) == 1)


def test_higher_priority_goes_first_then_the_oldest_work(sqlite_crew: Crew) -> None:
    text = "".join(
        f'[dataset.{name}_in]\n[job.{name}]\nin = ["{name}_in"]\n'
        f'command = "./step.sh"\npriority = {priority}\n'
        for name, priority in (("young", 0), ("old", 0), ("urgent", 5))
    )
    sqlite_crew.declare(text)
    sqlite_crew.flow.script("step.sh", RECORDS_JOB)
    for name in ("old", "young", "urgent"):
        sqlite_crew.flow.ready(f"{name}_in", "1", "2")
        time.sleep(0.01)
    sqlite_crew.drain("-j", "1")
    assert sqlite_crew.flow.lines() == ["urgent 1", "urgent 2", "old 1", "old 2", "young 1", "young 2"]


PAIR = """
[dataset.a]
[dataset.b]
[job.ja]
in = ["a"]
command = "./step.sh"
[job.jb]
in = ["b"]
command = "./step.sh"
"""


def test_free_streams_go_to_the_oldest_work_of_all_jobs(crew: Crew) -> None:
    crew.declare(PAIR)
    crew.flow.script("step.sh", f"{RECORDS_JOB}; while ! test -e go; do sleep 0.05; done")
    for dataset, dataids in (("a", "1"), ("b", "1234"), ("a", "2345")):
        crew.flow.ready(dataset, *dataids)
        time.sleep(0.01)
    worker = crew.start("--until-idle", "-j", "4")
    wait_until(lambda: len(crew.flow.lines()) == 4)
    assert sorted(crew.flow.lines()) == ["ja 1", "jb 1", "jb 2", "jb 3"]
    (crew.flow.path / "go").touch()
    assert worker.process.wait(60) == 0, worker.said
    assert len(crew.flow.lines()) == 9


def test_a_job_at_its_limit_lets_the_others_go_on(crew: Crew) -> None:
    crew.declare(
        CHAIN.replace('command = ["./step.sh", "extract"]', 'max_running = 1\ncommand = ["./slow.sh"]')
    )
    crew.flow.script("slow.sh", f"{RECORDS_JOB}; sleep 0.2")
    crew.flow.script("step.sh", RECORDS_JOB)
    crew.flow.ready("raw", "1", "2", "3")
    crew.drain("-j", "4")
    assert set(crew.flow.status("end").values()) == {"READY"}
    runs = crew.flow.runs("extract")
    for before, after in itertools.pairwise(runs):
        assert before.ended_at is not None and before.ended_at <= after.started_at


def test_only_the_named_jobs_are_served(sqlite_crew: Crew) -> None:
    sqlite_crew.declare()
    sqlite_crew.flow.script("step.sh", RECORDS_JOB)
    sqlite_crew.flow.ready("raw", "1")
    sqlite_crew.drain("--jobs", "ex*", "rep*")
    assert sqlite_crew.flow.lines() == ["extract 1"]


def test_a_worker_until_idle_reports_failed_runs_in_its_exit_code(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(ONE)
    sqlite_crew.flow.script("load.sh", "echo no >&2; exit 3")
    sqlite_crew.flow.ready("raw", "1")
    said = sqlite_crew.drain(code=1)
    assert "load 1: FAILED, exited with 3" in said and "| no" in said


def test_the_output_of_scripts_is_in_their_logs_and_not_on_the_terminal(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(ONE)
    sqlite_crew.flow.script("load.sh", "echo hello from $dataid")
    sqlite_crew.flow.ready("raw", "1")
    assert "hello" not in sqlite_crew.drain()
    assert "hello from 1" in sqlite_crew.flow.dataflow("logs", "1").stdout
