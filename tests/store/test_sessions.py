"""Sessions on PostgreSQL work the same whatever the server, the database and the environment prescribe."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from dataflow.store.postgres import PostgresDatabase
from dataflow.store.store import Store
from tests.postgres import PostgresServer
from tests.project import Project
from tests.store.faults import Beside, Pausing
from tests.store.world import SCHEMA, World

REPEATABLE_READ = "?options=-c%20default_transaction_isolation%3Drepeatable%5C%20read"


def open_world(url: str, **defaults: str) -> World:
    """A store in a database with other defaults."""
    PostgresDatabase(url, SCHEMA).upgrade()
    with psycopg.connect(url, autocommit=True) as connection:
        for name, value in defaults.items():
            change = sql.SQL("ALTER DATABASE {} SET {} = {}")
            named = sql.Identifier(connection.info.dbname), sql.Identifier(name), sql.Literal(value)
            connection.execute(change.format(*named))
    return World(Store(PostgresDatabase(url, SCHEMA), "op@desk"), None)


@pytest.fixture
def crashing_server() -> Iterator[PostgresServer]:
    """A server that keeps what is committed, and only that: its WAL writer never comes to help."""
    with PostgresServer.create(durable=True) as server:
        with psycopg.connect(server.url(), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
        server.restart(immediate=False)
        yield server


def test_a_claim_outlives_a_crash_of_a_server_whose_commits_are_asynchronous(
    crashing_server: PostgresServer,
) -> None:
    world = open_world(crashing_server.url(), synchronous_commit="off")
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    run = world.take("to_clean", "1")
    crashing_server.restart(immediate=True)
    assert world.outcome(run) == "RUNNING"
    assert world.take("to_clean", "2").run_id > run.run_id
    world.close()


@pytest.mark.parametrize("level", ["local", "remote_apply"])
def test_any_other_level_of_durability_is_left_as_it_is(postgres_url: str, level: str) -> None:
    world = open_world(postgres_url, synchronous_commit=level)
    assert world.select("SELECT current_setting('synchronous_commit')") == [(level,)]
    world.close()


@pytest.mark.parametrize("options", ["", REPEATABLE_READ])
def test_a_chunk_published_beside_a_registration_reaches_the_job_at_any_default_isolation(
    postgres_url: str, options: str
) -> None:
    world = open_world(postgres_url + options, default_transaction_isolation="repeatable read")
    world.dataset("raw")
    world.dataset("clean")
    registering = Pausing(world.beside().store.database)
    beside = world.beside(registering)
    job = Beside(registering, lambda: beside.job("to_clean", ["raw"], ["clean"]))
    registering.pause.wait()
    other = world.beside()
    ready = Beside(other.store.database, lambda: other.ready("raw", "1"))
    assert ready.wait_until_blocked()
    registering.pause.go()
    job.result()
    assert ready.result() == 1
    assert world.states("to_clean") == {"1": "CLAIMABLE"}
    for each in (world, beside, other):
        each.close()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("PGCLIENTENCODING", "LATIN1"),
        ("PGCLIENTENCODING", "SQL_ASCII"),
        ("PGDATESTYLE", "German"),
    ],
)
def test_the_variables_of_the_driver_change_nothing(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    check_work(open_world(postgres_url))


@pytest.mark.parametrize(("name", "value"), [("client_encoding", "LATIN1"), ("datestyle", "German")])
def test_the_defaults_of_the_database_change_nothing(postgres_url: str, name: str, value: str) -> None:
    check_work(open_world(postgres_url, **{name: value}))


def check_work(world: World) -> None:
    """Do some work and read all about it."""
    world.chain("raw", "clean")
    world.ready("raw", "zürich-日")
    run = world.take("to_clean", "zürich-日")
    (row,) = world.store.read.list_runs()
    assert 290 < (row.lease_left_seconds or 0) <= 300
    assert row.started_at.startswith("20")
    world.finish(run)
    assert [line["dataid"] for line in world.journal("finish")] == ["zürich-日"]
    world.close()


def test_runs_and_journal_are_shown_with_any_style_of_dates(project: Project, postgres_url: str) -> None:
    world = open_world(postgres_url)
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    world.close()
    for words in (["runs"], ["journal"]):
        env = {"DATAFLOW_STORE": postgres_url, "PGDATESTYLE": "German"}
        assert "to_clean" in project.run("dataflow", *words, env=env).stdout
