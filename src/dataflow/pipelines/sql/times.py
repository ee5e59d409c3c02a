"""Dates, times, zones and intervals. Assumes that the sessions of Spark and PostgreSQL use UTC."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import call_function, cast
from dataflow.pipelines.sql.types import (
    DATE,
    INTEGER,
    INTERVAL,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
    numeric,
)
from dataflow.pipelines.sql.work import Handler, Typed, Work

_DAY = "86400000000L"
_TRUNCATIONS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")
_FIELDS = {
    "quarter": "QUARTER({})",
    "month": "MONTH({})",
    "week": "WEEKOFYEAR({})",
    "day": "DAY({})",
    "doy": "DAYOFYEAR({})",
    "dow": "(DAYOFWEEK({}) - 1)",
    "isodow": "(WEEKDAY({}) + 1)",
    "year": "(YEAR({0}) - CASE WHEN YEAR({0}) < 1 THEN 1 ELSE 0 END)",  # PostgreSQL has no year 0
}


def _truncate(work: Work, node: exp.Anonymous) -> Typed:
    values = [work.expression(each) for each in node.expressions]
    unit = values[0].constant.lower() if values and values[0].constant else ""
    if len(values) == 2 and unit in _TRUNCATIONS and values[1].type.is_time:
        time = cast(work, values[1], TIMESTAMPTZ, node) if values[1].type == DATE else values[1]
        cut = f"DATE_TRUNC('{unit}', {time.sql})"
        return Typed(f"CAST({cut} AS TIMESTAMP_NTZ)" if time.type == TIMESTAMP else cut, time.type)
    return call_function(work, "date_trunc", values, node)


def _extract(work: Work, node: exp.Extract) -> Typed:
    field, value = node.this.name.lower(), work.expression(node.expression)
    if value.type.is_time and field in _FIELDS:
        kind = numeric(10, 0)
        return Typed(f"CAST({_FIELDS[field].format(value.sql)} AS {kind.spark})", kind)
    return call_function(work, "extract", [Typed(f"'{field}'", TEXT, field), value], node)


def _at_zone(work: Work, node: exp.AtTimeZone) -> Typed:
    value, zone = work.expression(node.this), work.expression(node.args["zone"])
    if value.type.name in ("unknown", "date"):
        value = cast(work, value, TIMESTAMPTZ, node)
    return call_function(work, "timezone", [zone, value], node)


def _interval(work: Work, node: exp.Interval) -> Typed:
    unit = node.args.get("unit")
    if not isinstance(node.this, exp.Literal) or not node.this.is_string:
        work.refuse(node, "is an interval that is not a literal; write interval '1 day' * x instead")
    text = f"{node.this.name} {unit.name}" if unit is not None else node.this.name
    return cast(work, Typed("", SqlType("unknown"), text), INTERVAL, node)


def add_times(work: Work, word: str, left: Typed, right: Typed, node: exp.Expr) -> Typed | None:
    """Sum or difference of dates, times and intervals that Spark computes itself; None for anything else."""
    if word == "+" and right.type.is_time and not left.type.is_time:
        left, right = right, left
    if not left.type.is_time:
        return None
    if right.type.name == "interval":
        return _shift(work, word, left, right, node)
    if left.type == DATE and right.type.name in ("smallint", "integer"):
        return Typed(f"DATE_{'ADD' if word == '+' else 'SUB'}({left.sql}, {right.sql})", DATE)
    if word == "-" and right.type.name == "unknown":
        right = cast(work, right, left.type, node)
    if word == "-" and right.type.is_time:
        return _subtract(work, left, right, node)
    return None


def _shift(work: Work, word: str, time: Typed, interval: Typed, node: exp.Expr) -> Typed:
    if time.type == DATE:
        time = cast(work, time, TIMESTAMP, node)
    months, days, micros = (f"{interval.sql}.{field}" for field in ("months", "days", "micros"))
    seconds = f"CAST(CAST({micros} AS DECIMAL(20, 0)) / CAST(1000000 AS DECIMAL(7, 0)) AS DECIMAL(18, 6))"
    # One after the other, in PostgreSQL's order.
    shifted = f"({time.sql} {word} MAKE_INTERVAL(0, {months}, 0, {days}, 0, 0, {seconds}))"
    return Typed(shifted, time.type)


def _subtract(work: Work, left: Typed, right: Typed, node: exp.Expr) -> Typed:
    if left.type == right.type == DATE:
        return Typed(f"DATEDIFF({left.sql}, {right.sql})", INTEGER)
    micros = [f"UNIX_MICROS({cast(work, each, TIMESTAMPTZ, node).sql})" for each in (left, right)]
    gap = f"({micros[0]} - {micros[1]})"
    fields = f"'days', CAST({gap} DIV {_DAY} AS INT), 'micros', {gap} % {_DAY}"
    return Typed(f"CASE WHEN {gap} IS NOT NULL THEN NAMED_STRUCT('months', 0, {fields}) END", INTERVAL)


def _current_time(work: Work, node: exp.Expr) -> Typed:
    if not isinstance(node, exp.Anonymous) and node.args.get("this") is not None:
        work.refuse(node, "rounds the current time; write date_trunc('second', now()) instead")
    if isinstance(node, exp.Localtimestamp):
        return Typed("CAST(CURRENT_TIMESTAMP() AS TIMESTAMP_NTZ)", TIMESTAMP)
    return Typed("CURRENT_TIMESTAMP()", TIMESTAMPTZ)


def _age(work: Work, node: exp.Anonymous) -> Typed:
    values = [work.expression(each) for each in node.expressions]
    if len(values) == 1:
        kind = TIMESTAMP if values[0].type == TIMESTAMP else TIMESTAMPTZ
        values = [cast(work, Typed("CURRENT_DATE()", DATE), kind, node), cast(work, values[0], kind, node)]
    return call_function(work, "age", values, node)


def _overlaps(work: Work, node: exp.Overlaps) -> Typed:
    sides = [side.expressions for side in (node.this, node.expression) if isinstance(side, exp.Tuple)]
    if [len(side) for side in sides] != [2, 2]:
        work.refuse(node, "needs two pairs of times, as in (a, b) OVERLAPS (c, d)")
    values = [work.expression(each) for side in sides for each in side]
    for place in (1, 3):
        if values[place].type.name == "interval":
            values[place] = _shift(work, "+", values[place - 1], values[place], node)
    return call_function(work, "overlaps", values, node)


HANDLERS: dict[type, Handler] = {
    exp.Overlaps: _overlaps,
    exp.Extract: _extract,
    exp.AtTimeZone: _at_zone,
    exp.Interval: _interval,
    exp.CurrentDate: lambda work, node: Typed("CURRENT_DATE()", DATE),
    **dict.fromkeys((exp.CurrentTimestamp, exp.Localtimestamp), _current_time),
}
FUNCTIONS: dict[str, Handler] = {"date_trunc": _truncate, "age": _age}
FUNCTIONS |= dict.fromkeys(("now", "transaction_timestamp", "statement_timestamp"), _current_time)
