"""Fixtures of all pipeline tests: one local Spark for the whole run, set up as DataFlow sets up its own."""

from __future__ import annotations

import os
import secrets
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark import SparkContext
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


class SharedSpark:
    """The one session of this process, started when first needed, and again when a test has broken it."""

    def __init__(self) -> None:
        self._session: SparkSession | None = None

    def get_session(self) -> SparkSession:
        """A session that works."""
        if self._session is not None and not is_working(self._session):
            kill_java()
            self._session = None
        if self._session is None:
            self._session = start_spark(threads=2)
        return self._session

    def close(self) -> None:
        """Ends it."""
        if self._session is not None:
            self._session.stop()


def is_working(session: SparkSession) -> bool:
    """Whether Java gives the answer to this question, and not to one that a time limit cut short before."""
    expected = secrets.token_hex(8)
    try:
        session.sparkContext.setLocalProperty("tests.question", expected)
        return session.sparkContext.getLocalProperty("tests.question") == expected
    except Exception:  # whatever is broken in there
        return False


def kill_java() -> None:
    """Ends the Java of this process's Spark and forgets it, without asking it anything."""
    gateway = SparkContext._gateway
    if gateway is not None:
        gateway.proc.kill()
        gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None


@pytest.fixture(scope="session")
def shared_spark() -> Iterator[SharedSpark]:
    """Spark on two threads of this process's own Java."""
    shared = SharedSpark()
    yield shared
    shared.close()


@pytest.fixture
def spark(shared_spark: SharedSpark) -> SparkSession:
    """The shared session."""
    return shared_spark.get_session()


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
