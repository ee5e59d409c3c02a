"""Operators without parentheses group as in PostgreSQL, and what its grammar rejects is refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import psycopg
import pytest
from psycopg import pq

from dataflow.errors import BadInput
from dataflow.pipelines.sql.parsing import read_statement
from dataflow.pipelines.sql.postgres_text import write

CONDITIONS = """
{} IS DISTINCT FROM {}
{} IS NOT DISTINCT FROM {}
{} IS NULL
{} IS NOT NULL
{} ISNULL
{} NOTNULL
{} IS TRUE
{} IS NOT TRUE
{} IS UNKNOWN
{} = {}
{} <> {}
{} < {}
{} >= {}
{} BETWEEN {} AND {}
{} NOT BETWEEN {} AND {}
{} BETWEEN SYMMETRIC {} AND {}
{} IN (true, false)
{} NOT IN (true, null)
{} = ANY (array[true])
NOT {}
{} AND {}
{} OR {}
""".strip().splitlines()
PATTERNS = """
{} LIKE {}
{} NOT LIKE {}
{} ILIKE {}
{} SIMILAR TO {}
{} NOT SIMILAR TO {}
{} LIKE {} ESCAPE 'x'
{} ~ {}
{} !~ {}
{} || {}
{} AT TIME ZONE {}
{} COLLATE "C"
{} -> {}
({})[1]
{}[1]
""".strip().splitlines()
NAMES = "pqrstu"
SYNTAX_ERROR = b"42601"


def _pairs(operators: list[str]) -> Iterator[str]:
    """Each operator as each operand of each other, without parentheses."""
    for inner, outer in product(operators, operators):
        for place in range(outer.count("{}")):
            operands = ["{}"] * outer.count("{}")
            operands[place] = inner
            text = outer.format(*operands)
            yield text.format(*NAMES[: text.count("{}")])


def _reread(expression: str) -> str | None:
    """The text of the tree; None if the expression is refused."""
    try:
        statement = read_statement(f"select {expression}", "postgres", "query")
    except BadInput:
        return None
    return write(statement.expressions[0])


def test_a_chain_of_operators_that_postgres_rejects_is_refused(postgres_url: str) -> None:
    wrong = []
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for expression in dict.fromkeys(_pairs(CONDITIONS + PATTERNS)):
            found = connection.pgconn.prepare(b"", f"select {expression}".encode())
            is_error = found.error_field(pq.DiagnosticField.SQLSTATE) == SYNTAX_ERROR
            if is_error and _reread(expression) is not None:
                wrong.append(expression)
    assert not wrong


def test_conditions_without_parentheses_group_as_in_postgres(postgres_url: str) -> None:
    wrong, compared = [], 0
    rows = ", ".join(f"(values (true), (false), (null)) as of_{name}({name})" for name in NAMES[:5])
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        for expression in dict.fromkeys(_pairs(CONDITIONS)):
            if (again := _reread(expression)) is None:
                continue
            compared += 1
            differ = f"select count(*) from {rows} where ({expression}) is distinct from ({again})"
            if connection.execute(differ).fetchall() != [(0,)]:
                wrong.append(f"{expression} / {again}")
    assert not wrong
    assert compared > 300


@pytest.mark.parametrize(
    "expression",
    [
        "team is distinct from id is not true",
        "team is distinct from id is distinct from cents",
        "code not like name like 'a'",
        "code not in ('a') in ('b')",
        "cents not between 1 and 2 between 3 and 4",
        "local between done at time zone 'UTC' and local",
        "paid between not paid and true",
        "code between name collate \"C\" and 'b'",
        "code between name",
        "cents between team is not null and 5",
        "paid is null[1]",
        "paid is true[1]",
        "name = any(tags)[1]",
        "string_to_array(name, ' ')[1]",
        "notes -> tags[1]",
    ],
)
def test_operators_that_cannot_be_chained_are_refused(expression: str) -> None:
    with pytest.raises(BadInput, match=r"Add parentheses|syntax error"):
        read_statement(f"select {expression} from orders", "postgres", "query")
