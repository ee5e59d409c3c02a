"""Dates and timestamps: formatting, casts, arithmetic and construction; the session's time zone is UTC."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from dataflow.pipelines.pg_functions import civil, intervals
from dataflow.pipelines.pg_functions.datetime_text import parse_date, parse_timestamp, parse_timestamptz
from dataflow.pipelines.pg_functions.floats import SPECIAL_NAMES, round_even
from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.signatures import Calls, Interval, for_each, swapped
from dataflow.pipelines.pg_functions.zones import zone_for_making

STAMPS = ("timestamp", "timestamptz")


def show_date(days: int) -> str:
    year, month, day = civil.from_days(days)
    return _with_era(year, f"{month:02d}-{day:02d}", "")


def show_timestamp(micros: int, zone: str = "") -> str:
    year, month, day = civil.from_days(micros // intervals.DAY)
    return _with_era(year, f"{month:02d}-{day:02d} {intervals.show_clock(micros % intervals.DAY)}", zone)


def show_timestamptz(micros: int) -> str:
    return show_timestamp(micros, "+00")


def _with_era(year: int, rest: str, zone: str) -> str:
    return f"{year:04d}-{rest}{zone}" if year > 0 else f"{1 - year:04d}-{rest}{zone} BC"


def to_precision(micros: int, digits: int) -> int:
    """Round to timestamp(digits), away from 2000-01-01."""
    size: int = 10 ** (6 - min(max(digits, 0), 6))
    since = micros - civil.POSTGRES_EPOCH
    half = size // 2 if since >= 0 else -(size // 2)
    return cut(since + half, size) * size + civil.POSTGRES_EPOCH


def add_days(days: int, count: int) -> int:
    if not civil.MIN_DAY <= days + count < civil.END_DATE:
        raise ValueError("date out of range")
    return days + count


def add_interval(micros: int, span: Interval) -> int:
    """Add the months, then the days, then the time; each step must be a valid timestamp."""
    if span.months:
        moment = civil.take_apart(micros)
        year, month, day = civil.add_months(moment.year, moment.month, moment.day, span.months)
        micros = civil.check_timestamp(civil.to_micros(moment._replace(year=year, month=month, day=day)))
    if span.days:
        if micros // intervals.DAY + span.days + civil.EPOCH_JULIAN >= 2**31:
            raise ValueError("timestamp out of range")
        micros = civil.check_timestamp(micros + span.days * intervals.DAY)
    return civil.check_timestamp(micros + span.micros)


def subtract_interval(micros: int, span: Interval) -> int:
    return add_interval(micros, intervals.negate(span))


def _from_midnight(call: Callable[[int, Interval], int], days: int, span: Interval) -> int:
    if days * intervals.DAY >= civil.END_TIMESTAMP:
        raise ValueError("date out of range for timestamp")
    return call(days * intervals.DAY, span)


def _difference(left: int, right: int) -> Interval:
    """The difference in days and time, without months."""
    return intervals.justify_hours(intervals.checked(0, 0, left - right))


def age(left: int, right: int) -> Interval:
    """The difference in years, months, days and time, by the calendar."""
    sign = -1 if left < right else 1
    later, earlier = civil.take_apart(max(left, right)), civil.take_apart(min(left, right))
    micros = civil.clock(*later[3:]) - civil.clock(*earlier[3:])
    days = later.day - earlier.day
    months = (later.year - earlier.year) * 12 + later.month - earlier.month
    if micros < 0:
        micros, days = micros + intervals.DAY, days - 1
    while days < 0:
        days, months = days + civil.days_in_month(earlier.year, earlier.month), months - 1
    return intervals.checked(sign * months, sign * days, sign * micros)


def bin_timestamp(stride: Interval, micros: int, origin: int) -> int:
    """date_bin: the start of the stride, counted from the origin, that contains the timestamp."""
    if stride.months:
        raise ValueError("timestamps cannot be binned into intervals containing months or years")
    size = intervals.checked(0, 0, stride.days * intervals.DAY + stride.micros).micros
    if size <= 0:
        raise ValueError("stride must be greater than zero")
    since = intervals.checked(0, 0, micros - origin).micros
    return civil.check_timestamp(origin + since // size * size)


def make_date(year: int, month: int, day: int) -> int:
    shown = f"{year + 1 if -(2**31) < year < 0 else year}-{month:02d}-{day:02d}"
    days = civil.find_days(_valid_year(year, month, day, shown), month, day)
    if days is None:
        raise ValueError(f"date out of range: {shown}")
    return days


def make_timestamp(*parts: float) -> int:
    """make_timestamp of year, month, day, hour, minute and seconds."""
    year, month, day, hour, minute = map(int, parts[:5])
    seconds = parts[5]
    shown = f"{year}-{month:02d}-{day:02d}"
    astronomical = _valid_year(year, month, day, shown)
    if not civil.is_julian(astronomical, month):
        raise ValueError(f"date out of range: {shown}")
    written = f"{seconds:g}"  # like C's %02g
    time = f"{hour}:{minute:02d}:{SPECIAL_NAMES.get(written, written.zfill(2))}"
    is_possible = 0 <= hour <= 24 and 0 <= minute <= 59 and 0 <= seconds <= 60  # NaN is not
    clock = civil.clock(hour, minute, 0, int(round_even(seconds * 1e6))) if is_possible else 0
    if not is_possible or clock > intervals.DAY:
        raise ValueError(f"time field value out of range: {time}")
    micros = civil.to_days(astronomical, month, day) * intervals.DAY + clock
    return civil.check_timestamp(micros, f"{shown} {time}")


def make_timestamptz(*parts: Any) -> int:
    """Like make_timestamp, in UTC or in the zone given last."""
    micros = make_timestamp(*parts[:6])
    if len(parts) == 6:
        return micros
    return civil.check_timestamp(
        micros - zone_for_making(parts[6]).offset_of_local(micros // intervals.SECOND) * intervals.SECOND
    )


def _valid_year(year: int, month: int, day: int, shown: str) -> int:
    """The year with 1 BC as 0; ValueError if there is no such date."""
    astronomical = year if year > 0 else year + 1
    is_possible = year not in (0, -(2**31)) and 1 <= month <= 12 and 1 <= day <= 31
    if not is_possible or day > civil.days_in_month(astronomical, month):
        raise ValueError(f"date field value out of range: {shown}")
    return astronomical


def from_epoch(seconds: float) -> int:
    """to_timestamp of seconds since 1970; like PostgreSQL, it computes from 2000."""
    if math.isnan(seconds):
        raise ValueError("timestamp cannot be NaN")
    if math.isinf(seconds):
        raise ValueError("infinite dates and timestamps are not supported; write '9999-12-31'")
    since = round_even((seconds - civil.POSTGRES_EPOCH // intervals.SECOND) * 1e6)
    is_in_range = civil.MIN_TIMESTAMP / 1e6 <= seconds < civil.END_TIMESTAMP / 1e6
    micros = int(since) + civil.POSTGRES_EPOCH if is_in_range else civil.END_TIMESTAMP
    return civil.check_timestamp(micros, f'"{seconds:g}"')


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


SIGNATURES: Calls = {
    "cast(text) -> date": parse_date,
    "cast(text) -> timestamp": parse_timestamp,
    "cast(text) -> timestamptz": parse_timestamptz,
    "cast(date) -> text": show_date,
    "cast(timestamp) -> text": show_timestamp,
    "cast(timestamptz) -> text": show_timestamptz,
    "+(date, integer) -> date": add_days,
    "+(integer, date) -> date": swapped(add_days),
    "-(date, integer) -> date": lambda days, count: add_days(days, -count),
    "-(date, date) -> integer": operator.sub,
    "+(date, interval) -> timestamp": partial(_from_midnight, add_interval),
    "+(interval, date) -> timestamp": swapped(partial(_from_midnight, add_interval)),
    "-(date, interval) -> timestamp": partial(_from_midnight, subtract_interval),
    "isfinite(date) -> boolean": intervals.is_finite,
    "make_date(integer, integer, integer) -> date": make_date,
    f"make_timestamp({'integer, ' * 5}double) -> timestamp": make_timestamp,
    f"make_timestamptz({'integer, ' * 5}double, text?) -> timestamptz": make_timestamptz,
    "to_timestamp(double) -> timestamptz": from_epoch,
    **for_each("+({}, interval) -> {}", dict.fromkeys(STAMPS, add_interval)),
    **for_each("+(interval, {}) -> {}", dict.fromkeys(STAMPS, swapped(add_interval))),
    **for_each("-({}, interval) -> {}", dict.fromkeys(STAMPS, subtract_interval)),
    **for_each("-({}, {}) -> interval", dict.fromkeys(STAMPS, _difference)),
    **for_each("age({}, {}) -> interval", dict.fromkeys(STAMPS, age)),
    **for_each("date_bin(interval, {}, {}) -> {}", dict.fromkeys(STAMPS, bin_timestamp)),
    **for_each("isfinite({}) -> boolean", dict.fromkeys(STAMPS, intervals.is_finite)),
    **for_each("overlaps({}, {}, {}, {}) -> boolean with nulls", dict.fromkeys(STAMPS, overlaps)),
}
