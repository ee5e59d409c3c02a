"""Which columns of which datasets the columns of a SELECT come from. Does not check or translate it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import build_scope

from dataflow.pipelines.sql.parsing import DIALECTS, read_statement

EVERY = "*"
"""Stands for the columns of a dataset that are not known before its rows are."""

Origin = tuple[str, str]
"""A dataset and a column of it."""


def list_origins(
    select: str, dialect: str, columns: Mapping[str, Sequence[str]], place: str
) -> dict[str, tuple[Origin, ...]]:
    """Return each column of a SELECT with the columns it is computed from.

    `columns` are those of each dataset, none if they are not known. A SELECT that cannot be followed has the
    one column `*`, from all columns of what it reads.
    """
    statement = read_statement(select, dialect, place)
    spoken = DIALECTS[dialect]
    schema: dict[str, object] = {
        name: dict.fromkeys(known, "text") for name, known in columns.items() if known
    }
    try:
        qualified = qualify(statement.copy(), dialect=spoken, schema=schema, validate_qualify_columns=False)
        scope = build_scope(qualified)
        found = {
            # Quoted, or sqlglot would look for "Company" as company.
            name: _leaves(
                lineage(
                    exp.column(name, quoted=True), qualified, schema, scope=scope, dialect=spoken, copy=False
                ),
                columns,
            )
            for name in qualified.named_selects
            if name != EVERY
        }
        return found | _stars(qualified, columns)
    except (SqlglotError, ValueError, KeyError):
        return {EVERY: _all_of(statement, columns)}


def _leaves(node: Any, columns: Mapping[str, Sequence[str]]) -> tuple[Origin, ...]:
    """The columns at the end of a line; of a function in FROM, all columns of the datasets."""
    found: dict[Origin, None] = {}
    for one in node.walk():
        if isinstance(one.expression, exp.Table) and not one.downstream:
            name = one.expression.name
            others = (
                [(name, exp.to_column(one.name).name)] if name in columns else _all_of(node.source, columns)
            )
            found |= dict.fromkeys(others)
    return tuple(found)


def _all_of(statement: exp.Expr, columns: Mapping[str, Sequence[str]]) -> tuple[Origin, ...]:
    tables = [table.name for table in statement.find_all(exp.Table) if table.name in columns]
    return tuple((name, EVERY) for name in dict.fromkeys(tables))


def _stars(statement: exp.Query, columns: Mapping[str, Sequence[str]]) -> dict[str, tuple[Origin, ...]]:
    """The columns that only the rows show: those of `*` over a dataset whose columns are not known."""
    if EVERY not in statement.named_selects:
        return {}
    tables = [table.name for table in statement.find_all(exp.Table)]
    return {EVERY: tuple((name, EVERY) for name in dict.fromkeys(tables) if not columns.get(name))}
