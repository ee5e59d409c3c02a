"""`...` in a field mapping: typed from readable rows, reading no more of a file than needed."""

from __future__ import annotations

import io

import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.shape import inference
from dataflow.pipelines.shape.fields import parse_fields
from dataflow.pipelines.shape.inference import infer_fields, read_beginning

FIELDS = parse_fields([("id", "bigint")])


def infer(body: bytes, kind: str) -> list[tuple[str, str]]:
    return [(field.column, field.type.sql) for field in infer_fields(FIELDS, body, kind, "")]


def test_a_line_that_is_not_json_is_left_to_the_rejects() -> None:
    body = b'{"id": 1, "name": "x"}\n{"id": \n\xff\n{"id": 2, "price": 1.5}\n'
    assert infer(body, "jsonl") == [("id", "bigint"), ("name", "text"), ("price", "numeric")]


def test_a_page_that_is_not_json_is_reported() -> None:
    with pytest.raises(BadInput, match=r"is not JSON: .* it begins"):
        infer(b"<html>", "page")


def test_only_the_first_lines_of_a_file_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    line = b'{"id": 1}\n'
    monkeypatch.setattr(inference, "SEEN_ROWS", 3)
    assert read_beginning(io.BytesIO(line * 10), "jsonl") == line * 3
    monkeypatch.setattr(inference, "SEEN_BYTES", len(line) + 1)
    assert read_beginning(io.BytesIO(line * 10), "jsonl") == line
    assert read_beginning(io.BytesIO(line * 10), "csv") == b""
