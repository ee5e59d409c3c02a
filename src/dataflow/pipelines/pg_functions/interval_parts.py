"""Fields of an interval: extract, date_part, date_trunc and make_interval."""

from __future__ import annotations

import math
from decimal import Decimal

from dataflow.pipelines.pg_functions.datetime_fields import find_unit, find_word
from dataflow.pipelines.pg_functions.floats import multiply, round_even
from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.intervals import DAY, HOUR, MINUTE, OUT_OF_RANGE, SECOND, checked
from dataflow.pipelines.pg_functions.signatures import Interval, Signature

_MONTHS = {"millennium": 12_000, "century": 1200, "decade": 120, "year": 12, "quarter": 3, "month": 1}
_MICROS = {
    "day": DAY,
    "hour": HOUR,
    "minute": MINUTE,
    "second": SECOND,
    "millisecond": 1000,
    "microsecond": 1,
}
_YEAR_PARTS = {"millennium": 1000, "century": 100, "decade": 10, "year": 1}


def extract(field: str, value: Interval) -> Decimal:
    """A field as numeric."""
    unit = _find_field(field)
    if unit == "epoch":
        return scaled(_epoch_micros(value), 6)
    if unit in ("second", "millisecond"):
        return scaled(_seconds(value), 6 if unit == "second" else 3)
    return Decimal(_whole_part(unit, value, field))


def date_part(field: str, value: Interval) -> float:
    """A field as double."""
    unit = _find_field(field)
    if unit == "epoch":
        years = cut(value.months, 12)
        found = value.micros / 1_000_000.0 + (365.25 * 86_400) * years
        return found + (30.0 * 86_400) * (value.months - years * 12) + 86_400.0 * value.days
    if unit in ("second", "millisecond"):
        whole, rest = divmod(abs(_seconds(value)), SECOND)
        found = whole + rest / 1_000_000.0 if unit == "second" else whole * 1000.0 + rest / 1000.0
        return math.copysign(found, value.micros) if found else 0.0
    return float(_whole_part(unit, value, field))


def scaled(number: int, scale: int) -> Decimal:
    """An integer number of fractions as numeric with that scale."""
    return Decimal(number).scaleb(-scale)


def _find_field(field: str) -> str:
    lowered = field.lower()
    if (unit := find_unit(lowered)) and unit != "ago":
        return unit
    kind, value = find_word(lowered) or ("", "")
    if (kind, value) == ("reserved", "epoch"):
        return "epoch"
    if kind == "unit":
        return str(value)
    raise ValueError(f'unit "{lowered}" not recognized for type interval')


def _whole_part(unit: str, value: Interval, field: str) -> int:
    years = cut(value.months, 12)
    months = value.months - years * 12
    if unit in _YEAR_PARTS:
        return cut(years, _YEAR_PARTS[unit])
    if unit == "quarter":
        return cut(months, 3) + (1 if value.months >= 0 else -1)
    if unit in ("month", "day", "week"):
        return {"month": months, "day": value.days, "week": cut(value.days, 7)}[unit]
    if unit == "hour":
        return cut(value.micros, HOUR)
    if unit == "minute":
        return cut(value.micros, MINUTE) - cut(value.micros, HOUR) * 60
    if unit == "microsecond":
        return _seconds(value)
    raise ValueError(f'unit "{field.lower()}" not supported for type interval')


def _seconds(value: Interval) -> int:
    """The remainder of a minute, in microseconds."""
    return value.micros - cut(value.micros, MINUTE) * MINUTE


def _epoch_micros(value: Interval) -> int:
    """The epoch, with 365.25 days per year and 30 per month."""
    years = cut(value.months, 12)
    quarters_of_day = 1461 * years + 120 * (value.months - years * 12) + 4 * value.days
    return quarters_of_day * (DAY // 4) + value.micros


def truncate(field: str, value: Interval) -> Interval:
    """date_trunc."""
    unit = find_unit(field.lower())
    if unit is None or unit == "ago":
        raise ValueError(f'unit "{field.lower()}" not recognized for type interval')
    if unit in _MONTHS:
        return checked(cut(value.months, _MONTHS[unit]) * _MONTHS[unit], 0, 0)
    if unit not in _MICROS:
        raise ValueError(f'unit "{field.lower()}" not supported for type interval')
    micros = 0 if unit == "day" else cut(value.micros, _MICROS[unit]) * _MICROS[unit]
    return checked(value.months, value.days, micros)


def make_interval(*values: float) -> Interval:
    """make_interval of years, months, weeks, days, hours, minutes and seconds; each defaults to 0."""
    *wholes, seconds = [*values, *[0.0] * (7 - len(values))]
    if not math.isfinite(seconds):
        raise ValueError(OUT_OF_RANGE)
    years, months, weeks, days, hours, minutes = map(int, wholes)
    checked(years * 12, weeks * 7, 0)
    micros = round_even(multiply(float(seconds), 1_000_000.0))
    if not -(2.0**63) <= micros < 2.0**63:
        raise ValueError(OUT_OF_RANGE)
    return checked(years * 12 + months, weeks * 7 + days, hours * HOUR + minutes * MINUTE + int(micros))


_MAKE = (*("integer",) * 6, "double")

SIGNATURES: tuple[Signature, ...] = (
    Signature("extract", ("text", "interval"), "numeric", extract),
    Signature("date_part", ("text", "interval"), "double", date_part),
    Signature("date_trunc", ("text", "interval"), "interval", truncate),
    *(Signature("make_interval", _MAKE[:count], "interval", make_interval) for count in range(8)),
)
