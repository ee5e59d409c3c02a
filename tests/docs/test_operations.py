"""The page about operations, on PostgreSQL: its commands, the SQL for a DBA, and the files it shows."""

from __future__ import annotations

import configparser
import secrets
import shlex
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.docs.pages import DOCS, list_blocks
from tests.docs.parsers import EVERYWHERE, list_options, list_parsers
from tests.docs.session import run_page
from tests.project import Project

PAGE = DOCS / "operations.md"
BLOCKS = list_blocks(PAGE)


@pytest.fixture
def plain_user_url(postgres_url: str) -> Iterator[str]:
    """The URL of the same database for a user who may do nothing yet."""
    name, password = f"etl_{secrets.token_hex(4)}", secrets.token_hex(16)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        try:
            connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        except psycopg.errors.InsufficientPrivilege:
            pytest.skip("the test server's user may not make roles")
        server = postgres_url.partition("@")[2]
        yield f"postgresql://{name}:{password}@{server}"
        connection.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_the_commands_of_the_page_do_what_it_shows_on_postgresql(
    project: Project, tmp_path: Path, postgres_url: str
) -> None:
    run_page(PAGE, project, tmp_path / "bin", {"DATAFLOW_STORE": postgres_url})


def test_the_sql_for_a_dba_and_the_grants_are_enough(
    project: Project, postgres_url: str, plain_user_url: str
) -> None:
    schema = project.run("dataflow", "db", "upgrade", "--print", env={"DATAFLOW_STORE": postgres_url}).stdout
    user = plain_user_url.partition("//")[2].partition(":")[0]
    grants = next(block.text for block in BLOCKS if block.kind == "sql").replace(" TO etl;", f" TO {user};")
    with psycopg.connect(postgres_url) as connection:
        connection.execute(schema.encode())
        connection.execute(grants.encode())
    project.script("load.sh", "echo loaded $dataid")
    env = {"DATAFLOW_STORE": plain_user_url}
    for command in (
        "dataflow dataset add orders",
        "dataflow job add load --in orders",
        "dataflow ready orders --from 1 --to 3",
        "RunJob --drain ./load.sh",
        "dataflow resubmit load 2",
        "dataflow hold load",
        "dataflow purge --older-than 0s --yes",
        "dataflow doctor",
        "dataflow job remove load --yes",
    ):
        project.run(*command.split(), env=env)


def test_the_units_for_systemd_are_units_and_start_runjob_with_known_options() -> None:
    _, service, timer = [block.text for block in BLOCKS if block.kind == "ini"]
    assert "OnCalendar=" in timer
    unit = configparser.RawConfigParser(strict=False)
    unit.read_string(service)
    command = unit["Service"]["ExecStart"]
    options = {word for word in shlex.split(command) if word.startswith("-")}
    assert "/RunJob " in command
    assert options <= list_options(list_parsers()["RunJob"]) | EVERYWHERE


def test_the_unit_of_the_worker_is_the_one_that_init_writes(project: Project) -> None:
    worker = next(block.text for block in BLOCKS if block.kind == "ini")
    project.run("dataflow", "init", "--systemd")
    written = (project.path / "systemd" / "dataflow-worker.service").read_text()
    written = written.replace(str(project.path), "/srv/etl").replace("# User=etl", "User=etl")
    lines = [line for line in written.splitlines() if line and not line.startswith("#")]
    shown = [line for line in worker.splitlines() if line]
    for line, other in zip(lines, shown, strict=True):
        assert line == other or (line.startswith("ExecStart=") and line.endswith(" worker"))


def test_the_lines_for_cron_have_five_fields_and_a_known_command() -> None:
    lines = next(block.text for block in BLOCKS if block.kind == "cron").splitlines()
    jobs = [line.split(maxsplit=5) for line in lines if line and line[0] in "*0123456789"]
    assert len(jobs) == 5
    for *_, command in jobs:
        assert command.startswith(("cd /srv/etl && RunJob ", "cd /srv/etl && dataflow "))
