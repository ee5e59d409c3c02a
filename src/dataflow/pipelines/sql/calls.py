"""PostgreSQL's functions as functions of a Spark session: converts values to Python and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from dataflow.model.record import record
from dataflow.pipelines.pg_functions.signatures import Interval, Signature

PREFIX = "dataflow_"
_DAY = 86_400_000_000

# How a value is passed, if not in Spark's own type: Python's dates end at 9999.
_ON_THE_WAY = {
    "date": ("INT", "UNIX_DATE({})", "DATE_FROM_UNIX_DATE({})"),
    "timestamp": (
        "BIGINT",
        "UNIX_MICROS(CAST({} AS TIMESTAMP))",
        "CAST(TIMESTAMP_MICROS({}) AS TIMESTAMP_NTZ)",
    ),
    "timestamptz": ("BIGINT", "UNIX_MICROS({})", "TIMESTAMP_MICROS({})"),
}
_CARRIED = {
    "boolean": "BOOLEAN",
    "smallint": "SMALLINT",
    "integer": "INT",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double": "DOUBLE",
    "bytea": "BINARY",
    "interval": "STRUCT<months: INT, days: INT, micros: BIGINT>",
}


@record
class Function:
    """A function that the SQL calls. Register it with the session under its name before running the SQL."""

    name: str
    call: Callable[..., Any]
    returns: str


def function_of(signature: Signature, takes: tuple[str, ...], gives: str) -> Function:
    """A signature as a function of the session, with concrete types in place of `any`."""
    word = re.sub(r"\W", lambda found: f"x{ord(found[0]):x}", f"{signature.name}_{'_'.join(takes)}_{gives}")
    call = partial(_evaluate, signature.call, signature.strict, tuple(map(_reader, takes)), _writer(gives))
    returns = f"ARRAY<{_carried(gives)}>" if signature.is_set else _carried(gives)
    if signature.is_set:
        call = partial(_evaluate, signature.call, signature.strict, tuple(map(_reader, takes)), _many(gives))
    return Function(f"{PREFIX}{word}", call, returns)


def guarded(function: Function) -> Function:
    """The function with a condition as its first argument: NULL without a call unless that is true."""
    return Function(f"{function.name}_when", partial(_evaluate_when, function.call), function.returns)


def send(sql: str, family: str) -> str:
    """Spark SQL that converts a value for Python; numerics are text already."""
    element = family.removesuffix("[]")
    if element not in _ON_THE_WAY:
        return sql
    form = _ON_THE_WAY[element][1]
    return form.format(sql) if element == family else f"TRANSFORM({sql}, e -> {form.format('e')})"


def receive(sql: str, family: str) -> str:
    """Spark SQL that converts a value returned by Python."""
    element = family.removesuffix("[]")
    if element not in _ON_THE_WAY:
        return sql
    form = _ON_THE_WAY[element][2]
    return form.format(sql) if element == family else f"TRANSFORM({sql}, e -> {form.format('e')})"


def write_numeric(number: Decimal) -> str:
    """Format a number as PostgreSQL does."""
    return f"{number if number else abs(number):f}"


def _carried(family: str) -> str:
    if family.endswith("[]"):
        return f"ARRAY<{_carried(family[:-2])}>"
    return _ON_THE_WAY[family][0] if family in _ON_THE_WAY else _CARRIED.get(family, "STRING")


def _evaluate(
    call: Callable[..., Any],
    strict: bool,
    readers: tuple[Callable[[Any], Any] | None, ...],
    writer: Callable[[Any], Any] | None,
    *values: Any,
) -> Any:
    if strict and any(value is None for value in values):
        return None
    found = call(
        *[
            value if value is None or reader is None else reader(value)
            for reader, value in zip(readers, values, strict=True)
        ]
    )
    return found if found is None or writer is None else writer(found)


def _evaluate_when(call: Callable[..., Any], test: bool | None, *values: Any) -> Any:
    return call(*values) if test else None


def _reader(family: str) -> Callable[[Any], Any] | None:
    if family.endswith("[]"):
        return _each(_reader(family[:-2]))
    return _READERS.get(family)


def _writer(family: str) -> Callable[[Any], Any] | None:
    if family.endswith("[]"):
        return _each(_writer(family[:-2]))
    return _WRITERS.get(family)


def _many(family: str) -> Callable[[Any], Any]:
    return _each(_writer(family))


def _each(one: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return partial(_convert_items, one)


def _convert_items(one: Callable[[Any], Any] | None, items: Any) -> list[Any]:
    return [item if item is None or one is None else one(item) for item in items]


def _read_interval(row: Any) -> Interval:
    return Interval(*row)


_READERS: dict[str, Callable[[Any], Any]] = {"numeric": Decimal, "interval": _read_interval, "bytea": bytes}
_WRITERS: dict[str, Callable[[Any], Any]] = {"numeric": write_numeric, "interval": tuple}
