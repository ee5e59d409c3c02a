"""The OpenAPI document is true: schemathesis sends what it allows and forbids, and finds nothing."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest
from starlette.routing import Route as Mounted

from dataflow.api.application import Endpoint
from dataflow.api.openapi import make_document
from dataflow.api.route import Route
from dataflow.api.table import ROUTES
from dataflow.model.principal import Permission
from tests.api.served import Served

ROOT = Path(__file__).resolve().parents[2]

# What no schema can say: whether a dataid fits the grain of a dataset, or a range its order.
CONFIG = """
[checks.positive_data_acceptance]
expected-statuses = [200, 404, 409, 422]
"""


def test_the_document_is_that_of_the_table(sqlite_served: Served) -> None:
    found = sqlite_served.get("/openapi.json")
    (cookie,) = sqlite_served.client.cookies
    assert found == make_document(ROUTES, found["info"]["version"], cookie)
    shown = {(method.upper(), path) for path, item in found["paths"].items() for method in item}
    assert shown == {(route.method, route.path) for route in ROUTES}
    assert found["openapi"] == "3.1.0"


def test_the_page_names_every_path_and_no_other() -> None:
    text = (ROOT / "docs" / "api.md").read_text()
    shown = set(re.findall(r"`(/[a-z0-9_/{}.]*)`", text))
    assert shown == {route.path for route in ROUTES}


def test_every_schema_of_the_document_is_a_schema() -> None:
    for route in ROUTES:
        for schema in [route.answer, *[field.schema for field in (*route.query, *route.path_fields)]]:
            jsonschema_rs.validator_for(dict(schema))
        if route.body:
            jsonschema_rs.validator_for(route.body.schema)


def test_every_route_has_a_permission_and_only_reads_are_got() -> None:
    assert all(isinstance(route.permission, Permission) for route in ROUTES)
    wrong = [
        route.path for route in ROUTES if (route.method == "GET") == (route.permission is Permission.OPERATE)
    ]
    assert wrong == []
    assert len({(route.method, route.path) for route in ROUTES}) == len(ROUTES)
    assert len({route.operation for route in ROUTES}) == len(ROUTES)


def test_a_route_cannot_be_made_without_a_permission() -> None:
    with pytest.raises(TypeError, match="permission"):
        Route("GET", "/x", summary="", handler=lambda call: call, answer={})  # type: ignore[call-arg]


def test_the_application_mounts_nothing_but_the_table(sqlite_served: Served) -> None:
    from dataflow.api.application import Entrance, Service, make_application

    made = make_application(Service.__new__(Service), ROUTES)
    assert isinstance(made, Entrance)
    mounted = made.inner.routes
    assert all(isinstance(each, Mounted) and isinstance(each.endpoint, Endpoint) for each in mounted)
    assert len(mounted) == len(ROUTES)


@pytest.mark.full
def test_schemathesis_finds_nothing(served: Served, tmp_path: Path) -> None:
    served.flow.script("loadbob.sh", "exit 1")
    served.flow.runjob("--drain", "./loadbob.sh", code=None)
    token = served.flow.dataflow("token", "create", "tester", "--role", "admin").stdout.split()[-1]
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config), "run"),
            f"{served.base}/api/v1/openapi.json",
            *("-H", f"Authorization: Bearer {token}", "--exclude-path", "/api/v1/events"),
            *("--phases", "coverage,fuzzing", "--max-examples", "15", "--generation-deterministic"),
            *("--no-color", "--request-timeout", "60"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    assert "failed\n" not in served.stop()[1], "an unexpected error"
