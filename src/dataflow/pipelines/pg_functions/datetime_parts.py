"""Fields of dates, timestamps and intervals: extract, date_part and date_trunc."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import partial
from typing import TypeVar

from dataflow.pipelines.pg_functions import civil, numeric
from dataflow.pipelines.pg_functions.datetime_fields import find_unit, find_word
from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.intervals import DAY, HOUR, MINUTE, SECOND, checked, take_apart
from dataflow.pipelines.pg_functions.signatures import Calls, Interval, for_each
from dataflow.pipelines.pg_functions.zones import NamedTime, find_zone

Item = TypeVar("Item")
NAMES = {
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "date": "date",
    "interval": "interval",
}
LAST_EXACT = 2**63 - 1  # from here on, PostgreSQL computes the epoch with fewer digits
_CLOCK_UNITS = {"hour": HOUR, "minute": MINUTE, "second": SECOND, "millisecond": 1000, "microsecond": 1}
_YEAR_PARTS = {"millennium": 1000, "century": 100, "decade": 10, "year": 1}
_INTERVAL_MONTHS = {unit: 12 * years for unit, years in _YEAR_PARTS.items()} | {"quarter": 3, "month": 1}
_STAMPS = ("timestamp", "timestamptz")
_ZONE_UNITS = ("timezone", "timezone_hour", "timezone_minute")


def extract_from_date(field: str, days: int) -> Decimal:
    unit = _find_unit(field, "date")
    if unit == "epoch":
        return Decimal(days * 86_400)
    if unit == "julian":
        return Decimal(days + civil.EPOCH_JULIAN)
    return Decimal(_day_part(unit, days, field, "date"))


def extract_from_timestamp(kind: str, field: str, micros: int) -> Decimal:
    unit = _find_unit(field, kind)
    days, rest = divmod(micros, DAY)
    if unit == "epoch":
        if micros < LAST_EXACT:
            return _scaled(micros, 6)
        return numeric.round_to(numeric.divide(Decimal(micros), Decimal(SECOND)), 6)
    if unit == "julian":
        return numeric.add(Decimal(days + civil.EPOCH_JULIAN), numeric.divide(Decimal(rest), Decimal(DAY)))
    if unit in ("second", "millisecond"):
        return _scaled(rest % MINUTE, 6 if unit == "second" else 3)
    return Decimal(_whole_part(unit, micros, field, kind))


def part_of_timestamp(kind: str, field: str, micros: int) -> float:
    unit = _find_unit(field, kind)
    days, rest = divmod(micros, DAY)
    seconds, fraction = divmod(rest, SECOND)
    if unit == "epoch":
        if micros < LAST_EXACT:
            return micros / 1_000_000.0
        return (float(micros - civil.POSTGRES_EPOCH) + civil.POSTGRES_EPOCH) / 1_000_000.0
    if unit == "julian":
        return days + civil.EPOCH_JULIAN + (seconds + fraction / 1_000_000.0) / 86_400.0
    if unit == "second":
        return seconds % 60 + fraction / 1_000_000.0
    if unit == "millisecond":
        return seconds % 60 * 1000.0 + fraction / 1000.0
    return float(_whole_part(unit, micros, field, kind))


def _scaled(number: int, scale: int) -> Decimal:
    """An integer number of fractions as numeric with that scale."""
    return Decimal(number).scaleb(-scale)


def _find_unit(field: str, kind: str) -> str:
    lowered = field.lower()
    if (unit := find_unit(lowered)) and unit != "ago":
        return unit
    word, value = find_word(lowered) or ("", "")
    if word == "unit" or (word, value) == ("reserved", "epoch"):
        return str(value)
    is_known = word == "reserved" and kind != "interval"
    problem = "not supported" if is_known else "not recognized"
    raise ValueError(f'unit "{lowered}" {problem} for type {NAMES[kind]}')


def _whole_part(unit: str, micros: int, field: str, kind: str) -> int:
    days, rest = divmod(micros, DAY)
    if unit == "microsecond":
        return rest % MINUTE
    if unit in ("hour", "minute"):
        return rest // HOUR if unit == "hour" else rest // MINUTE % 60
    if unit in _ZONE_UNITS and kind == "timestamptz":
        return 0
    return _day_part(unit, days, field, kind)


def _day_part(unit: str, days: int, field: str, kind: str) -> int:
    year, month, day = civil.from_days(days)
    if unit in ("isoyear", "week"):
        iso_year, week, _ = civil.to_iso(year, month, day)
        return week if unit == "week" else iso_year if iso_year > 0 else iso_year - 1
    if unit in ("dow", "isodow", "doy"):
        return {"dow": civil.weekday, "isodow": civil.iso_weekday, "doy": civil.day_of_year}[unit](days)
    if unit in ("century", "millennium"):
        size = 100 if unit == "century" else 1000
        return (year + size - 1) // size if year > 0 else -((size - year) // size)
    parts = {
        "day": day,
        "month": month,
        "quarter": (month - 1) // 3 + 1,
        "year": year if year > 0 else year - 1,
        "decade": year // 10 if year >= 0 else -((9 - year) // 10),
    }
    return _supported(parts, unit, field, kind)


def _supported(found: dict[str, Item], unit: str, field: str, kind: str) -> Item:
    if unit not in found:
        raise ValueError(f'unit "{field.lower()}" not supported for type {NAMES[kind]}')
    return found[unit]


def truncate_timestamptz(field: str, micros: int, zone: str = "UTC") -> int:
    """date_trunc by the local time of a zone."""
    found = find_zone(zone)
    if isinstance(found, NamedTime):
        found = found.zone
    offset = found.at(micros // SECOND).offset
    local = _truncate(field, micros + offset * SECOND, "timestamptz")
    if find_unit(field.lower()) not in _CLOCK_UNITS:
        offset = found.offset_of_local(local // SECOND)
    return civil.check_timestamp(local - offset * SECOND)


def _find_truncation(field: str, kind: str) -> str:
    unit = find_unit(field.lower())
    if unit is None or unit == "ago":
        raise ValueError(f'unit "{field.lower()}" not recognized for type {NAMES[kind]}')
    return unit


def _truncate(field: str, micros: int, kind: str) -> int:
    unit = _find_truncation(field, kind)
    if unit in _CLOCK_UNITS:
        return micros - micros % _CLOCK_UNITS[unit]
    days = micros // DAY
    if unit in ("day", "week"):
        return (days - (civil.iso_weekday(days) - 1 if unit == "week" else 0)) * DAY
    year, month, _ = civil.from_days(days)
    starts = {
        "month": (year, month),
        "quarter": (year, (month - 1) // 3 * 3 + 1),
        "year": (year, 1),
        "decade": (year // 10 * 10 if year > 0 else -((9 - year) // 10) * 10, 1),
        "century": (_first_year(year, 100), 1),
        "millennium": (_first_year(_first_year(year, 1000), 100), 1),
    }
    return civil.to_days(*_supported(starts, unit, field, kind), 1) * DAY


def _first_year(year: int, size: int) -> int:
    """The first year of a century or millennium: 2001, 1, -99 for 100 BC."""
    return (year + size - 1) // size * size - size + 1 if year > 0 else -((size - year) // size) * size + 1


def extract_from_interval(field: str, value: Interval) -> Decimal:
    """A field as numeric."""
    unit = _find_unit(field, "interval")
    if unit == "epoch":
        years = cut(value.months, 12)  # of 365.25 days; months have 30
        quarters_of_day = 1461 * years + 120 * (value.months - years * 12) + 4 * value.days
        return _scaled(quarters_of_day * (DAY // 4) + value.micros, 6)
    if unit in ("second", "millisecond"):
        return _scaled(_interval_seconds(value), 6 if unit == "second" else 3)
    return Decimal(_interval_part(unit, value, field))


def part_of_interval(field: str, value: Interval) -> float:
    """A field as double."""
    unit = _find_unit(field, "interval")
    if unit == "epoch":
        years = cut(value.months, 12)
        found = value.micros / 1_000_000.0 + (365.25 * 86_400) * years
        return found + (30.0 * 86_400) * (value.months - years * 12) + 86_400.0 * value.days
    if unit in ("second", "millisecond"):
        whole, rest = divmod(abs(_interval_seconds(value)), SECOND)
        found = whole + rest / 1_000_000.0 if unit == "second" else whole * 1000.0 + rest / 1000.0
        return math.copysign(found, value.micros) if found else 0.0
    return float(_interval_part(unit, value, field))


def _interval_part(unit: str, value: Interval, field: str) -> int:
    years, months, days, hours, minutes, seconds, micros = take_apart(value)
    if unit in _YEAR_PARTS:
        return cut(years, _YEAR_PARTS[unit])
    parts = {
        "quarter": cut(months, 3) + (1 if value.months >= 0 else -1),
        "month": months,
        "week": cut(days, 7),
        "day": days,
        "hour": hours,
        "minute": minutes,
        "microsecond": seconds * SECOND + micros,
    }
    return _supported(parts, unit, field, "interval")


def _interval_seconds(value: Interval) -> int:
    """The remainder of a minute, in microseconds."""
    return value.micros - cut(value.micros, MINUTE) * MINUTE


def truncate_interval(field: str, value: Interval) -> Interval:
    """date_trunc."""
    unit = _find_truncation(field, "interval")
    if unit in _INTERVAL_MONTHS:
        return checked(cut(value.months, _INTERVAL_MONTHS[unit]) * _INTERVAL_MONTHS[unit], 0, 0)
    if unit == "day":
        return checked(value.months, value.days, 0)
    size = _supported(_CLOCK_UNITS, unit, field, "interval")
    return checked(value.months, value.days, cut(value.micros, size) * size)


SIGNATURES: Calls = {
    "extract(text, date) -> numeric": extract_from_date,
    "date_part(text, date) -> double": lambda field, days: part_of_timestamp("timestamp", field, days * DAY),
    "extract(text, interval) -> numeric": extract_from_interval,
    "date_part(text, interval) -> double": part_of_interval,
    **for_each(
        "extract(text, {}) -> numeric", {kind: partial(extract_from_timestamp, kind) for kind in _STAMPS}
    ),
    **for_each("date_part(text, {}) -> double", {kind: partial(part_of_timestamp, kind) for kind in _STAMPS}),
    "date_trunc(text, interval) -> interval": truncate_interval,
    "date_trunc(text, timestamp) -> timestamp": lambda field, micros: civil.check_timestamp(
        _truncate(field, micros, "timestamp")
    ),
    "date_trunc(text, timestamptz, text?) -> timestamptz": truncate_timestamptz,
}
