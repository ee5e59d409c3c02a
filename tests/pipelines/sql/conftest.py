"""The tables of `both`, filled once for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.pipelines.sql.both import TABLES, Both
from tests.postgres import DatabaseServer, create_database, drop_database


@pytest.fixture(scope="session")
def both(
    postgres_server: DatabaseServer, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Both]:
    """The same two tables in PostgreSQL and in Spark."""
    dbname = create_database(postgres_server)
    asked = Both(postgres_server.url(dbname), spark, tmp_path_factory.mktemp("both"), TABLES)
    yield asked
    asked.close()
    drop_database(postgres_server, dbname)
