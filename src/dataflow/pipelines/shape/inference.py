"""`...` in a field mapping: all other source fields, under their own names, typed from the first part."""

from __future__ import annotations

import re
from itertools import accumulate, islice, takewhile
from typing import Any, BinaryIO

from dataflow.errors import BadInput
from dataflow.pipelines.shape.fields import Field, parse_fields
from dataflow.pipelines.shape.json_rows import find_rows, parse_line, parse_page
from dataflow.pipelines.shape.json_text import Number

SEEN_ROWS = 50_000
SEEN_BYTES = 64 << 20


def read_beginning(file: BinaryIO, kind: str) -> bytes:
    """The sample that fields are inferred from: a whole page, lines up to a limit, nothing of other kinds."""
    if kind == "page":
        return file.read()
    if kind != "jsonl":
        return b""
    ends = accumulate(map(len, islice(file, SEEN_ROWS)))
    size = max(takewhile(lambda end: end <= SEEN_BYTES, ends), default=0)
    file.seek(0)
    return file.read(size)


def infer_fields(fields: tuple[Field, ...], body: bytes, kind: str, results_key: str) -> tuple[Field, ...]:
    """The mapped fields, followed by unmapped fields of the rows that can be columns."""
    mapped = {field.path[0] for field in fields} | {field.source for field in fields}
    columns = {field.column.lower() for field in fields}
    found: dict[str, set[str]] = {}
    for row in _rows(body, kind, results_key):
        for name, value in row.items():
            if name not in mapped:
                found.setdefault(name, set()).add(_type_of(value))
    others = []
    for name, types in found.items():
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name) and name.lower() not in columns:
            columns.add(name.lower())
            others.append((name, _common(types - {""})))
    return (*fields, *(parse_fields(others) if others else ()))


def _rows(body: bytes, kind: str, results_key: str) -> list[dict[str, Any]]:
    if kind == "jsonl":
        found = [parse_line(*line) for line in enumerate(body.split(b"\n")[:SEEN_ROWS])]
    elif kind == "page":
        found = find_rows(parse_page(body), results_key)
    else:
        raise BadInput(
            f"`...` in a field_mapping works only with JSON, not with {kind}: list the fields instead."
        )
    return [row for row in found if isinstance(row, dict)]


def _type_of(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "boolean"
        case int():
            return "bigint" if -(2**63) <= value < 2**63 else "numeric"
        case Number():
            return "numeric"
        case str():
            return "text"
        case list() if value and all(type(item) is str for item in value):
            return "text[]"
    return "jsonb"


def _common(types: set[str]) -> str:
    """The type that can hold all of these."""
    if len(types) == 1:
        return next(iter(types))
    if types and types <= {"bigint", "numeric"}:
        return "numeric"
    return "jsonb" if types & {"jsonb", "text[]"} else "text"
