"""Only what declares something makes a store: a wrong folder or a mistyped `--store` begins no new one."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

import dataflow as python
from dataflow import errors
from dataflow.config.store_url import find_password
from tests.acceptance.commands import Commands
from tests.acceptance.flow import Flow
from tests.project import FOREIGN, Project

MISSING = errors.StoreMissing.exit_code
READING = [
    "status",
    "why loadbob",
    "chunks bobin",
    "runs",
    "logs 1",
    "journal",
    "sql select",
    "export",
    "db version",
    "dataset list",
    "dataset show bobin",
    "job list",
    "job show loadbob",
]
CHANGING = [
    "ready bobin 1.0",
    "withdraw bobin 1.0",
    "resubmit loadbob 1.0",
    "hold loadbob",
    "release loadbob",
    "mark loadbob 1.0 READY",
    "cancel 1",
    "dataset remove bobin",
    "job remove loadbob --yes",
    "purge --older-than 90d --yes",
    "doctor --repair",
    "force loadbob 1.0 -- true",
    "run --job loadbob true",
    "run --dry-run --job loadbob true",
]


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Commands:
    """A shell in an empty folder whose store nobody has made."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        monkeypatch.delenv(name)
    folder = tmp_path / "project"
    folder.mkdir()
    return Commands(folder, f"sqlite:///{folder}/.dataflow/dataflow.db", monkeypatch, capsys)


@pytest.mark.parametrize("line", [*READING, *CHANGING])
def test_what_needs_a_store_says_that_there_is_none_and_leaves_nothing_behind(
    commands: Commands, line: str
) -> None:
    done = commands.say(line, code=MISSING)
    assert f"There is no store at {commands.path}/.dataflow/dataflow.db. " in done.err
    assert "--store" in done.err
    assert done.err.endswith("To begin a new one: dataflow dataset add NAME\n")
    assert not list(commands.path.iterdir())


def test_a_mistyped_store_is_no_new_one(commands: Commands) -> None:
    done = commands("status", "--store", "sqlite:///nosuch/s.db", code=MISSING)
    assert f"no store at {commands.path}/nosuch/s.db" in done.err
    assert not list(commands.path.iterdir())


def test_runjob_in_the_wrong_folder_leaves_neither_store_nor_lock(project: Project) -> None:
    project.script("loadbob.sh", "true")
    done = project.run("RunJob", "./loadbob.sh", check=False)
    assert (done.returncode, done.stdout) == (MISSING, "")
    assert done.stderr.startswith("RunJob: There is no store at ")
    assert [path.name for path in project.path.iterdir()] == ["loadbob.sh"]


def test_the_doctor_finds_it_among_the_rest(commands: Commands) -> None:
    done = commands("doctor", code=1)
    assert "permissions" in done.out
    assert "There is no store at" in done.out
    assert not list(commands.path.iterdir())


def test_python_opens_only_a_store_that_is_there(commands: Commands) -> None:
    with pytest.raises(python.StoreError, match="There is no store at"):
        python.open()
    commands("db", "upgrade")
    python.open().close()


@pytest.mark.parametrize(
    "line", ["dataset add bobin", "job add daily --schedule @daily", "apply --yes", "db upgrade"]
)
def test_what_declares_something_makes_the_store(commands: Commands, line: str) -> None:
    (commands.path / "dataflow.toml").write_text("[dataset.bobin]\n")
    path = commands.path / ".dataflow" / "dataflow.db"
    told = f"Created store {path}\n"
    assert commands.say(line).err.startswith(told)
    assert path.exists()
    assert told not in commands.say(line).err
    commands("status")


def test_a_dba_asking_for_the_schema_of_an_embedded_store_makes_none(commands: Commands) -> None:
    commands.say("db upgrade --print", code=64)
    assert not list(commands.path.iterdir())


def test_a_password_for_a_declaration_can_be_encrypted_before_there_is_a_store(commands: Commands) -> None:
    commands.environment.setenv("PASSKEY", "open sesame")
    record = commands.say("secret encrypt --dataset bobin", stdin="hunter22secret").out.strip()
    assert not list(commands.path.iterdir())
    (commands.path / "dataflow.toml").write_text(f'[dataset.bobin]\nencryptedpass = "{record}"\n')
    commands.say("apply --yes")
    assert commands.say("secret decrypt --dataset bobin --yes").out == "hunter22secret\n"


def test_a_folder_of_logs_above_captures_nothing(project: Project) -> None:
    (project.path.parent / ".dataflow" / "logs").mkdir(parents=True)
    project.run("dataflow", "dataset", "add", "bobin")
    assert (project.path / ".dataflow" / "dataflow.db").exists()


def test_an_unknown_name_is_told_with_the_store_that_was_asked_without_its_password(flow: Flow) -> None:
    flow.declare()
    password = find_password(flow.url)
    assert password or not flow.is_postgres
    for words in (["job", "show", "lodbob"], ["why", "lodbob"]):
        done = flow.dataflow(*words, check=False)
        assert done.returncode == errors.UnknownName.exit_code
        assert re.search(rf'There is no job "lodbob" in \S+/{flow.url.rpartition("/")[2]}\. ', done.stderr)
        assert 'Did you mean "loadbob"? List them: dataflow job list' in done.stderr
        assert not password or password not in done.stderr


FILTERS = ["runs --job lodbob", "journal --job lodbob", "journal --dataset bobn", "journal --run 99"]


@pytest.mark.parametrize("line", FILTERS)
def test_a_filter_by_what_never_was_is_an_error_and_not_an_empty_answer(sqlite_flow: Flow, line: str) -> None:
    sqlite_flow.declare()
    done = sqlite_flow.dataflow(*line.split(), check=False)
    assert (done.returncode, done.stdout) == (errors.UnknownName.exit_code, "")
    assert "There is no " in done.stderr


def test_what_was_removed_can_still_be_looked_up_in_the_history(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1.0")
    sqlite_flow.script("loadbob.sh")
    sqlite_flow.runjob("./loadbob.sh")
    sqlite_flow.dataflow("job", "remove", "loadbob", "--yes")
    sqlite_flow.dataflow("dataset", "remove", "bobin", "--yes")
    assert [run["dataid"] for run in sqlite_flow.json("runs", "--job", "loadbob")] == ["1.0"]
    assert sqlite_flow.json("journal", "--job", "loadbob")
    assert sqlite_flow.json("journal", "--dataset", "bobin")
