"""The tables of `both`, filled once for all tests in this directory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.pipelines.sql.both import TABLES, Both
from tests.postgres import DatabaseServer, create_database, drop_database


class SharedTables:
    """The tables in both databases, filled again if Spark was restarted."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._both: tuple[SparkSession, Both] | None = None

    def get_both(self, spark: SparkSession) -> Both:
        """The tables in this session."""
        if self._both is None or self._both[0] is not spark:
            self.close()
            folder = self._folder / str(id(spark))
            folder.mkdir()
            self._both = spark, Both(self._url, spark, folder, TABLES)
        return self._both[1]

    def close(self) -> None:
        """Close the connection."""
        if self._both is not None:
            self._both[1].close()


@pytest.fixture(scope="session")
def shared_tables(
    postgres_server: DatabaseServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SharedTables]:
    """A database for the tests in this directory."""
    dbname = create_database(postgres_server)
    tables = SharedTables(postgres_server.url(dbname), tmp_path_factory.mktemp("both"))
    yield tables
    tables.close()
    drop_database(postgres_server, dbname)


@pytest.fixture
def both(shared_tables: SharedTables, spark: SparkSession) -> Both:
    """The same two tables in PostgreSQL and in Spark."""
    return shared_tables.get_both(spark)
