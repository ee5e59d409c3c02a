"""The OpenAPI 3.1 document, made from the table of routes that answers the requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dataflow.api.fields import Field
from dataflow.api.idempotency import KEY_PATTERN, LONGEST_KEY
from dataflow.api.route import Route
from dataflow.api.shapes import shape, texts
from dataflow.model.principal import Permission

PROBLEM = shape(texts("code message hint request_id"))
ERROR = {"$ref": "#/components/responses/Error"}
KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "Makes the request safe to send twice: the second gets the answer of the first.",
    "schema": {"type": "string", "minLength": 1, "maxLength": LONGEST_KEY, "pattern": KEY_PATTERN},
}


def make_document(routes: Sequence[Route], version: str, cookie: str) -> dict[str, Any]:
    """Return the document of these routes; `cookie` is the name of the one that a session has."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "DataFlow",
            "version": version,
            "description": "Same words and same JSON as the commands with --json.",
            "license": {"name": "MIT", "identifier": "MIT"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}, {"cookie": []}],
        "paths": paths,
        "components": {
            "schemas": {"Error": PROBLEM},
            "responses": {
                "Error": {
                    "description": "The request was refused or failed; see docs/errors.md for the codes.",
                    "content": _json({"$ref": "#/components/schemas/Error"}),
                }
            },
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "dft_…",
                    "description": "An API token: dataflow token create NAME",
                },
                "cookie": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": cookie,
                    "description": "The session of somebody who has logged in on the page.",
                },
            },
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    kind = "text/event-stream" if route.is_stream else route.media_type
    found: dict[str, Any] = {
        "operationId": route.operation,
        "summary": route.summary,
        "x-permission": str(route.permission),
        "parameters": [
            *[_parameter(field, "path") for field in route.path_fields],
            *[_parameter(field, "query") for field in route.query],
            *([KEY] if route.is_bulk else []),
        ],
        "responses": {
            "200": {"description": "The answer.", "content": {kind: {"schema": dict(route.answer)}}},
            "default": ERROR,
        },
    }
    if route.permission is Permission.PUBLIC:
        found["security"] = []
    if route.body is not None:
        schema = route.body.schema
        required = "required" in schema or ("oneOf" in schema and not route.body.may_choose_none)
        found["requestBody"] = {"required": required, "content": _json(schema)}
    return found


def _parameter(field: Field, place: str) -> dict[str, Any]:
    head = {"name": field.name, "in": place, "description": field.text}
    return head | {"required": field.required, "schema": field.schema}


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
