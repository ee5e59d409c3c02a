"""A fresh world on each kind of store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dataflow.store.postgres import PostgresDatabase
from tests.postgres import DatabaseServer, create_database, drop_database
from tests.store.world import SCHEMA, World, open_postgres, open_sqlite


@pytest.fixture(scope="session")
def shared_database_url(postgres_server: DatabaseServer) -> Iterator[str]:
    """One PostgreSQL database for all tests of the store that this process runs."""
    dbname = create_database(postgres_server)
    PostgresDatabase(postgres_server.url(dbname), SCHEMA).upgrade()
    yield postgres_server.url(dbname)
    drop_database(postgres_server, dbname)


@pytest.fixture
def sqlite_world(tmp_path: Path) -> Iterator[World]:
    """An empty store in an SQLite file."""
    world = open_sqlite(str(tmp_path / "dataflow.db"))
    yield world
    world.close()


@pytest.fixture
def postgres_world(shared_database_url: str) -> Iterator[World]:
    """An empty store in PostgreSQL."""
    world = open_postgres(shared_database_url)
    yield world
    world.close()


@pytest.fixture(params=["sqlite", "postgres"])
def world(request: pytest.FixtureRequest) -> World:
    """An empty store; the test runs once on each kind."""
    found: World = request.getfixturevalue(f"{request.param}_world")
    return found
