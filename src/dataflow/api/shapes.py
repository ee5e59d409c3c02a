"""The JSON of the answers as JSON Schema, in a short spelling: `text`, `number?` for one that may be null."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = dict[str, Any]

_KINDS: dict[str, Schema] = {
    "text": {"type": "string"},
    "number": {"type": "integer"},
    "decimal": {"type": "number"},
    "yes": {"type": "boolean"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "numbers": {"type": "array", "items": {"type": "integer"}},
    "map": {"type": "object", "additionalProperties": {"type": "string"}},
    "counts": {"type": "object", "additionalProperties": {"type": "integer"}},
    "any": {},
}


def shape(fields: Mapping[str, Any] | None = None, **more: Any) -> Schema:
    """An object with exactly these fields: each a word of the short spelling or another schema."""
    found = {**(fields or {}), **more}
    properties = {name: spell(kind) for name, kind in found.items()}
    return {"type": "object", "properties": properties, "required": list(properties)}


def spell(kind: Any) -> Schema:
    """The schema of a word such as `number?`, or the schema itself."""
    if not isinstance(kind, str):
        schema: Schema = kind
        return schema
    found = _KINDS[kind.removesuffix("?")]
    return nullable(found) if kind.endswith("?") else found


def nullable(schema: Schema) -> Schema:
    """The schema of a value that may be null."""
    if isinstance(schema.get("type"), str) and "enum" not in schema:
        return schema | {"type": [schema["type"], "null"]}
    return {"anyOf": [schema, {"type": "null"}]}


def many(schema: Any) -> Schema:
    """A list of these."""
    return {"type": "array", "items": spell(schema)}


def texts(names: str, kind: str = "text") -> dict[str, str]:
    """Fields of one kind, from their names with spaces between them."""
    return dict.fromkeys(names.split(), kind)
