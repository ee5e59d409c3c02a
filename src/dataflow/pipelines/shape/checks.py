"""The checks a pipeline declares, as plain records; their evaluation is in findings.

`checks = [minimum_rows(100), accepted("status", ["open", "done"]), sql("amount >= 0", severity="warning")]`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from typing import Any

from dataflow.config.durations import parse_seconds
from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import quoted

SEVERITIES = ("error", "warning")
ABOUT_COLUMNS = ("unique", "not_wholly_null")
"""The kinds whose values are columns."""
_WORDED_SPAN = re.compile(r"([0-9]+)\s*(week|day|hour|minute|second)s?", re.IGNORECASE)


@record
class Check:
    """One check. `kind` is the name of the function that made it; `column` is empty for the whole data.

    `values` are the arguments of that function, in order.
    """

    kind: str
    column: str = ""
    values: tuple[Any, ...] = ()
    severity: str = "error"

    def __str__(self) -> str:
        given = ((self.column,) if self.column else ()) + self.values
        return f"{self.kind}({', '.join(map(str, given))})"


def minimum_rows(count: int, *, severity: str = "error") -> Check:
    """At least this many rows."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise BadInput(f"minimum_rows({count!r}): the count must be a whole number, 0 or more")
    return _check("minimum_rows", "", (count,), severity)


def at_least(share: float = 0.9, *, severity: str = "error") -> Check:
    """At least this share of the last version's rows; passes when there is no last version."""
    # Converted through its text, so that 0.9 is nine tenths and not the nearest double.
    exact = Decimal(str(share)) if isinstance(share, int | float | Decimal) else Decimal("NaN")
    if isinstance(share, bool) or not exact.is_finite() or exact <= 0:
        raise BadInput(f"at_least({share!r}): the share must be a number above 0, such as 0.9")
    return _check("at_least", "", (exact,), severity)


def not_wholly_null(*columns: str, severity: str = "error") -> Check:
    """No column, or none of the named ones, is entirely NULL, unless there are no rows."""
    return _check("not_wholly_null", "", columns, severity)


def not_null(column: str, *, severity: str = "error") -> Check:
    """The column has no NULL; implied by NOT NULL and PRIMARY KEY."""
    return _check("not_null", column, (), severity)


def accepted(column: str, values: Iterable[Any], *, severity: str = "error") -> Check:
    """The column has only these values, or NULL."""
    if isinstance(values, str | bytes):
        raise BadInput(f"accepted({column!r}, {values!r}): give a list of values")
    return _check("accepted", column, tuple(values), severity)


def between(column: str, low: Any, high: Any, *, severity: str = "error") -> Check:
    """All values except NULL are between low and high, inclusive; None leaves that side open."""
    if low is None and high is None:
        raise BadInput(f"between({column!r}, None, None): give at least one bound")
    return _check("between", column, (low, high), severity)


def fresh(column: str, span: str | float | timedelta, *, severity: str = "error") -> Check:
    """The largest value is at most this span (`"2 days"`, `"36h"`) older than the interval's end."""
    return _check("fresh", column, (_seconds(span),), severity)


def unique(*columns: str, severity: str = "error") -> Check:
    """No two rows are equal in all these columns; NULL equals nothing. Costs a pass over the data."""
    if not columns:
        raise BadInput("unique(): name at least one column")
    return _check("unique", "", columns, severity)


def sql(condition: str, *, severity: str = "error") -> Check:
    """The boolean SQL is not false for any row; NULL passes, as in a CHECK constraint."""
    if not isinstance(condition, str) or not condition.strip():
        raise BadInput(f"sql({condition!r}): give a boolean SQL expression")
    return _check("sql", "", (condition,), severity)


def _check(kind: str, column: str, values: tuple[Any, ...], severity: str) -> Check:
    if severity not in SEVERITIES:
        raise BadInput(f"check {kind}: severity {severity!r} is not one of {', '.join(SEVERITIES)}")
    named = values if kind in ABOUT_COLUMNS else (column,)
    if not all(isinstance(name, str) for name in named):
        raise BadInput(f"check {kind}: {named!r} are not column names")
    return Check(kind, column, values, severity)


def _seconds(span: object) -> float:
    if isinstance(span, timedelta):
        return parse_seconds(span.total_seconds())
    found = _WORDED_SPAN.fullmatch(span.strip()) if isinstance(span, str) else None
    if found is None:
        return parse_seconds(span)
    size = {"week": 604_800, "day": 86_400, "hour": 3600, "minute": 60, "second": 1}[found[2].lower()]
    return parse_seconds(int(found[1]) * size)


def shown_values(values: Iterable[Any]) -> str:
    """Values formatted for evidence."""
    return ", ".join(quoted(value) if isinstance(value, str) else str(value) for value in values)
