"""Single values: what fits, what does not and why; and that PostgreSQL parses the same strings alike."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from dataflow.pipelines.shape.json_text import Number, parse_exactly
from dataflow.pipelines.shape.sql_types import parse_sql_type
from dataflow.pipelines.shape.values import Unfit, convert
from tests.pipelines.shape.value_cases import FITS, ID, UNFIT


@pytest.mark.parametrize(("kind", "source", "expected"), FITS)
def test_a_value_that_fits_is_kept_to_the_last_digit(kind: str, source: str, expected: Any) -> None:
    found = convert(parse_sql_type(kind), parse_exactly(source.encode()))
    assert found == expected
    assert type(found) is type(expected) or isinstance(found, str)


@pytest.mark.parametrize(("kind", "source", "reason"), UNFIT)
def test_a_value_that_does_not_fit_says_why(kind: str, source: str, reason: str) -> None:
    with pytest.raises(Unfit, match=reason):
        convert(parse_sql_type(kind), parse_exactly(source.encode()))


def test_the_json_of_a_csv_field_is_its_text() -> None:
    jsonb = parse_sql_type("jsonb")
    assert convert(jsonb, '{"a": 1.10}', source_is_text=True) == '{"a":1.10}'
    with pytest.raises(Unfit, match="not JSON"):
        convert(jsonb, "{a", source_is_text=True)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("nan")], b"x"])
def test_values_that_only_parquet_can_contain_are_refused_too(value: Any) -> None:
    with pytest.raises(Unfit):
        convert(parse_sql_type("jsonb" if isinstance(value, list) else "text"), value)


TEXTS = {
    "integer": ["12", " 12 ", "+12", "-0", "1e2", "12.0", "1.", "", "2147483648", "1 2", "--1"],
    "numeric(12,2)": ["1.", ".5", "+1", " 1 ", "1e3", "", ".", "1e", "10000000000", "1e-2", "-0.00", "0x"],
    "numeric": ["1.10", "1e-18", "12345678901234567890", "-0", "1e5"],
    "boolean": ["t", "TR", " true ", "1", "0", "01", "o", "of", "on", "y", "n", "nope", "", "f"],
    "double precision": ["1e5", ".5", "5.", "1e400", " 1 ", "", "1,5", "-0.0", "1e-400", "5e-324", "2e-324",
                         "0e-400"],
    "real": ["1e-50", "1e-45", "7e-46", "1e-38", "0e-50", "1e39"],
    "uuid": [ID, f"{{{ID}}}", ID.upper(), f"{ID} ", "a0ee-bc99-9c0b-4ef8-bb6d-6bb9-bd38-0a11", "x"],
    "date": ["2024-02-29", "2023-02-29", "2024-2-9", " 2024-02-01 ", "0000-01-01", "2024-13-01"],
    "timestamp with time zone": [
        "2026-01-01T05:00Z", "2026-01-01T05Z", "2026-01-01T05:00:60Z", "2026-01-01T24:00:00Z",
        "2026-01-01T24:00:01Z", "2026-01-01T05:00:60.5Z", "2026-01-01T05:00:00+15:59",
        "2026-01-01T05:00:00+16:00", "2026-01-01T05:00:00.Z", "2026-01-01t05:00:00z", "2026-1-1T05:00:00Z",
        "2026-01-01T05:00:00 +01:00", "2026-01-01T05:00:00.1234565Z", "2026-01-01T05:00:00.9999999Z",
        "2026-01-01T05:00:00+01:00:30", "  2026-01-01  ", "2026-01-01T05:00:00+1", "2026-01-01T5:00:00Z",
        "2026-01-01T05:00:00,5Z", "2026-01-01T05:00:61Z", "2026-01-01T05:00:00+130", "2024-02-30T00:00Z",
    ],
    "text[]": ["{a,b}", "{}", '{NULL,"NULL"}', "{a b, c }", '{"a\\"b"}', "{a", "{,}",
               '{"a"b}', "{a\\,b}", "{ }", "{U, }", "{ ,a}", "{\u00a0a,b\u2003}"],
}  # fmt: skip


@pytest.mark.parametrize("kind", TEXTS)
def test_strings_are_parsed_as_postgresql_parses_them(kind: str, postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")
        for text in TEXTS[kind]:
            theirs = _ask(connection, kind, text)
            try:
                ours = convert(parse_sql_type(kind), text)
            except Unfit as unfit:
                assert theirs is None, f"{kind} {text!r}: PostgreSQL says {theirs}, we say it {unfit}"
            else:
                assert theirs is not None, f"{kind} {text!r}: PostgreSQL refuses, we say {ours}"
                same = connection.execute(f"SELECT %s::{kind} = %s::{kind}", (text, ours)).fetchone()
                assert same == (True,), f"{kind} {text!r}: PostgreSQL says {theirs}, we say {ours}"


@pytest.mark.parametrize("text", ["abc", "abc   ", "abc d", "äöü "])
def test_a_string_that_is_too_long_is_stored_or_refused_as_in_postgresql(
    text: str, postgres_url: str
) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TEMPORARY TABLE names (name varchar(3))")
        try:
            (theirs,) = connection.execute("INSERT INTO names VALUES (%s) RETURNING name", (text,)).fetchall()
        except psycopg.DataError:
            with pytest.raises(Unfit, match="more than character varying"):
                convert(parse_sql_type("varchar(3)"), text)
        else:
            assert theirs == (convert(parse_sql_type("varchar(3)"), text),)


def _ask(connection: psycopg.Connection[Any], kind: str, text: str) -> str | None:
    try:
        row = connection.execute(f"SELECT (%s::text)::{kind}::text", (text,)).fetchone()
    except psycopg.DataError:
        return None
    assert row is not None
    return str(row[0])


def test_a_number_keeps_its_text() -> None:
    assert [type(one) for one in parse_exactly(b"[1, 1.0, 1234567890123456789]")] == [int, Number, Number]
