"""PostgreSQL's functions as functions of a Spark session: converts values to Python and back."""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from dataflow.model.record import record
from dataflow.pipelines.pg_functions.signatures import Interval
from dataflow.pipelines.sql.catalogue import Match
from dataflow.pipelines.sql.types import type_of

PREFIX = "dataflow_"

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


@record
class Function:
    """A function that the SQL calls. Register it with the session under its name before running the SQL."""

    name: str
    call: Callable[..., Any]
    returns: str


def function_of(match: Match) -> Function:
    """An overload as a function of the session."""
    signature, written = match.signature, "_".join((match.signature.name, *match.takes, match.gives))
    readers = tuple(_converter(_READERS, take) for take in match.takes)
    call = partial(_evaluate, signature.call, signature.strict, readers, _converter(_WRITERS, match.gives))
    name = PREFIX + re.sub(r"\W", lambda found: f"x{ord(found[0]):x}", written)
    return Function(name, call, _carried(match.gives))


def guarded(function: Function) -> Function:
    """The function with a condition as its first argument: NULL without a call unless that is true."""
    return Function(f"{function.name}_when", partial(_evaluate_when, function.call), function.returns)


def send(sql: str, family: str) -> str:
    """Spark SQL that converts a value for Python; numerics are text already."""
    return _converted(sql, family, 1)


def receive(sql: str, family: str) -> str:
    """Spark SQL that converts a value returned by Python."""
    return _converted(sql, family, 2)


def _converted(sql: str, family: str, place: int) -> str:
    element = family.removesuffix("[]")
    if element not in _ON_THE_WAY:
        return sql
    form = _ON_THE_WAY[element][place]
    return form.format(sql) if element == family else f"TRANSFORM({sql}, e -> {form.format('e')})"


def write_numeric(number: Decimal) -> str:
    """Format a number as PostgreSQL does."""
    return f"{number if number else abs(number):f}"


def _carried(family: str) -> str:
    if family.endswith("[]"):
        return f"ARRAY<{_carried(family[:-2])}>"
    return _ON_THE_WAY[family][0] if family in _ON_THE_WAY else type_of(family).spark


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


def _converter(known: dict[str, Callable[[Any], Any]], family: str) -> Callable[[Any], Any] | None:
    if family.endswith("[]"):
        return partial(convert_items, _converter(known, family[:-2]))
    return known.get(family)


def convert_items(one: Callable[[Any], Any] | None, items: Any) -> list[Any]:
    """Convert each element of an array that is not NULL."""
    return [item if item is None or one is None else one(item) for item in items]


_READERS: dict[str, Callable[[Any], Any]] = {"numeric": Decimal, "interval": Interval._make, "bytea": bytes}
_WRITERS: dict[str, Callable[[Any], Any]] = {"numeric": write_numeric, "interval": tuple}
