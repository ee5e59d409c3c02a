"""The fast way to read a page: which pages it takes, and what it leaves to the general way."""

from __future__ import annotations

import pytest

from dataflow.pipelines.shape.fields import parse_fields
from dataflow.pipelines.shape.shaper import Shaper
from dataflow.pipelines.shape.typed_rows import list_typed, read_typed

FIELDS = parse_fields([("id", "integer"), ("class", "text"), ("price", "numeric"), ("tags", "text[]")])
ROW = '{"tags": ["a", null], "price": 1.5, "class": "x", "id": 7}'


def rows_of(*rows: str, key: str = "results") -> list[object] | None:
    return read_typed(f'{{"next": [1], "{key}": [{",".join(rows)}]}}'.encode(), key, FIELDS)


def test_rows_with_exactly_the_mapped_fields_are_read_in_one_step() -> None:
    rows = rows_of(ROW, ROW.replace("1.5", '"2"').replace("7", "null"))
    assert rows is not None
    assert [list_typed(rows, place) for place in range(4)] == [
        [7, None],
        ["x", "x"],
        [1.5, "2"],
        [["a", None], ["a", None]],
    ]


@pytest.mark.parametrize(
    "other",
    [
        '{"tags": [], "price": 1, "class": "x", "id": 7, "new": 1}',
        '{"tags": [], "price": 1, "class": "x"}',
        '{"tags": [], "price": 1, "class": "x", "id": "7"}',
        '{"tags": [], "price": 1, "class": 5, "id": 7}',
        '{"tags": "a", "price": 1, "class": "x", "id": 7}',
        '{"tags": [], "price": true, "class": "x", "id": 7}',
        "[7]",
        "null",
    ],
)
def test_a_page_with_any_other_row_is_left_to_the_general_way(other: str) -> None:
    assert rows_of(ROW, other) is None


def test_rows_are_found_under_a_dotted_key_or_at_the_top() -> None:
    fields = parse_fields([("id", "integer")])
    for key, body in (
        ("data.items", b'{"data": {"items": [{"id": 1}], "more": 2}}'),
        ("", b'\xef\xbb\xbf[{"id": 1}]'),
    ):
        rows = read_typed(body, key, fields)
        assert rows is not None
        assert list_typed(rows, 0) == [1]
    for body in (b"{}", b'{"data": {}}', b'{"data": 1}', b'{"data": {"items": 1}}', b"[]", b"[1"):
        assert read_typed(body, "data.items", fields) is None


def test_nested_fields_and_fields_of_two_columns_are_left_to_the_general_way() -> None:
    nested = parse_fields([("a.b", "x", "integer")])
    assert read_typed(b'{"results": [{"a.b": 1}]}', "results", nested) is None
    twice = parse_fields([("a", "one", "integer"), ("a", "two", "text")])
    assert read_typed(b'{"results": [{"a": 1}]}', "results", twice) is None
    (shaped,) = Shaper(twice).shape(b'{"results": [{"a": 1}]}', 1)
    assert shaped.batch.to_pylist() == [{"one": 1, "two": "1"}]
