"""`python -m benchmarks` prints well-formed measurements on a small size; no time is ever asserted."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
import pytest

from benchmarks.measurement import Measurement
from tests.project import SOURCE, Project

BENCHMARKS = (sys.executable, "-m", "benchmarks")
HERE = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), str(SOURCE)])}
FIELDS = ["name", "value", "unit", "compared_to", "ratio", "wanted", "met"]
COUNTS = {
    **{"startup": 1, "drain": 1, "postgres": 3, "claim": 12, "ready": 8, "registry": 10, "history": 12},
    **{"publish": 4, "migration": 1, "worker": 7},
}
INGEST = (
    ", warm|, with the start of Spark|: memory of the driver|: memory of a task's Python|: memory of Java"
)


def measure(project: Project, url: str, *words: str) -> list[dict[str, Any]]:
    """Run the command against a PostgreSQL whose password goes where libpq looks for it."""
    parts = urlsplit(url)
    user, _, server = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    store = urlunsplit(parts._replace(netloc=f"{name}@{server}"))
    done = project.run(
        *(*BENCHMARKS, *words, "--size", "200", "--store", store),
        env=HERE | {"PGPASSWORD": unquote(password)},
        timeout=300,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("word", COUNTS)
def test_each_measurement_is_one_json_object_on_a_line(
    word: str, project: Project, postgres_url: str
) -> None:
    found = measure(project, postgres_url, word)
    assert len(found) == COUNTS[word]
    for line in found:
        assert list(line) == FIELDS
        assert line["value"] > 0 and line["unit"] and line["compared_to"]
        assert line["ratio"] is None or line["ratio"] > 0  # a duration with a limit has no peer
        assert isinstance(line["met"], bool)


@pytest.mark.chaos
def test_an_ingest_is_compared_with_a_plain_loop(project: Project) -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("httpx")
    if shutil.which("java") is None:
        pytest.skip("there is no Java here")
    done = project.run(*BENCHMARKS, "ingest", "--size", "10000", timeout=400, env=HERE)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    name = "ingest of 10,000 rows from an API into PostgreSQL"
    # Spark's JDBC writer and dlt come after these, where they are installed.
    assert [line["name"] for line in found[:5]] == [name + each for each in INGEST.split("|")]
    for line in found:
        assert list(line) == FIELDS and line["value"] > 0


def test_an_ingest_without_java_is_skipped_and_names_what_to_install(project: Project) -> None:
    pytest.importorskip("pyspark")
    pytest.importorskip("httpx")
    done = project.run(*BENCHMARKS, "ingest", env=HERE | {"JAVA_HOME": "/nowhere"})
    assert done.stdout == ""
    assert "skipped ingest: No Java found at JAVA_HOME=/nowhere." in done.stderr


@pytest.mark.full
def test_without_a_given_postgresql_a_private_one_is_started(project: Project) -> None:
    done = project.run(*BENCHMARKS, "ready", "--size", "100", timeout=300, env=HERE)
    assert [line.split('"')[3] for line in done.stdout.splitlines()].count(
        "ready of 100 chunks, postgres"
    ) == 1


def test_benchmark_tables_in_a_given_postgresql_are_removed_again(
    project: Project, postgres_url: str
) -> None:
    measure(project, postgres_url, "ready")
    with psycopg.connect(postgres_url) as connection:
        left = connection.execute(
            "select table_name from information_schema.tables where table_schema like 'dataflow%'"
        ).fetchall()
    assert left == []


def test_an_unknown_measurement_is_named_with_the_known_ones(project: Project) -> None:
    done = project.run(*BENCHMARKS, "speed", check=False, env=HERE)
    assert done.returncode == 64
    assert "speed" in done.stderr and "drain" in done.stderr


def test_a_store_that_is_not_postgresql_is_refused(project: Project) -> None:
    done = project.run(*BENCHMARKS, "ready", "--store", "sqlite:///x.db", check=False, env=HERE)
    assert done.returncode == 64
    assert os.listdir(project.path) == []


@pytest.mark.parametrize(
    ("wanted", "is_met"),
    [(">= 0.5", True), (">= 0.6", False), ("<= 0.5", True), ("< 60 s", True), ("< 10 s", False)],
)
def test_a_target_with_a_unit_limits_the_value_and_one_without_limits_the_ratio(
    wanted: str, is_met: bool
) -> None:
    assert Measurement("ready", 30.0, "s", "plain inserts", 60.0, wanted).met is is_met
