"""What a worker says to bad input; a problem of one job never stops the others."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.acceptance.flow import wait_until
from tests.service.crew import CHAIN, ONE, RECORDS_JOB, Crew


def refuse(crew: Crew, *words: str, code: int) -> str:
    done = crew.flow.dataflow("worker", *words, check=False)
    assert done.returncode == code, (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    return str(done.stderr)


def test_a_worker_without_any_command_says_what_to_write_where(sqlite_crew: Crew) -> None:
    sqlite_crew.flow.declare(ONE)
    said = refuse(sqlite_crew, code=78)
    assert f"the table [job.NAME] of a job in {sqlite_crew.flow.path / 'dataflow.toml'}" in said
    assert 'command = ["./load.sh"]' in said


def test_a_worker_outside_any_project_leaves_nothing_behind(sqlite_crew: Crew) -> None:
    assert "No store at" in refuse(sqlite_crew, code=66)
    assert list(sqlite_crew.flow.path.iterdir()) == []


def test_a_worker_with_a_mistyped_store_creates_none(sqlite_crew: Crew) -> None:
    sqlite_crew.declare(ONE)
    assert "No store at" in refuse(sqlite_crew, "--store", "sqlite:///typo.db", code=66)
    assert not (sqlite_crew.flow.path / "typo.db").exists()


def test_a_glob_that_matches_no_job_names_those_there_are(sqlite_crew: Crew) -> None:
    sqlite_crew.declare()
    said = refuse(sqlite_crew, "--jobs", "load", "exx*", code=66)
    assert '"exx*" matches no job' in said and "extract, load, report" in said


@pytest.mark.parametrize("words", [("-j", "0"), ("-j", "-1"), ("-j", "many")])
def test_streams_must_be_a_number_from_one(sqlite_crew: Crew, words: tuple[str, ...]) -> None:
    sqlite_crew.declare()
    assert "must be a number of at least 1" in refuse(sqlite_crew, *words, code=64)


def test_a_command_that_does_not_exist_is_reported_once_and_the_others_go_on(crew: Crew) -> None:
    crew.declare(CHAIN.replace('"./step.sh", "extract"', '"./gone.sh"') + "priority = 9\n")
    crew.flow.script("step.sh", RECORDS_JOB)
    crew.flow.ready("raw", "1")
    crew.flow.ready("mid", "7", "8")
    worker = crew.start_ready("-j", "1")
    wait_until(lambda: len(crew.flow.lines()) == 4)
    assert worker.said.count('Command "./gone.sh" not found') == 1, worker.said
    crew.flow.script("gone.sh", RECORDS_JOB)
    wait_until(lambda: "report 1" in crew.flow.lines())
    assert worker.end() == 0


def test_a_command_that_cannot_be_executed_uses_no_attempts_and_no_time(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    (crew.flow.path / "load.sh").write_text("not executable")
    crew.flow.ready("raw", *map(str, range(20)))
    worker = crew.start_ready("-j", "4")
    worker.wait_for("is not executable")
    before = cpu_seconds(worker.pid)
    time.sleep(2)
    assert cpu_seconds(worker.pid) - before < 0.5
    assert worker.said.count("is not executable") == 1, worker.said
    assert set(crew.flow.states("load").values()) == {"CLAIMABLE"}
    assert len(crew.flow.runs()) < 20


def test_a_job_with_a_command_that_is_not_registered_yet_waits_for_that(sqlite_crew: Crew) -> None:
    crew = sqlite_crew
    crew.declare(ONE)
    toml = crew.flow.path / "dataflow.toml"
    toml.write_text(ONE + '[job.later]\nin = ["raw"]\ncommand = "./load.sh"\n')
    crew.flow.script("load.sh", RECORDS_JOB)
    crew.flow.ready("raw", "1")
    said = crew.drain(code=66)
    assert crew.flow.lines() == ["load 1"]
    assert "Job later has a command but is not registered. Register it: dataflow apply" in said


@pytest.mark.parametrize(("text", "code"), [(None, 127), ("not executable", 126)])
def test_a_worker_until_idle_exits_like_runjob_if_a_command_cannot_run(
    sqlite_crew: Crew, text: str | None, code: int
) -> None:
    crew = sqlite_crew
    crew.declare(CHAIN.replace('"./step.sh", "extract"', '"./gone.sh"'))
    crew.flow.script("step.sh", RECORDS_JOB)
    if text:
        (crew.flow.path / "gone.sh").write_text(text)
    crew.flow.ready("raw", "1")
    crew.flow.ready("mid", "7")
    crew.drain(code=code)
    assert crew.flow.lines() == ["load 7", "report 7"]
    assert crew.flow.states("extract") == {"1": "CLAIMABLE"}
    crew.flow.script("gone.sh", RECORDS_JOB)
    crew.drain()


def test_a_command_in_another_file_than_the_project_file_is_refused(sqlite_crew: Crew) -> None:
    (sqlite_crew.flow.path / "jobs.toml").write_text(ONE)
    done = sqlite_crew.flow.dataflow("apply", "jobs.toml", "--yes", check=False)
    assert done.returncode == 78
    assert "job.load.command: is only read from the dataflow.toml" in done.stderr


@pytest.mark.parametrize("value", ['"./load.sh --full"', '"a; b"', "[]", "5", '[""]', '"$HOME/load.sh"'])
def test_a_command_must_be_an_array_or_one_word(sqlite_crew: Crew, value: str) -> None:
    (sqlite_crew.flow.path / "dataflow.toml").write_text(ONE.replace('["./load.sh"]', value))
    assert "job.load.command" in refuse(sqlite_crew, code=78)


def test_no_command_reaches_the_store(crew: Crew) -> None:
    crew.declare(ONE.replace('["./load.sh"]', '["./load.sh", "only-here"]'))
    crew.flow.script("load.sh")
    crew.flow.ready("raw", "1")
    crew.drain()
    assert "only-here" not in crew.flow.dataflow("export").stdout
    for table in ("job", "run", "journal", "worker"):
        assert "only-here" not in str(crew.flow.select(f"SELECT * FROM {table}"))


def cpu_seconds(pid: int) -> float:
    """What a process has used of the processor so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100
