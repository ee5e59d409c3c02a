"""Reads answer with the JSON of the commands, and as the OpenAPI document says."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from dataflow.api.table import ROUTES
from tests.api.served import Served

# A read, and the command whose --json it repeats.
SAME = [
    ("/datasets", {}, ["dataset", "list"]),
    ("/datasets/bobin", {}, ["dataset", "show", "bobin"]),
    ("/datasets/bobin/chunks", {}, ["chunks", "bobin"]),
    ("/datasets/bobin/chunks", {"status": "READY", "from": "2.0"}, ["chunks", "bobin", "--from", "2.0"]),
    ("/datasets/bobout/lineage", {}, ["lineage", "bobout"]),
    ("/datasets/bobout/lineage", {"dataid": "1.0", "direction": "up"}, ["lineage", "bobout", "1.0", "--up"]),
    ("/jobs", {}, ["job", "list"]),
    ("/jobs/loadbob", {}, ["job", "show", "loadbob"]),
    ("/jobs/loadbob/why", {"dataid": "1.0"}, ["why", "loadbob", "1.0"]),
    ("/jobs/loadbob/why", {}, ["why", "loadbob"]),
    ("/runs", {}, ["runs"]),
    ("/runs", {"job": "loadbob", "outcome": "DONE"}, ["runs", "--job", "loadbob", "--outcome", "DONE"]),
    ("/journal", {"dataset": "bobin"}, ["journal", "--dataset", "bobin"]),
]


WORK: tuple[str, dict[str, str], list[str]] = ("/jobs/loadbob/work", {"dataid": "1.0"}, [])


def without_ages(found: Any) -> Any:
    """An answer without what changes from one call to the next."""
    if isinstance(found, dict):
        return {name: without_ages(value) for name, value in found.items() if name != "age_seconds"}
    return [without_ages(item) for item in found] if isinstance(found, list) else found


@pytest.fixture
def worked(served: Served) -> Served:
    served.flow.script("loadbob.sh", "echo $dataid")
    served.flow.runjob("./loadbob.sh")
    return served


def test_a_read_has_the_json_of_its_command(worked: Served) -> None:
    for path, query, words in SAME:
        shown = worked.flow.json(*words)
        assert worked.get(path, **query) == shown, path
    shown = without_ages(worked.flow.json("status"))
    assert without_ages(worked.get("/status")) == shown


def test_every_read_is_as_the_document_says(worked: Served) -> None:
    for path, query, _ in [*SAME, ("/status", {}, []), ("/runs/1", {}, []), WORK]:
        found = worked.get(path, **query)
        route = next(route for route in ROUTES if matches(route.path, f"/api/v1{path}"))
        strict = closed(dict(route.answer))
        assert list(jsonschema_rs.validator_for(strict).iter_errors(found)) == [], path


def matches(pattern: str, path: str) -> bool:
    parts, given = pattern.split("/"), path.split("/")
    return len(parts) == len(given) and all(a == b or a[:1] == "{" for a, b in zip(parts, given, strict=True))


def closed(schema: Any) -> Any:
    """The schema with no other fields allowed, except where it names none."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(value) for name, value in schema.items()}
    if "properties" in found and "additionalProperties" not in found and "kind" not in found["properties"]:
        found["additionalProperties"] = False
    return found


def test_the_work_of_a_dataid_has_its_state(worked: Served) -> None:
    found = worked.get("/jobs/loadbob/work", dataid="1.0")
    assert (found["state"], found["run_id"], found["hold"]) == ("DONE", 1, False)
    missing = worked.client.get("/api/v1/jobs/loadbob/work?dataid=9")
    assert (missing.status_code, missing.json()["hint"]) == (404, "To see why: dataflow why loadbob 9")


def test_an_unknown_name_is_404_with_the_nearest(served: Served) -> None:
    response = served.client.get("/api/v1/jobs/loadbub")
    assert response.status_code == 404
    found = response.json()
    assert found["code"] == "unknown-name"
    assert "loadbob" in found["hint"]
    assert found["request_id"] == response.headers["x-request-id"]


@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/runs?limt=3", 422, "limit"),
        ("/runs?limit=3&limit=4", 422, "twice"),
        ("/runs?limit=0", 422, "from 1 to 1000"),
        ("/runs?limit=1.5", 422, "whole number"),
        ("/runs?outcome=done", 422, "one of"),
        ("/runs/0", 422, "run_id"),
        ("/runs/x", 422, "run_id"),
        ("/runs/99999999999999999999", 422, "run_id"),
        ("/runs?job=%00", 422, "text"),
        ("/datasets/bobin/chunks?from=2.0&to=1.0", 422, "Swap"),
        ("/datasets/bobin/versions", 422, "No parameter dataid"),
        ("/jobs/loadbob/why?dataid=..", 422, "dots"),
    ],
)
def test_a_wrong_parameter_is_refused(sqlite_served: Served, path: str, code: int, words: str) -> None:
    response = sqlite_served.client.get(f"/api/v1{path}")
    assert response.status_code == code, response.text
    assert response.json()["code"] == "bad-input"
    assert words in response.text
