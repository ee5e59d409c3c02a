"""Field mappings: what is accepted, what is refused, and how the refusal names the item."""

from __future__ import annotations

import pickle
import re
from typing import Any

import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.shape.fields import parse_fields
from dataflow.pipelines.shape.sql_types import ColumnType


def test_a_triple_is_source_column_and_type_and_a_pair_is_column_and_type() -> None:
    one, two = parse_fields([("a__b", "c", "text NOT NULL"), ("id", "uuid PRIMARY KEY")])
    assert (one.source, one.column, one.type, one.not_null) == ("a__b", "c", ColumnType("text"), True)
    assert (two.source, two.column, two.primary_key, two.not_null) == ("id", "id", True, True)
    assert pickle.loads(pickle.dumps(two)) == two


def test_dots_in_a_source_are_steps() -> None:
    (field,) = parse_fields([("company.address.0", "town", "text")])
    assert field.path == ("company", "address", "0")


def test_a_definition_is_generated_for_the_ddl() -> None:
    fields = parse_fields([("a", "uuid primary key"), ("b", "varchar(3) unique not null"), ("c", "text")])
    assert [field.definition for field in fields] == [
        "uuid PRIMARY KEY",
        "character varying(3) NOT NULL UNIQUE",
        "text",
    ]


@pytest.mark.parametrize(
    "name", ["Company Name", "größe", "select", "a.b", "1st", "a$", "x" * 63, "%s", "{x}"]
)
def test_unusual_names_are_accepted_because_they_are_always_quoted(name: str) -> None:
    assert parse_fields([("x", name, "text")])[0].column == name


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("", "empty"),
        (" a", "starts or ends with a space"),
        ('a"; drop table x; --', 'contains "'),
        ("a'b", "contains '"),
        ("a`b", "contains `"),
        ("a;b", "contains ;"),
        ("a\\b", "contains \\"),
        ("a--b", "contains --"),
        ("a/*b", "contains /*"),
        ("a\0b", "unprintable"),
        ("a\nb", "unprintable"),
        ("a\ud800", "unprintable"),
        ("ü" * 32, "longer than 63 bytes"),
        ("ctid", "system column"),
        ("XMIN", "system column"),
        (None, "is not a string"),
    ],
)
def test_names_that_could_break_out_of_quotes_are_refused(name: Any, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)) as caught:
        parse_fields([("ok", "text"), ("x", name, "text")])
    assert "field_mapping item 2" in str(caught.value)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ([], "empty"),
        ("abc", "not a list"),
        (None, "not a list"),
        ([("a",)], "item 1"),
        ([("a", "text"), "ab"], "item 2"),
        ([("a", "b", "text", "d")], "item 1"),
        ([("a", "text"), ("b", "txt")], 'item 2 ("b"): SQL type "txt" is not supported'),
        ([("a", 5)], "is not a string such as"),
        ([(None, "a", "text")], "source field None"),
        ([("", "a", "text")], "source field ''"),
        ([("x", "a", "text"), ("y", "a", "text")], 'item 2: column "a" is already defined by item 1'),
        ([("x", "a", "text"), ("y", "A", "text")], 'item 2: column "A" is already defined by item 1'),
        ([("a", "text primary key"), ("b", "text primary key")], 'PRIMARY KEY at "a" and "b"'),
    ],
)
def test_an_invalid_mapping_is_refused_and_names_the_item(mapping: Any, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        parse_fields(mapping)
