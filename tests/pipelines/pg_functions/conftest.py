"""One database for all comparisons of single expressions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.pipelines.pg_functions.reference import Reference
from tests.postgres import DatabaseServer, create_database, drop_database


@pytest.fixture(scope="session")
def reference(postgres_server: DatabaseServer) -> Iterator[Reference]:
    """PostgreSQL, the reference for every function."""
    dbname = create_database(postgres_server)
    asked = Reference(postgres_server.url(dbname))
    yield asked
    asked.connection.close()
    drop_database(postgres_server, dbname)
