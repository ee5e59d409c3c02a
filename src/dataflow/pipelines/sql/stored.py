"""Converts values of a dataset's files to the values that PostgreSQL would have."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast
from dataflow.pipelines.sql.types import JSONB, TEXT, SqlType, exact_numeric, read_type
from dataflow.pipelines.sql.work import Typed, Work, quote

UNLIMITED = "numeric(*)"
"""A numeric whose files contain each number as text."""

_FIXED_DIGITS = 18  # after the point, for a numeric without precision that files store as a decimal


def stored_type(written: str) -> SqlType:
    """The type of a column that the manifest lists as `written`."""
    kind = read_type(written)
    return exact_numeric(_FIXED_DIGITS) if kind.is_exact_text and not written.startswith(UNLIMITED) else kind


def read_stored(work: Work, name: str, kind: SqlType, written: str) -> str:
    """Spark SQL that reads a column of the files; `written` is its type in the manifest."""
    column = quote(name)
    if kind.name == "bpchar" and kind.length:
        return f"RPAD({column}, {kind.length}, ' ')"
    if kind.name == "jsonb":
        return cast(work, Typed(column, TEXT), JSONB, exp.column(name)).sql
    if kind.is_exact_text and not written.startswith(UNLIMITED):
        return _shown_digits(column)
    if kind.element is not None and kind.element.is_exact_text and not written.startswith(UNLIMITED):
        return f"TRANSFORM({column}, e -> {_shown_digits('e')})"
    return column


def _shown_digits(sql: str) -> str:
    """Format a decimal of fixed scale as text, without the zeros that only pad it."""
    return f"TRIM(TRAILING '.' FROM TRIM(TRAILING '0' FROM CAST({sql} AS STRING)))"


def kept_type(kind: SqlType) -> str:
    """The type in which files store a result column: a numeric as Spark represents it."""
    if kind.element is not None:
        return f"{kept_type(kind.element)}[]"
    if kind.name != "numeric":
        return kind.postgres
    if kind.is_decimal:
        return f"numeric({kind.precision},{kind.scale})"
    return "numeric" if 0 <= kind.fraction <= _FIXED_DIGITS else UNLIMITED
