"""Dates and timestamps: formatting, casts, arithmetic and construction; the session's time zone is UTC."""

from __future__ import annotations

import math
import operator
from typing import Any

from dataflow.pipelines.pg_functions.civil import (
    END_DATE,
    END_TIMESTAMP,
    EPOCH_JULIAN,
    MIN_DAY,
    MIN_TIMESTAMP,
    POSTGRES_EPOCH,
    add_months,
    check_timestamp,
    clock,
    days_in_month,
    find_days,
    from_days,
    is_julian,
    take_apart,
    to_days,
    to_micros,
)
from dataflow.pipelines.pg_functions.datetime_text import parse_date, parse_timestamp, parse_timestamptz
from dataflow.pipelines.pg_functions.floats import round_even
from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.intervals import (
    DAY,
    SECOND,
    checked,
    is_finite,
    justify_hours,
    negate,
    show_clock,
)
from dataflow.pipelines.pg_functions.signatures import Interval, Signature, declare, declare_each, swapped
from dataflow.pipelines.pg_functions.zones import zone_for_making


def show_date(days: int) -> str:
    year, month, day = from_days(days)
    return _with_era(year, f"{month:02d}-{day:02d}", "")


def show_timestamp(micros: int, zone: str = "") -> str:
    year, month, day = from_days(micros // DAY)
    return _with_era(year, f"{month:02d}-{day:02d} {show_clock(micros % DAY)}", zone)


def show_timestamptz(micros: int) -> str:
    return show_timestamp(micros, "+00")


def _with_era(year: int, rest: str, zone: str) -> str:
    return f"{year:04d}-{rest}{zone}" if year > 0 else f"{1 - year:04d}-{rest}{zone} BC"


def date_to_timestamp(days: int) -> int:
    if days * DAY >= END_TIMESTAMP:
        raise ValueError("date out of range for timestamp")
    return days * DAY


def to_precision(micros: int, digits: int) -> int:
    """Round to timestamp(digits), away from 2000-01-01."""
    size: int = 10 ** (6 - min(max(digits, 0), 6))
    since = micros - POSTGRES_EPOCH
    half = size // 2 if since >= 0 else -(size // 2)
    return cut(since + half, size) * size + POSTGRES_EPOCH


def add_days(days: int, count: int) -> int:
    return _check_date(days + count)


def subtract_days(days: int, count: int) -> int:
    return _check_date(days - count)


def _check_date(days: int) -> int:
    if not MIN_DAY <= days < END_DATE:
        raise ValueError("date out of range")
    return days


def add_interval(micros: int, span: Interval) -> int:
    """Add the months, then the days, then the time; each step must be a valid timestamp."""
    if span.months:
        moment = take_apart(micros)
        year, month, day = add_months(moment.year, moment.month, moment.day, span.months)
        micros = check_timestamp(to_micros(moment._replace(year=year, month=month, day=day)))
    if span.days:
        if micros // DAY + span.days + EPOCH_JULIAN >= 2**31:
            raise ValueError("timestamp out of range")
        micros = check_timestamp(micros + span.days * DAY)
    return check_timestamp(micros + span.micros)


def subtract_interval(micros: int, span: Interval) -> int:
    return add_interval(micros, negate(span))


def add_interval_to_date(days: int, span: Interval) -> int:
    return add_interval(date_to_timestamp(days), span)


def subtract_interval_from_date(days: int, span: Interval) -> int:
    return subtract_interval(date_to_timestamp(days), span)


def timestamp_difference(left: int, right: int) -> Interval:
    """The difference in days and time, without months."""
    return justify_hours(checked(0, 0, left - right))


def age(left: int, right: int) -> Interval:
    """The difference in years, months, days and time, by the calendar."""
    sign = -1 if left < right else 1
    later, earlier = take_apart(max(left, right)), take_apart(min(left, right))
    micros = clock(*later[3:]) - clock(*earlier[3:])
    days = later.day - earlier.day
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    if micros < 0:
        micros, days = micros + DAY, days - 1
    while days < 0:
        days, months = days + days_in_month(earlier.year, earlier.month), months - 1
    return checked(sign * months, sign * days, sign * micros)


def bin_timestamp(stride: Interval, micros: int, origin: int) -> int:
    """date_bin: the start of the stride, counted from the origin, that contains the timestamp."""
    if stride.months:
        raise ValueError("timestamps cannot be binned into intervals containing months or years")
    size = checked(0, 0, stride.days * DAY + stride.micros).micros
    if size <= 0:
        raise ValueError("stride must be greater than zero")
    since = checked(0, 0, micros - origin).micros
    return check_timestamp(origin + since // size * size)


def make_date(year: int, month: int, day: int) -> int:
    astronomical = _valid_year(year, month, day)
    shown = _date_text(year + 1 if -(2**31) < year < 0 else year, month, day)
    if astronomical is None:
        raise ValueError(f"date field value out of range: {shown}")
    days = find_days(astronomical, month, day)
    if days is None:
        raise ValueError(f"date out of range: {shown}")
    return days


def make_timestamp(*parts: float) -> int:
    """make_timestamp of year, month, day, hour, minute and seconds."""
    year, month, day, hour, minute = map(int, parts[:5])
    seconds = parts[5]
    shown = _date_text(year, month, day)
    astronomical = _valid_year(year, month, day)
    if astronomical is None:
        raise ValueError(f"date field value out of range: {shown}")
    if not is_julian(astronomical, month):
        raise ValueError(f"date out of range: {shown}")
    time = f"{hour}:{minute:02d}:{_seconds_text(seconds)}"
    if _time_overflows(hour, minute, seconds):
        raise ValueError(f"time field value out of range: {time}")
    micros = to_days(astronomical, month, day) * DAY
    micros += clock(hour, minute, 0, int(round_even(seconds * 1_000_000.0)))
    if not MIN_TIMESTAMP <= micros < END_TIMESTAMP:
        raise ValueError(f"timestamp out of range: {shown} {time}")
    return micros


def make_timestamptz(*parts: Any) -> int:
    """Like make_timestamp, in UTC or in the zone given last."""
    micros = make_timestamp(*parts[:6])
    if len(parts) == 6:
        return micros
    return check_timestamp(micros - zone_for_making(parts[6]).offset_of_local(micros // SECOND) * SECOND)


def _valid_year(year: int, month: int, day: int) -> int | None:
    """The year with 1 BC as 0; None if there is no such date."""
    if year in (0, -(2**31)) or not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    astronomical = year if year > 0 else year + 1
    return astronomical if day <= days_in_month(astronomical, month) else None


def _time_overflows(hour: int, minute: int, seconds: float) -> bool:
    if not (0 <= hour <= 24 and 0 <= minute <= 59) or math.isnan(seconds) or not 0 <= seconds <= 60:
        return True
    micros = round_even(seconds * 1_000_000.0)
    return micros < 0 or micros > 60 * SECOND or clock(hour, minute, 0, int(micros)) > DAY


def _date_text(year: int, month: int, day: int) -> str:
    return f"{year}-{month:02d}-{day:02d}"


def _seconds_text(seconds: float) -> str:
    """Format like C's %02g."""
    text = f"{seconds:g}"
    names = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    return names.get(text, text.zfill(2))


def from_epoch(seconds: float) -> int:
    """to_timestamp of seconds since 1970; like PostgreSQL, it computes from 2000."""
    if math.isnan(seconds):
        raise ValueError("timestamp cannot be NaN")
    if math.isinf(seconds):
        raise ValueError("infinite dates and timestamps are not supported; write '9999-12-31'")
    if not MIN_TIMESTAMP / 1e6 <= seconds < END_TIMESTAMP / 1e6:
        raise ValueError(f'timestamp out of range: "{seconds:g}"')
    micros = int(round_even((seconds - POSTGRES_EPOCH // SECOND) * 1e6)) + POSTGRES_EPOCH
    if not MIN_TIMESTAMP <= micros < END_TIMESTAMP:
        raise ValueError(f'timestamp out of range: "{seconds:g}"')
    return micros


def overlaps(
    start: int | None, end: int | None, other_start: int | None, other_end: int | None
) -> bool | None:
    """Whether two periods overlap; a period with a missing end consists of its known end."""
    first, second = _ordered(start, end), _ordered(other_start, other_end)
    if first[0] is None or second[0] is None:
        return None
    if first[0] == second[0]:
        return None if first[1] is None or second[1] is None else True
    later, earlier = (first, second) if first[0] > second[0] else (second, first)
    if earlier[1] is None or later[0] is None:
        return None
    if later[0] < earlier[1]:
        return True
    return None if later[1] is None else False


def _ordered(start: int | None, end: int | None) -> tuple[int | None, int | None]:
    if start is None:
        return end, None
    return (end, start) if end is not None and start > end else (start, end)


def overlaps_spans(
    start: int | None, span: Interval | None, other_start: int | None, other_span: Interval | None
) -> bool | None:
    """The same for periods given by start and length."""
    return overlaps(start, _end_of(start, span), other_start, _end_of(other_start, other_span))


def _end_of(start: int | None, span: Interval | None) -> int | None:
    return None if start is None or span is None else add_interval(start, span)


_STAMPS = ("timestamp", "timestamptz")
_MAKE = (*("integer",) * 5, "double")

SIGNATURES: tuple[Signature, ...] = (
    *declare("cast(text) -> date", parse_date),
    *declare("cast(text) -> timestamp", parse_timestamp),
    *declare("cast(text) -> timestamptz", parse_timestamptz),
    *declare("cast(date) -> text", show_date),
    *declare("cast(timestamp) -> text", show_timestamp),
    *declare("cast(timestamptz) -> text", show_timestamptz),
    *declare("+(date, integer) -> date", add_days),
    *declare("+(integer, date) -> date", swapped(add_days)),
    *declare("-(date, integer) -> date", subtract_days),
    *declare("-(date, date) -> integer", operator.sub),
    *declare("+(date, interval) -> timestamp", add_interval_to_date),
    *declare("+(interval, date) -> timestamp", swapped(add_interval_to_date)),
    *declare("-(date, interval) -> timestamp", subtract_interval_from_date),
    *declare("isfinite(date) -> boolean", is_finite),
    *declare("make_date(integer, integer, integer) -> date", make_date),
    *declare(
        "make_timestamp(integer, integer, integer, integer, integer, double) -> timestamp", make_timestamp
    ),
    *declare(
        "make_timestamptz(integer, integer, integer, integer, integer, double) -> timestamptz",
        make_timestamptz,
    ),
    *declare(
        "make_timestamptz(integer, integer, integer, integer, integer, double, text) -> timestamptz",
        make_timestamptz,
    ),
    *declare("to_timestamp(double) -> timestamptz", from_epoch),
    *declare_each("+({}, interval) -> {}", dict.fromkeys(_STAMPS, add_interval)),
    *declare_each("+(interval, {}) -> {}", dict.fromkeys(_STAMPS, swapped(add_interval))),
    *declare_each("-({}, interval) -> {}", dict.fromkeys(_STAMPS, subtract_interval)),
    *declare_each("-({}, {}) -> interval", dict.fromkeys(_STAMPS, timestamp_difference)),
    *declare_each("age({}, {}) -> interval", dict.fromkeys(_STAMPS, age)),
    *declare_each("date_bin(interval, {}, {}) -> {}", dict.fromkeys(_STAMPS, bin_timestamp)),
    *declare_each("isfinite({}) -> boolean", dict.fromkeys(_STAMPS, is_finite)),
    *declare_each("overlaps({}, {}, {}, {}) -> boolean", dict.fromkeys(_STAMPS, overlaps), strict=False),
    *declare_each(
        "overlaps({}, interval, {}, interval) -> boolean",
        dict.fromkeys(_STAMPS, overlaps_spans),
        strict=False,
    ),
)
