"""`dataflow bench` prints well-formed measurements on a small size; no time is ever asserted."""

from __future__ import annotations

import json
import os
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import psycopg
import pytest

from dataflow.cli.bench import WORDS
from dataflow.cli.bench.measurement import Measurement
from tests.project import Project

FIELDS = ["name", "value", "unit", "compared_to", "ratio", "wanted", "met"]
COUNTS = {"startup": 1, "drain": 1, "postgres": 3, "claim": 12, "ready": 8}


def measure(project: Project, url: str, *words: str) -> list[dict[str, Any]]:
    """Run the command against a PostgreSQL whose password goes where libpq looks for it."""
    parts = urlsplit(url)
    user, _, server = parts.netloc.rpartition("@")
    name, _, password = user.partition(":")
    store = urlunsplit(parts._replace(netloc=f"{name}@{server}"))
    done = project.run(
        *("dataflow", "bench", *words, "--size", "200", "--store", store),
        env={"PGPASSWORD": unquote(password)},
        timeout=100,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("word", WORDS)
def test_each_measurement_is_one_json_object_on_a_line(
    word: str, project: Project, postgres_url: str
) -> None:
    found = measure(project, postgres_url, word)
    assert len(found) == COUNTS[word]
    for line in found:
        assert list(line) == FIELDS
        assert line["value"] > 0 and line["ratio"] > 0 and line["unit"] and line["compared_to"]
        assert isinstance(line["met"], bool)


def test_without_a_given_postgresql_a_private_one_is_started(project: Project) -> None:
    done = project.run("dataflow", "bench", "ready", "--size", "100", timeout=100)
    assert [line.split('"')[3] for line in done.stdout.splitlines()].count(
        "ready of 100 chunks, postgres"
    ) == 1


def test_what_was_measured_in_a_given_postgresql_is_taken_away_again(
    project: Project, postgres_url: str
) -> None:
    measure(project, postgres_url, "ready")
    with psycopg.connect(postgres_url) as connection:
        left = connection.execute(
            "select table_name from information_schema.tables where table_schema like 'dataflow%'"
        ).fetchall()
    assert left == []


def test_a_word_that_cannot_be_measured_is_named_with_those_that_can(project: Project) -> None:
    done = project.run("dataflow", "bench", "speed", check=False)
    assert done.returncode == 64
    assert "speed" in done.stderr and "drain" in done.stderr


def test_a_store_that_is_no_postgresql_is_refused(project: Project) -> None:
    done = project.run("dataflow", "bench", "ready", "--store", "sqlite:///x.db", check=False)
    assert done.returncode == 64
    assert os.listdir(project.path) == []


@pytest.mark.parametrize(
    ("wanted", "is_met"),
    [(">= 0.5", True), (">= 0.6", False), ("<= 0.5", True), ("< 60 s", True), ("< 10 s", False)],
)
def test_what_is_wanted_is_about_the_value_when_it_has_a_unit_and_else_about_the_ratio(
    wanted: str, is_met: bool
) -> None:
    assert Measurement("ready", 30.0, "s", "plain inserts", 60.0, wanted).met is is_met
