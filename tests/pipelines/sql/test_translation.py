"""The same SQL gives the same rows in PostgreSQL and, translated, in Spark."""

from __future__ import annotations

import re

import pytest

from dataflow.pipelines.sql.parsing import PostgresAsWritten, read_statement
from tests.pipelines.sql.both import Both
from tests.pipelines.sql.same import EXPRESSIONS, QUERIES

# As many as Spark compiles together in good time.
TOGETHER = 60


def _together() -> list[tuple[str, list[str]]]:
    """Expressions of each group in few queries: every query costs Spark about a second."""
    groups = []
    for name, text in EXPRESSIONS.items():
        lines = text.strip().splitlines()
        groups += [(name, lines[start : start + TOGETHER]) for start in range(0, len(lines), TOGETHER)]
    return groups


@pytest.mark.parametrize(
    ("name", "expressions"), _together(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_expressions_have_the_values_that_postgres_gives(
    both: Both, name: str, expressions: list[str]
) -> None:
    listed = ", ".join(f"({expression}) as e{number}" for number, expression in enumerate(expressions))
    sql = f"select id, {listed} from orders order by id"
    theirs, ours = both.ask_postgres(sql), both.ask_spark(sql)
    assert len(theirs) == len(ours)
    differences = [
        (expression, row[0], value, found)
        for row, other in zip(theirs, ours, strict=True)
        for expression, value, found in zip(expressions, row[1:], other[1:], strict=True)
        if value != found or type(value) is not type(found)
    ]
    assert not differences


@pytest.mark.parametrize(("name", "expressions"), _together())
def test_sql_written_anew_for_postgres_means_the_same(both: Both, name: str, expressions: list[str]) -> None:
    for expression in expressions:
        sql = f"select id, ({expression}) as e from orders order by id"
        again = read_statement(sql, "postgres", "query").sql(dialect=PostgresAsWritten)
        assert both.ask_postgres(again) == both.ask_postgres(sql), again


@pytest.mark.parametrize("sql", QUERIES.strip().splitlines())
def test_queries_have_the_rows_that_postgres_gives(both: Both, sql: str) -> None:
    theirs, ours = both.ask_postgres(sql), both.ask_spark(sql)
    if not re.search(r"order by [^()]*$", sql):
        theirs, ours = sorted(theirs, key=repr), sorted(ours, key=repr)
    assert theirs == ours


@pytest.mark.parametrize(
    "interval",
    ["1 day ago", "1 year 2 months ago", "1 day 2", "@ 1 day", "1-2", "1 day 02:03", "1.5 days", "P1Y2M"],
)
def test_an_interval_written_anew_for_postgres_keeps_all_of_its_text(both: Both, interval: str) -> None:
    sql = f"select due + interval '{interval}' from orders order by id"
    again = read_statement(sql, "postgres", "query").sql(dialect=PostgresAsWritten)
    assert both.ask_postgres(again) == both.ask_postgres(sql), again
