"""Fixtures of all pipeline tests: one local Spark for the whole run, set up as DataFlow sets up its own."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from dataflow.pipelines.spark.session import DEFAULTS, PINNED
from dataflow.pipelines.spark.session_setup import list_network_options
from tests.pipelines.workshop import Workshop

SETTINGS = (
    DEFAULTS
    | PINNED
    | list_network_options("local[2]", {})
    | {
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": "-Duser.timezone=Asia/Kathmandu",
    }
)
"""As DataFlow sets up its own, but with less to do, and in a zone that must not matter."""


def start_spark(threads: int) -> SparkSession:
    """A Spark session in this process's own JVM."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    # The processes of its tasks find our modules as this one does.
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    builder = SparkSession.builder.master(f"local[{threads}]").appName("tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A Spark session on two threads of this process's own JVM."""
    session = start_spark(threads=2)
    yield session
    session.stop()


@pytest.fixture
def workshop(tmp_path: Path, spark: SparkSession) -> Workshop:
    """An empty project whose pipelines run on the shared session."""
    return Workshop(tmp_path, spark)


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose zone is not UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()
