"""PostgreSQL's interval: its text, arithmetic, order and rounding."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable

from dataflow.pipelines.pg_functions import floats
from dataflow.pipelines.pg_functions.floats import round_even
from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.signatures import Calls, Interval, swapped

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
OUT_OF_RANGE = "interval out of range"
# PostgreSQL uses these values for infinity.
_INFINITE = (Interval(2**31 - 1, 2**31 - 1, 2**63 - 1), Interval(-(2**31), -(2**31), -(2**63)))


def checked(months: int, days: int, micros: int) -> Interval:
    """Build an interval; ValueError if a field is out of range."""
    found = Interval(months, days, micros)
    if not (
        -(2**31) <= months < 2**31
        and -(2**31) <= days < 2**31
        and -(2**63) <= micros < 2**63
        and found not in _INFINITE
    ):
        raise ValueError(OUT_OF_RANGE)
    return found


def take_apart(value: Interval) -> tuple[int, int, int, int, int, int, int]:
    """Years, months, days, hours, minutes, seconds and microseconds, each with its own sign."""
    hours, rest = _cut_rest(value.micros, HOUR)
    minutes, rest = _cut_rest(rest, MINUTE)
    return *_cut_rest(value.months, 12), value.days, hours, minutes, *_cut_rest(rest, SECOND)


def show(value: Interval) -> str:
    """Format an interval in the style `postgres`."""
    years, months = _cut_rest(value.months, 12)
    parts: list[str] = []
    is_before = False
    for number, unit in ((years, "year"), (months, "mon"), (value.days, "day")):
        if number:
            plus = "+" if is_before and number > 0 else ""
            parts.append(f"{plus}{number} {unit}{'' if number == 1 else 's'}")
            is_before = number < 0
    if value.micros or not parts:
        sign = "-" if value.micros < 0 else "+" if is_before else ""
        parts.append(sign + show_clock(abs(value.micros)))
    return " ".join(parts)


def show_clock(micros: int) -> str:
    """Hours, minutes and seconds, with the fraction of a second if there is one."""
    seconds, fraction = divmod(micros, SECOND)
    shown = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return f"{shown}.{fraction:06d}".rstrip("0") if fraction else shown


def add(left: Interval, right: Interval) -> Interval:
    return checked(*map(operator.add, left, right))


def negate(value: Interval) -> Interval:
    return checked(*map(operator.neg, value))


def multiply(value: Interval, factor: float) -> Interval:
    if not math.isfinite(factor):
        raise ValueError(OUT_OF_RANGE)
    return _scaled(value, lambda number: number * factor)


def divide(value: Interval, divisor: float) -> Interval:
    if divisor == 0:
        raise ValueError("division by zero")
    if math.isnan(divisor):
        raise ValueError(OUT_OF_RANGE)
    return _scaled(value, lambda number: number / divisor)


def _scaled(value: Interval, scale: Callable[[float], float]) -> Interval:
    """Scale each field, and carry fractions of months and days down; in doubles, like PostgreSQL."""
    exact_months, exact_days = scale(value.months), scale(value.days)
    months, days = _fitting(exact_months, 31), _fitting(exact_days, 31)
    rest_days = _rounded((exact_months - months) * 30)
    rest_seconds = _rounded((exact_days - days + rest_days - int(rest_days)) * 86_400)
    if abs(rest_seconds) >= 86_400:
        days += int(rest_seconds / 86_400)
        rest_seconds -= int(rest_seconds / 86_400) * 86_400
    micros = round_even(scale(value.micros) + rest_seconds * SECOND)
    return checked(months, days + int(rest_days), _fitting(micros, 63))


def _fitting(value: float, bits: int) -> int:
    if not -(2.0**bits) <= value < 2.0**bits:
        raise ValueError(OUT_OF_RANGE)
    return int(value)


def _rounded(seconds: float) -> float:
    """Round to whole millionths, which hides most of the error of the doubles."""
    return round_even(seconds * 1_000_000.0) / 1_000_000.0


def sort_key(value: Interval) -> int:
    """The length with months of 30 days, by which PostgreSQL compares."""
    return (value.months * 30 + value.days) * DAY + value.micros


def justify_hours(value: Interval) -> Interval:
    days, micros = _cut_rest(value.micros, DAY)
    return checked(value.months, *_same_sign(value.days + days, micros, DAY))


def justify_days(value: Interval) -> Interval:
    months, days = _cut_rest(value.days, 30)
    return checked(*_same_sign(value.months + months, days, 30), value.micros)


def justify_interval(value: Interval) -> Interval:
    days, micros = _cut_rest(value.micros, DAY)
    months, days = _cut_rest(value.days + days, 30)
    months += value.months
    if months > 0 and (days < 0 or (days == 0 and micros < 0)):
        months, days = months - 1, days + 30
    elif months < 0 and (days > 0 or (days == 0 and micros > 0)):
        months, days = months + 1, days - 30
    return checked(months, *_same_sign(days, micros, DAY))


def _cut_rest(value: int, size: int) -> tuple[int, int]:
    """The quotient truncated toward zero, and the remainder."""
    whole = cut(value, size)
    return whole, value - whole * size


def _same_sign(large: int, small: int, size: int) -> tuple[int, int]:
    if large > 0 and small < 0:
        return large - 1, small + size
    if large < 0 and small > 0:
        return large + 1, small - size
    return large, small


def is_finite(_value: Interval | int) -> bool:
    """Always true: infinite intervals, dates and timestamps are refused when they are parsed."""
    return True


def make_interval(*values: float) -> Interval:
    """make_interval of years, months, weeks, days, hours, minutes and seconds; each defaults to 0."""
    *wholes, seconds = [*values, *[0.0] * (7 - len(values))]
    if not math.isfinite(seconds):
        raise ValueError(OUT_OF_RANGE)
    years, months, weeks, days, hours, minutes = map(int, wholes)
    checked(years * 12, weeks * 7, 0)
    micros = _fitting(round_even(floats.multiply(float(seconds), 1_000_000.0)), 63)
    return checked(years * 12 + months, weeks * 7 + days, hours * HOUR + minutes * MINUTE + micros)


SIGNATURES: Calls = {
    "cast(interval) -> text": show,
    "+(interval, interval) -> interval": add,
    "-(interval, interval) -> interval": lambda left, right: checked(*map(operator.sub, left, right)),
    "-(interval) -> interval": negate,
    "*(interval, double) -> interval": multiply,
    "*(double, interval) -> interval": swapped(multiply),
    "/(interval, double) -> interval": divide,
    "justify_hours(interval) -> interval": justify_hours,
    "justify_days(interval) -> interval": justify_days,
    "justify_interval(interval) -> interval": justify_interval,
    "isfinite(interval) -> boolean": is_finite,
    f"make_interval({'integer?, ' * 6}double?) -> interval": make_interval,
}
