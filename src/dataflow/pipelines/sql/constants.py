"""Constants: literals, and functions of literals, computed during translation."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from sqlglot import exp

from dataflow.pipelines.pg_functions.arrays import array_out
from dataflow.pipelines.pg_functions.signatures import Interval
from dataflow.pipelines.sql.calls import receive, write_numeric
from dataflow.pipelines.sql.catalogue import Match, find_cast
from dataflow.pipelines.sql.types import BIGINT, FLOATS, INTEGER, INTEGERS, SqlType, numeric, type_of
from dataflow.pipelines.sql.work import Typed, Work, text_literal

_TRIED = ("~", "~*", "!~", "!~*", "to_char", "date_trunc", "extract", "date_part")
_SAMPLES: dict[str, Any] = {
    "text": "",
    **dict.fromkeys(("date", "timestamp", "timestamptz", "integer", "bigint"), 0),
    **dict.fromkeys(("double", "real"), 0.0),
    "numeric": Decimal(0),
    "interval": Interval(0, 0, 0),
}


def is_null(value: Typed) -> bool:
    """Whether it is a literal NULL, for which PostgreSQL also knows the result without computing it."""
    return value.sql == "NULL" or value.sql.startswith("CAST(NULL AS ")


def number_literal(text: str) -> Typed:
    """A numeric literal: integer, bigint or numeric, never floating-point."""
    value = Decimal(text)
    if re.fullmatch(r"\d+", text) and value < 2**63:
        small = value < 2**31
        return Typed(text if small else f"{text}L", INTEGER if small else BIGINT, text)
    return number_constant(value)


def number_constant(value: Decimal) -> Typed:
    """A numeric constant with the digits as written."""
    text = write_numeric(value)
    digits, scale = len(re.sub(r"\D", "", text).lstrip("0")), len(text.partition(".")[2])
    kind = numeric(max(digits, scale, 1), scale)
    return Typed(f"CAST('{text}' AS {kind.spark})" if kind.is_decimal else f"'{text}'", kind, text)


def fold_call(work: Work, match: Match, values: list[Typed], node: exp.Expr) -> Typed:
    """Compute a call whose arguments are all constants; BadInput if PostgreSQL would raise an error."""
    arguments = [constant_value(value, take) for value, take in zip(values, match.takes, strict=True)]
    try:
        found = match.signature.call(*arguments)
    except (ValueError, ArithmeticError) as error:
        work.refuse(node, f"{why(error)}: {error}")
    if match.gives in ("timestamp", "timestamptz") and found is not None and not -(2**63) <= found < 2**63:
        work.refuse(node, "is later than the last time that Spark supports; write '9999-12-31'")
    return literal(found, type_of(match.gives))


def try_constants(work: Work, match: Match, values: list[Typed], node: exp.Expr) -> None:
    """BadInput for a literal pattern, format or field that is invalid whatever the other values are."""
    name = match.signature.name
    if name not in _TRIED and not name.startswith("regexp_"):
        return
    arguments = [
        _SAMPLES.get(take) if value.constant is None else constant_value(value, take)
        for value, take in zip(values, match.takes, strict=True)
    ]
    if name.startswith("regexp_") and any(value.constant is None for value in values[1:]):
        return
    try:
        if None not in arguments:
            match.signature.call(*arguments)
    except ValueError as error:
        work.refuse(node, f"is an error in PostgreSQL: {error}")


def why(error: Exception) -> str:
    """Say whether PostgreSQL refuses a value, or only this translation does."""
    return "has no equivalent on Spark" if "supported" in str(error) else "is an error in PostgreSQL"


def constant_value(value: Typed, family: str) -> Any:
    """The Python value of a constant; ValueError if its text is not valid."""
    text = value.constant or ""
    if family.endswith("[]") and family != "text[]":
        items = constant_value(value, "text[]")
        return [
            None if each is None else constant_value(Typed("", value.type, each), family[:-2])
            for each in items
        ]
    if family in INTEGERS:
        return int(text)
    if family == "numeric":
        return Decimal(text)
    if family in FLOATS:
        return float(text)
    signature = find_cast("text", family) if family != "text" else None
    return signature.call(text) if signature else text


def write_array(items: list[Typed]) -> str | None:
    """The text of an array of constants; None if an item is not a constant."""
    if any(each.constant is None and not is_null(each) for each in items):
        return None
    return array_out([each.constant for each in items])


def literal(value: Any, kind: SqlType) -> Typed:
    """Write a value computed here as Spark SQL."""
    if value is None:
        return Typed(f"CAST(NULL AS {kind.spark})", kind)
    if kind.element is not None:
        items = ", ".join(literal(item, kind.element).sql for item in value)
        return Typed(f"CAST(ARRAY({items}) AS {kind.spark})", kind)
    if kind.name == "numeric":
        return number_constant(value)
    if isinstance(value, Interval):
        fields = f"'months', {value.months}, 'days', {value.days}, 'micros', {value.micros}L"
        return Typed(f"NAMED_STRUCT({fields})", kind)
    if kind.is_time:
        return Typed(
            receive(f"CAST({value} AS {'INT' if kind.name == 'date' else 'BIGINT'})", kind.name), kind
        )
    if kind.name == "boolean":
        return Typed(str(value).upper(), kind)
    if kind.is_integer:
        return Typed(f"CAST({value} AS {kind.spark})", kind, str(value))
    if kind.is_float:
        return Typed(f"CAST('{value!r}' AS {kind.spark})", kind, repr(value))
    if kind.name == "bytea":
        return Typed(f"X'{value.hex()}'", kind)
    return Typed(text_literal(value), kind, value if kind.name == "text" else None)
