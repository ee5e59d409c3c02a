"""A fresh world on each kind of store; on PostgreSQL a schema of its own, quicker than a database."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.postgres import DatabaseServer, create_database, drop_database
from tests.store.world import World, open_postgres, open_sqlite


@pytest.fixture(scope="session")
def shared_database_url(postgres_server: DatabaseServer) -> Iterator[str]:
    """One PostgreSQL database for all tests of the store that this process runs."""
    dbname = create_database(postgres_server)
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
    """An empty store in a PostgreSQL schema."""
    world = open_postgres(shared_database_url, f"test_{secrets.token_hex(6)}")
    yield world
    world.close()


@pytest.fixture(params=["sqlite", "postgres"])
def world(request: pytest.FixtureRequest) -> World:
    """An empty store; the test runs once on each kind."""
    found: World = request.getfixturevalue(f"{request.param}_world")
    return found
