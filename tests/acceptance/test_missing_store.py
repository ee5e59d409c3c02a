"""Only commands that declare something create a store; a wrong folder or a mistyped `--store` does not."""

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
OUTSIDE = "No project in {} or a folder above it: neither dataflow.toml nor a store in .dataflow. "
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
    """A shell in an empty folder without a store."""
    for name in [name for name in os.environ if name.startswith(FOREIGN)]:
        monkeypatch.delenv(name)
    folder = tmp_path / "project"
    folder.mkdir()
    return Commands(folder, f"sqlite:///{folder}/.dataflow/dataflow.db", monkeypatch, capsys)


@pytest.mark.parametrize("line", [*READING, *CHANGING])
def test_a_command_that_needs_a_store_reports_that_there_is_none_and_leaves_nothing_behind(
    commands: Commands, line: str
) -> None:
    done = commands.say(line, code=MISSING)
    assert f"No store at {commands.path}/.dataflow/dataflow.db. " in done.err
    assert "--store" in done.err
    assert done.err.endswith("To create a new store: dataflow dataset add NAME\n")
    assert not list(commands.path.iterdir())


def test_a_mistyped_store_is_not_created(commands: Commands) -> None:
    done = commands("status", "--store", "sqlite:///nosuch/s.db", code=MISSING)
    assert f"No store at {commands.path}/nosuch/s.db" in done.err
    assert not list(commands.path.iterdir())


def test_runjob_in_the_wrong_folder_leaves_neither_store_nor_lock(project: Project) -> None:
    project.script("loadbob.sh", "true")
    done = project.run("RunJob", "./loadbob.sh", check=False)
    assert (done.returncode, done.stdout) == (MISSING, "")
    assert done.stderr.startswith(f"RunJob: {OUTSIDE.format(project.path)}")
    assert [path.name for path in project.path.iterdir()] == ["loadbob.sh"]


@pytest.mark.parametrize(
    "line", ["status", "why loadbob", "ready bobin 1.0", "run loadbob.sh", "query select", "up", "worker"]
)
def test_outside_any_project_a_command_names_the_folder_and_the_ways_out(
    commands: Commands, line: str
) -> None:
    commands.environment.delenv("DATAFLOW_STORE")
    done = commands.say(line, code=MISSING)
    assert done.err.startswith(f"dataflow: {OUTSIDE.format(commands.path)}")
    assert [word in done.err for word in ("cd FOLDER", "dataflow init", "--store URL", "DATAFLOW_STORE")]
    with pytest.raises(python.StoreError, match="No project in"):
        python.open()
    assert f"No dataflow.toml in {commands.path}. " in commands("apply", code=64).err
    assert OUTSIDE.format(commands.path) in commands("pipeline", "list").err
    assert "dataflow init" in commands("doctor", code=1).out
    assert not list(commands.path.iterdir())
    commands("init")
    assert f"No store at {commands.path}/.dataflow/dataflow.db. " in commands.say(line, code=MISSING).err


def test_the_doctor_finds_it_among_the_rest(commands: Commands) -> None:
    done = commands("doctor", code=1)
    assert "permissions" in done.out
    assert "No store at" in done.out
    assert not list(commands.path.iterdir())


def test_python_opens_only_an_existing_store(commands: Commands) -> None:
    with pytest.raises(python.StoreError, match="No store at"):
        python.open()
    commands("db", "upgrade")
    python.open().close()


@pytest.mark.parametrize(
    "line", ["dataset add bobin", "job add daily --schedule @daily", "apply --yes", "db upgrade"]
)
def test_a_command_that_declares_something_creates_the_store(commands: Commands, line: str) -> None:
    (commands.path / "dataflow.toml").write_text("[dataset.bobin]\n")
    path = commands.path / ".dataflow" / "dataflow.db"
    told = f"Created store {path}\n"
    assert commands.say(line).err.startswith(told)
    assert path.exists()
    assert told not in commands.say(line).err
    commands("status")


def test_printing_the_schema_of_an_embedded_store_creates_none(commands: Commands) -> None:
    commands.say("db upgrade --print", code=64)
    assert not list(commands.path.iterdir())


def test_a_password_for_a_declaration_can_be_encrypted_before_there_is_a_store(commands: Commands) -> None:
    commands.environment.setenv("PASSKEY", "open sesame")
    record = commands.say("secret encrypt --dataset bobin", stdin="hunter22secret").out.strip()
    assert not list(commands.path.iterdir())
    (commands.path / "dataflow.toml").write_text(f'[dataset.bobin]\nencryptedpass = "{record}"\n')
    commands.say("apply --yes")
    assert commands.say("secret decrypt --dataset bobin --yes").out == "hunter22secret\n"


def test_a_folder_of_logs_above_the_project_is_ignored(project: Project) -> None:
    (project.path.parent / ".dataflow" / "logs").mkdir(parents=True)
    project.run("dataflow", "dataset", "add", "bobin")
    assert (project.path / ".dataflow" / "dataflow.db").exists()


def test_the_error_for_an_unknown_name_shows_the_store_without_its_password(flow: Flow) -> None:
    flow.declare()
    password = find_password(flow.url)
    assert password or not flow.is_postgres
    for words in (["job", "show", "lodbob"], ["why", "lodbob"]):
        done = flow.dataflow(*words, check=False)
        assert done.returncode == errors.UnknownName.exit_code
        assert re.search(rf'No job "lodbob" in \S+/{flow.url.rpartition("/")[2]}\. ', done.stderr)
        assert 'Did you mean "loadbob"? List them: dataflow job list' in done.stderr
        assert not password or password not in done.stderr


FILTERS = ["runs --job lodbob", "journal --job lodbob", "journal --dataset bobn", "journal --run 99"]


@pytest.mark.parametrize("line", FILTERS)
def test_a_filter_by_an_unknown_name_is_an_error(sqlite_flow: Flow, line: str) -> None:
    sqlite_flow.declare()
    done = sqlite_flow.dataflow(*line.split(), check=False)
    assert (done.returncode, done.stdout) == (errors.UnknownName.exit_code, "")
    assert "dataflow: No " in done.stderr


def test_removed_things_stay_in_the_history(sqlite_flow: Flow) -> None:
    sqlite_flow.declare()
    sqlite_flow.ready("bobin", "1.0")
    sqlite_flow.script("loadbob.sh")
    sqlite_flow.runjob("./loadbob.sh")
    sqlite_flow.dataflow("job", "remove", "loadbob", "--yes")
    sqlite_flow.dataflow("dataset", "remove", "bobin", "--yes")
    assert [run["dataid"] for run in sqlite_flow.json("runs", "--job", "loadbob")] == ["1.0"]
    assert sqlite_flow.json("journal", "--job", "loadbob")
    assert sqlite_flow.json("journal", "--dataset", "bobin")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('[dataset.bobin]\ngrain = "daily"\n', errors.UsageError.exit_code),  # nobody confirms
        ('[job.loadbob]\nin = ["nothing"]\n', errors.UnknownName.exit_code),
        ("", 0),
    ],
    ids=["unconfirmed", "invalid", "empty"],
)
def test_an_apply_that_changes_nothing_creates_no_store(commands: Commands, text: str, code: int) -> None:
    (commands.path / "flow.toml").write_text(text)
    commands("apply", "flow.toml", code=code)
    assert [path.name for path in commands.path.iterdir()] == ["flow.toml"]
    if code == errors.UsageError.exit_code:
        commands("apply", "--yes", "flow.toml")
        assert (commands.path / ".dataflow" / "dataflow.db").exists()
