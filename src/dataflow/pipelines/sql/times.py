"""Dates, times, zones and intervals; a session in UTC is taken for granted, in Spark and in PostgreSQL."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast
from dataflow.pipelines.sql.types import (
    DATE,
    DOUBLE,
    INTEGER,
    INTEGERS,
    MONTHS,
    SPAN,
    TIMES,
    TIMESTAMP,
    TIMESTAMPTZ,
    SqlType,
    numeric,
)
from dataflow.pipelines.sql.work import Handler, Typed, Work

_TRUNCATIONS = (
    "MICROSECOND",
    "MILLISECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "DAY",
    "WEEK",
    "MONTH",
    "QUARTER",
    "YEAR",
)
_WITHIN_DAY = _TRUNCATIONS[:5]
_UNITS = {"year": (12, 0, 0), "month": (1, 0, 0), "week": (0, 7, 0), "day": (0, 1, 0)}
_UNITS |= {"hour": (0, 0, 3600), "minute": (0, 0, 60), "second": (0, 0, 1)}
_SHORT_UNITS = {
    "y": "year",
    "mon": "month",
    "mons": "month",
    "d": "day",
    "h": "hour",
    "hr": "hour",
    "hrs": "hour",
}
_SHORT_UNITS |= {
    "min": "minute",
    "mins": "minute",
    "sec": "second",
    "secs": "second",
    "s": "second",
    "m": "minute",
}
_INTERVALS = {SPAN.name, MONTHS.name}
_FIELDS = {
    "YEAR": "(YEAR({0}) - CASE WHEN YEAR({0}) < 1 THEN 1 ELSE 0 END)",  # there is no year 0
    "QUARTER": "QUARTER({})",
    "MONTH": "MONTH({})",
    "WEEK": "WEEKOFYEAR({})",
    "DAY": "DAY({})",
    "DOY": "DAYOFYEAR({})",
    "DOW": "(DAYOFWEEK({}) - 1)",
    "ISODOW": "(WEEKDAY({}) + 1)",
    "ISOYEAR": "(EXTRACT(YEAROFWEEK FROM {0}) - INT(EXTRACT(YEAROFWEEK FROM {0}) < 1))",
    "HOUR": "HOUR({})",
    "MINUTE": "MINUTE({})",
}


# From before the first zone left the sun's time until the rules of today repeat themselves.
_FIRST_CHANGE, _DAYS_OF_CHANGES = datetime(1840, 1, 1, tzinfo=UTC), 366 * 200


def _truncate(work: Work, node: exp.TimestampTrunc) -> Typed:
    unit = node.args["unit"].name.upper()
    if unit.removesuffix("S") in _TRUNCATIONS:
        unit = unit.removesuffix("S")
    if unit not in _TRUNCATIONS:
        work.refuse(node, f"cuts to {unit.lower()}")
    value = _as_time(work, work.expression(node.this), node)
    if zone := node.args.get("zone"):
        value = cast(work, value, TIMESTAMPTZ, node)
        name = _zone(work, zone, node)
        local = f"FROM_UTC_TIMESTAMP({value.sql}, {name})"
        cut = f"DATE_TRUNC('{unit}', {local})"
        if unit in _WITHIN_DAY:
            # The offset stays what it was, also in an hour that clocks show twice.
            return Typed(f"({value.sql} - ({local} - {cut}))", TIMESTAMPTZ)
        return Typed(_from_local(cut, name), TIMESTAMPTZ)
    cut = f"DATE_TRUNC('{unit}', {value.sql})"
    return Typed(f"CAST({cut} AS TIMESTAMP_NTZ)" if value.type == TIMESTAMP else cut, value.type)


def _as_time(work: Work, value: Typed, node: exp.Expr) -> Typed:
    """Dates are times at midnight UTC, as PostgreSQL prefers for functions of times."""
    if value.type.name in ("unknown", "date"):
        return cast(work, value, TIMESTAMPTZ, node)
    if value.type.name not in TIMES:
        work.refuse(node, f"needs a date or time, not {value.type.postgres}")
    return value


def _extract(work: Work, node: exp.Extract) -> Typed:
    return _part(work, node, node.this.name.upper(), work.expression(node.expression))


def _date_part(work: Work, node: exp.Anonymous) -> Typed:
    field, value = node.expressions
    found = _part(work, node, field.name.upper(), work.expression(value))
    return Typed(f"CAST({found.sql} AS DOUBLE)", DOUBLE)


def _part(work: Work, node: exp.Expr, field: str, value: Typed) -> Typed:
    if value.type == SPAN:
        return _span_part(work, node, field, value)
    time = value if value.type == DATE else _as_time(work, value, node)
    if field == "EPOCH":
        micros = f"UNIX_MICROS({cast(work, time, TIMESTAMPTZ, node).sql})"
        kind = numeric(20, 6)
        return Typed(
            f"CAST(CAST({micros} AS DECIMAL(20, 0)) / CAST(1000000 AS DECIMAL(7, 0)) AS {kind.spark})", kind
        )
    if field == "SECOND" and time.type != DATE:
        kind = numeric(8, 6)
        return Typed(f"CAST(EXTRACT(SECOND FROM {time.sql}) AS {kind.spark})", kind)
    if field not in _FIELDS or (time.type == DATE and field in ("HOUR", "MINUTE")):
        work.refuse(node, f"takes {field.lower()} of {time.type.postgres}")
    kind = numeric(10, 0)
    return Typed(f"CAST({_FIELDS[field].format(time.sql)} AS {kind.spark})", kind)


def _span_part(work: Work, node: exp.Expr, field: str, value: Typed) -> Typed:
    if field == "EPOCH":
        whole = numeric(20, 6)
        return Typed(
            f"CAST(EXTRACT(DAY FROM {value.sql}) * 86400 + EXTRACT(HOUR FROM {value.sql}) * 3600 + "
            f"EXTRACT(MINUTE FROM {value.sql}) * 60 + EXTRACT(SECOND FROM {value.sql}) AS {whole.spark})",
            whole,
        )
    if field not in ("DAY", "HOUR", "MINUTE"):
        work.refuse(node, f"takes {field.lower()} of an interval")
    kind = numeric(10, 0)
    return Typed(f"CAST(EXTRACT({field} FROM {value.sql}) AS {kind.spark})", kind)


def _zone(work: Work, zone: exp.Expr, node: exp.Expr) -> str:
    name = work.expression(zone).constant
    if name is None or name not in available_timezones() or not (name in ("UTC", "GMT") or "/" in name):
        # Abbreviations mean other things to Java, and signs of POSIX zones are the other way round.
        work.refuse(node, "needs a time zone written out as in 'Europe/London'")
    return f"'{name}'"


def _at_zone(work: Work, node: exp.AtTimeZone) -> Typed:
    value, zone = work.expression(node.this), _zone(work, node.args["zone"], node)
    value = _as_time(work, value, node)
    if value.type == TIMESTAMP:
        return Typed(_from_local(f"CAST({value.sql} AS TIMESTAMP)", zone), TIMESTAMPTZ)
    return Typed(f"CAST(FROM_UTC_TIMESTAMP({value.sql}, {zone}) AS TIMESTAMP_NTZ)", TIMESTAMP)


def _from_local(local: str, zone: str) -> str:
    """A time that clocks show twice is the later one to PostgreSQL, the earlier one to Spark."""
    earlier = f"TO_UTC_TIMESTAMP({local}, {zone})"
    later = [f"({earlier} + INTERVAL '{seconds}' SECOND)" for seconds in _set_back(zone.strip("'"))]
    tests = " ".join(f"WHEN FROM_UTC_TIMESTAMP({each}, {zone}) = {local} THEN {each}" for each in later)
    return f"CASE {tests} ELSE {earlier} END" if later else earlier


@cache
def _set_back(zone: str) -> tuple[int, ...]:
    """By how many seconds the clocks of a zone were ever put back, or will be by its present rules."""
    days = [_FIRST_CHANGE + timedelta(days=number) for number in range(0, _DAYS_OF_CHANGES, 7)]
    offsets = [day.astimezone(ZoneInfo(zone)).utcoffset() or timedelta() for day in days]
    falls = {int((before - after).total_seconds()) for before, after in pairwise(offsets) if after < before}
    return tuple(sorted(falls, reverse=True))


def _interval(work: Work, node: exp.Interval) -> Typed:
    if not isinstance(node.this, exp.Literal) or not node.this.is_string:
        work.refuse(node, "is an interval that is not written out")
    return read_interval(work, f"{node.this.name} {node.args['unit'].name}", node)


def read_interval(work: Work, text: str, node: exp.Expr) -> Typed:
    """An interval written out, as months, days and seconds."""
    if not re.fullmatch(r"\s*([+-]?\d+\s*[a-z]+(\s+|$))+", text.lower(), re.ASCII):
        work.refuse(node, "is an interval that is not written like '1 year 2 months 3 days 4 hours'")
    totals = [0, 0, 0]
    for count, word in re.findall(r"([+-]?\d+)\s*([a-z]+)", text.lower()):
        unit = _SHORT_UNITS.get(word, word.removesuffix("s"))
        if unit not in _UNITS:
            work.refuse(node, f"has the unit {word}")
        totals = [total + int(count) * size for total, size in zip(totals, _UNITS[unit], strict=True)]
    return _make(totals)


def cast_interval(work: Work, node: exp.Cast) -> Typed:
    """`'1 month'::interval`."""
    if not isinstance(node.this, exp.Literal) or node.args["to"].expressions:
        work.refuse(node, "casts to interval, which only works for an interval written out")
    return read_interval(work, node.this.name, node)


def _make(totals: list[int], count: str = "1") -> Typed:
    months, days, seconds = (f"CAST({total} * ({count}) AS INT)" for total in totals)
    written = ":".join(map(str, totals))
    if totals[0]:
        return Typed(f"MAKE_INTERVAL(0, {months}, 0, {days}, 0, 0, {seconds})", MONTHS, written)
    return Typed(f"MAKE_DT_INTERVAL({days}, 0, 0, {seconds})", SPAN, written)


def add_times(work: Work, node: exp.Binary, left: Typed, right: Typed) -> Typed | None:
    """Sum or difference in which a date, a time or an interval takes part; None if none does."""
    adding = isinstance(node, exp.Add)
    if adding and (right.type.name in TIMES) and left.type.name not in TIMES:
        left, right = right, left
    if left.type.name not in TIMES:
        if {left.type.name, right.type.name} & _INTERVALS:
            work.refuse(node, "calculates with intervals alone")
        return None
    if right.type.name in _INTERVALS:
        return _shift(work, node, left, right)
    if left.type == DATE and right.type.name in INTEGERS:
        return Typed(f"DATE_{'ADD' if adding else 'SUB'}({left.sql}, CAST({right.sql} AS INT))", DATE)
    if adding or right.type.name not in (*TIMES, "unknown"):
        work.refuse(node, f"calculates with {left.type.postgres} and {right.type.postgres}")
    return _subtract(work, node, left, right)


def _shift(work: Work, node: exp.Binary, time: Typed, interval: Typed) -> Typed:
    if time.type == DATE:
        time = cast(work, time, TIMESTAMP, node)
    word = "+" if isinstance(node, exp.Add) else "-"
    return Typed(f"({time.sql} {word} {interval.sql})", time.type)


def _subtract(work: Work, node: exp.Binary, left: Typed, right: Typed) -> Typed:
    if right.type.name == "unknown":
        right = cast(work, right, left.type, node)
    if left.type == right.type == DATE:
        return Typed(f"DATEDIFF({left.sql}, {right.sql})", INTEGER)
    latest: SqlType = max((left.type, right.type), key=lambda kind: TIMES.index(kind.name))
    left, right = (cast(work, each, latest, node) for each in (left, right))
    return Typed(f"({left.sql} - {right.sql})", SPAN)


def scale_interval(work: Work, node: exp.Mul, left: Typed, right: Typed) -> Typed | None:
    """`interval '1 day' * 3` either way round; None if no interval takes part."""
    interval, count = (left, right) if left.type.name in _INTERVALS else (right, left)
    if interval.type.name not in _INTERVALS:
        return None
    if interval.constant is None or count.type.name not in INTEGERS:
        work.refuse(node, "multiplies an interval; only one written out, times an integer, is translated")
    found = _make([int(total) for total in interval.constant.split(":")], count.sql)
    return Typed(found.sql, found.type)


def _current_date(work: Work, node: exp.CurrentDate) -> Typed:
    return Typed("CURRENT_DATE()", DATE)


def _current_time(work: Work, node: exp.CurrentTimestamp) -> Typed:
    if node.this is not None:
        work.refuse(node, "rounds the current time")
    return Typed("CURRENT_TIMESTAMP()", TIMESTAMPTZ)


HANDLERS: dict[type, Handler] = {
    exp.TimestampTrunc: _truncate,
    exp.Extract: _extract,
    exp.AtTimeZone: _at_zone,
    exp.Interval: _interval,
    exp.CurrentDate: _current_date,
    exp.CurrentTimestamp: _current_time,
}
FUNCTIONS: dict[str, Handler] = {"date_part": _date_part}
