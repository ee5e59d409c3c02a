"""The server itself: whether it lives, whether it can answer, what changes, and its OpenAPI document."""

from __future__ import annotations

from typing import Any

from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.shapes import shape
from dataflow.model.principal import Permission

STATUS = shape(status="text")
START = shape(name="text", version="text", openapi="text")
OPENAPI_PATH = f"{PREFIX}/openapi.json"


def say_healthy(_call: Call) -> Any:
    return {"status": "ok"}


def say_ready(call: Call) -> Any:
    call.store.read.get_now()  # connects, and compares the schema
    return {"status": "ready"}


def show_start(call: Call) -> Any:
    return {"name": "dataflow", "version": call.project.version, "openapi": OPENAPI_PATH}


def show_openapi(call: Call) -> Any:
    from dataflow.api.openapi import make_document
    from dataflow.api.table import ROUTES as ALL

    return make_document(ALL, call.project.version, call.gate.cookie_name(call.visit))


def stream(_call: Call) -> Any:
    raise AssertionError("the application answers streams itself")


ROUTES = (
    Route(
        *("GET", "/healthz", Permission.PUBLIC, "Say that the server lives", say_healthy, STATUS),
        needs_store=False,
    ),
    Route("GET", "/readyz", Permission.PUBLIC, "Say whether the store answers", say_ready, STATUS),
    Route("GET", PREFIX, Permission.READ, "Name the server", show_start, START, needs_store=False),
    Route(
        *("GET", OPENAPI_PATH, Permission.READ, "Describe this API (OpenAPI 3.1)", show_openapi),
        {"type": "object"},
        needs_store=False,
    ),
    Route(
        *("GET", f"{PREFIX}/events", Permission.READ, "Stream changes as server-sent events", stream),
        {"type": "string"},
        needs_store=False,
        is_stream=True,
    ),
)
