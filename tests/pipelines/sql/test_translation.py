"""PostgreSQL and Spark return the same columns, types and rows for the same SQL."""

from __future__ import annotations

import re

import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.sql.parsing import read_statement
from dataflow.pipelines.sql.postgres_text import write
from dataflow.pipelines.sql.translation import translate
from tests.pipelines.sql.both import SCHEMA, Both
from tests.pipelines.sql.same import EXPRESSIONS, QUERIES

# More expressions in one query take Spark too long to compile.
TOGETHER = 40


def _together() -> list[tuple[str, list[str]]]:
    """Batch the expressions of each group: every query takes Spark about a second."""
    groups = []
    for name, text in EXPRESSIONS.items():
        lines = text.strip().splitlines()
        groups += [(name, lines[start : start + TOGETHER]) for start in range(0, len(lines), TOGETHER)]
    return groups


@pytest.mark.parametrize(
    ("name", "expressions"), _together(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_expressions_have_the_same_types_and_values_as_in_postgres(
    both: Both, name: str, expressions: list[str]
) -> None:
    listed = ", ".join(f"({expression}) as e{number}" for number, expression in enumerate(expressions))
    sql = f"select id, {listed} from orders order by id"
    theirs, ours = both.ask_postgres(sql), both.ask_spark(sql)
    assert theirs.columns == ours.columns
    assert len(theirs.rows) == len(ours.rows)
    differences = [
        (expression, row[0], value, found)
        for row, other in zip(theirs.rows, ours.rows, strict=True)
        for expression, value, found in zip(expressions, row[1:], other[1:], strict=True)
        if value != found
    ]
    assert not differences


@pytest.mark.parametrize(("name", "expressions"), _together())
def test_sql_generated_for_postgres_has_the_same_meaning(
    both: Both, name: str, expressions: list[str]
) -> None:
    for expression in expressions:
        sql = f"select id, {expression} from orders order by id"
        again = write(read_statement(sql, "postgres", "query"))
        assert both.ask_postgres(again) == both.ask_postgres(sql), again


@pytest.mark.parametrize("sql", QUERIES.strip().splitlines())
def test_queries_return_the_same_columns_and_rows_as_postgres(both: Both, sql: str) -> None:
    theirs, ours = both.ask_postgres(sql), both.ask_spark(sql)
    assert theirs.columns == ours.columns
    if re.search(r"order by [^()]*$", sql):
        assert theirs.rows == ours.rows
    else:
        assert sorted(theirs.rows, key=repr) == sorted(ours.rows, key=repr)


@pytest.mark.parametrize(
    "interval",
    ["1 day ago", "1 year 2 months ago", "1 day 2", "@ 1 day", "1-2", "1 day 02:03", "1.5 days", "P1Y2M"],
)
def test_an_interval_generated_for_postgres_keeps_its_whole_text(both: Both, interval: str) -> None:
    sql = f"select due + interval '{interval}' as shifted from orders order by id"
    again = write(read_statement(sql, "postgres", "query"))
    assert both.ask_postgres(again) == both.ask_postgres(sql), again


@pytest.mark.parametrize("ambiguous", ["name ~ 'a' || 'b'", "'a' || name ~ 'b' || 'c'", "1 < 2 = true"])
def test_operators_that_the_parser_groups_differently_from_postgres_are_refused(ambiguous: str) -> None:
    with pytest.raises(BadInput, match=r"can be read in two ways\. Add parentheses"):
        translate(f"select {ambiguous} from orders", "postgres", SCHEMA)


@pytest.mark.parametrize(
    ("one", "word", "most"),
    [
        ("code::int = {}", "or", 120),
        ("code::int <> {}", "and", 220),
        ("code::int between {} and 90", "and", 600),
        ("price / id in ({}, price / id + 1)", "or", 12_000),
        ("split_part(code, '-', {}) = 'x'", "or", 12_000),
        ("price / {} > 2", "or", 12_000),
    ],
)
def test_many_conditions_in_a_row_grow_in_proportion(one: str, word: str, most: int) -> None:
    parts = [one.format(number) for number in range(1, 21)]
    for count in (10, 20):
        sql = f"select id from orders where {f' {word} '.join(parts[:count])}"
        assert len(translate(sql, "postgres", SCHEMA, "query").sql) < most * count
