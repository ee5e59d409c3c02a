"""Parses intervals in every style that PostgreSQL reads."""

from __future__ import annotations

import re

from dataflow.pipelines.pg_functions import datetime_fields
from dataflow.pipelines.pg_functions.datetime_fields import Malformed, OutOfRange, expect, expect_range
from dataflow.pipelines.pg_functions.floats import round_even
from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.intervals import DAY, HOUR, MINUTE, SECOND, checked
from dataflow.pipelines.pg_functions.signatures import Calls, Interval

_MICROS = {"microsecond": 1, "millisecond": 1000, "second": SECOND, "minute": MINUTE, "hour": HOUR}
_YEARS = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}
_CLOCK_FIELDS = frozenset(_MICROS)
_NUMBER = re.compile(r"([+-]?[0-9]*)(?:\.([0-9]*)|-([0-9]+))?")
_CLOCK = re.compile(r"([0-9]+):([0-9]*)(?::([0-9]*))?(?:\.([0-9]*))?")


def parse(text: str) -> Interval:
    """Parse an interval."""
    try:
        try:
            return _Reading().read(datetime_fields.split_fields(text))
        except Malformed:
            return _IsoReading(text).read()
    except OutOfRange:
        raise ValueError(f'interval field value out of range: "{text}"') from None
    except Malformed:
        raise ValueError(f'invalid input syntax for type interval: "{text}"') from None


class _Sums:
    """The fields of an interval being parsed; fractions carry down to smaller fields as doubles."""

    def __init__(self) -> None:
        self.years = self.months = self.days = self.micros = 0

    def add_unit(self, unit: str, whole: int, part: float) -> None:
        if unit in _MICROS:
            self.micros = _fit(self.micros + whole * _MICROS[unit], 64)
            self.add_part(part, _MICROS[unit])
        elif unit in ("day", "week"):
            size = 7 if unit == "week" else 1
            self.days = _fit(self.days + _fit(whole, 32) * size, 32)
            self.add_part(part, DAY) if unit == "day" else self.add_days(part * size)
        elif unit == "month":
            self.months = _fit(self.months + _fit(whole, 32), 32)
            self.add_days(part * 30)
        elif unit in _YEARS:
            self.years = _fit(self.years + _fit(_fit(whole, 32) * _YEARS[unit], 32), 32)
            self.months = _fit(self.months + int(round_even(part * _YEARS[unit] * 12)), 32)
        else:
            raise Malformed(unit)

    def add_days(self, days: float) -> None:
        self.days = _fit(self.days + int(days), 32)
        self.add_part(days - int(days), DAY)

    def add_part(self, part: float, size: int) -> None:
        exact = part * size
        whole = int(exact)
        rest = exact - whole
        self.micros = _fit(self.micros + whole + (rest > 0.5) - (rest < -0.5), 64)

    def finish(self, sign: int) -> Interval:
        expect_range(
            sign >= 0 or (-(2**31) not in (self.years, self.months, self.days) and self.micros != -(2**63))
        )
        months = self.years * 12 + self.months
        return checked(sign * months, sign * self.days, sign * self.micros)


class _Reading(_Sums):
    """Reads fields from last to first, so that a unit is known before its number."""

    def __init__(self) -> None:
        super().__init__()
        self.unit = "second"
        self.has_waiting_unit = False
        self.seen: set[str] = set()

    def read(self, fields: list[datetime_fields.DatetimeField]) -> Interval:
        sign = 1
        for place, field in reversed(list(enumerate(fields))):
            if field.kind in (datetime_fields.TEXT, datetime_fields.SPECIAL):
                if self._read_word(field.text) == "ago":
                    expect(place == len(fields) - 1)
                    sign = -1
            elif field.kind == datetime_fields.TIME or (
                field.kind == datetime_fields.ZONE and self._is_clock(field.text[1:])
            ):
                self._read_clock(field.text)
            else:
                self._read_number(field.text)
        expect(self.seen and not self.has_waiting_unit)
        return self.finish(sign)

    def _read_word(self, text: str) -> str:
        expect(not self.has_waiting_unit)
        if unit := datetime_fields.find_unit(text):
            self.unit, self.has_waiting_unit = unit, unit != "ago"
            return unit
        kind, value = datetime_fields.find_word(text) or ("", "")
        if kind == "reserved" and value == "infinity":
            raise ValueError("infinite intervals are not supported")
        expect(kind == "ignored")
        self.unit = "second"
        return ""

    def _read_clock(self, text: str) -> None:
        self.micros = read_clock(text.lstrip("+-")) * (-1 if text[0] == "-" else 1)
        self.unit, self.has_waiting_unit = "day", False
        self._see(_CLOCK_FIELDS)

    def _is_clock(self, text: str) -> bool:
        try:
            return ":" in text and read_clock(text) >= 0
        except (Malformed, OutOfRange):
            return False

    def _read_number(self, text: str) -> None:
        match = _NUMBER.fullmatch(text)
        if not match:
            raise Malformed(text)
        whole = _fit(int(match[1] or 0) if match[1] not in ("+", "-") else 0, 64)
        part = float(f"0.{match[2] or 0}") * (-1 if text[0] == "-" else 1)
        unit = self.unit
        if match[3] is not None:
            unit, months = "month", _fit(int(match[3]), 32)
            expect_range(months < 12)
            whole = _fit(whole * 12 + (-months if text[0] == "-" else months), 64)
        self.add_unit(unit, whole, part)
        self._see(_CLOCK_FIELDS - {"hour", "minute"} if unit == "second" and part else {unit})
        self.unit, self.has_waiting_unit = "day" if unit == "hour" else unit, False

    def _see(self, units: frozenset[str] | set[str]) -> None:
        expect(not (self.seen & units))
        self.seen |= units


def read_clock(text: str) -> int:
    """Microseconds of hours, minutes and seconds; `5:06.7` is minutes and seconds."""
    match = _CLOCK.fullmatch(text)
    if not match:
        raise Malformed(text)
    hours, minutes = _fit(int(match[1]), 64), _fit(int(match[2] or 0), 32)
    seconds = _fit(int(match[3] or 0), 32)
    if match[3] is None and match[4] is not None:
        hours, minutes, seconds = 0, _fit(hours, 32), minutes
    expect_range(minutes <= 59 and seconds <= 60)
    micros = read_fraction(match[4])
    return _fit(hours * HOUR + minutes * MINUTE + seconds * SECOND + micros, 64)


def read_fraction(digits: str | None) -> int:
    """Microseconds of the digits after the point of a second."""
    return int(round_even(float(f"0.{digits or 0}") * SECOND))


class _IsoReading(_Sums):
    """Reads ISO 8601 intervals: P1Y2M3DT4H5M6.7S, P0001-02-03T04:05:06, P00010203T040506."""

    _number = re.compile(r"-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
    _date_units = {"Y": "year", "M": "month", "W": "week", "D": "day"}  # noqa: RUF012
    _time_units = {"H": "hour", "M": "minute", "S": "second"}  # noqa: RUF012

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text, self.place = text, 1
        self.is_date, self.has_field = True, False

    def read(self) -> Interval:
        expect(len(self.text) >= 2 and self.text[0] == "P")
        while self.place < len(self.text):
            if self.text[self.place] == "T":
                self.place += 1
                self.is_date = self.has_field = False
                continue
            start = self.place
            whole, part = self._read_number()
            letter = self._take()
            units = self._date_units if self.is_date else self._time_units
            if letter in units:
                self.add_unit(units[letter], whole, part)
                self.has_field = True
            elif self._read_alternative(start, letter, whole, part):
                break
        return self.finish(1)

    def _take(self) -> str:
        letter = self.text[self.place : self.place + 1]
        self.place += 1
        return letter

    def _read_number(self) -> tuple[int, float]:
        match = self._number.match(self.text, self.place)
        if not match:
            raise Malformed(self.text)
        self.place = match.end()
        value = float(match[0])
        if abs(value) > 1e15:
            raise (Malformed(self.text) if abs(value) > 1e308 else OutOfRange(self.text))
        return int(value), value - int(value)

    def _read_alternative(self, start: int, letter: str, whole: int, part: float) -> bool:
        """Read a date or time without letters; True if the text ends with it."""
        expect(not self.has_field and letter in (("", "T", "-") if self.is_date else ("", ":")))
        packed = re.compile("-*[0-9]{8}(?![0-9])" if self.is_date else "-*[0-9]{6}(?![0-9])")
        if letter in ("", "T") and packed.match(self.text, start):
            self._add_packed(whole, part)
            self.is_date = False
            return letter == ""
        units = ("year", "month", "day") if self.is_date else ("hour", "minute", "second")
        self.add_unit(units[0], whole, part)
        for unit in units[1:] if letter in ("-", ":") else ():
            self.add_unit(unit, *self._read_number())
            letter = self._take()
            if letter != ("-" if self.is_date else ":"):
                break
        is_time_next = letter == "T" and self.is_date
        self.is_date = self.is_date and not is_time_next
        expect(not letter or is_time_next)
        return not is_time_next

    def _add_packed(self, whole: int, part: float) -> None:
        units = ("year", "month", "day") if self.is_date else ("hour", "minute", "second")
        for unit, size in zip(units, (10_000, 100, 1), strict=True):
            number = cut(whole, size)
            whole -= number * size
            self.add_unit(unit, number, 0.0)
        self.add_part(part, DAY if self.is_date else 1)


def _fit(value: int, bits: int) -> int:
    expect_range(-(1 << bits - 1) <= value < 1 << bits - 1)
    return value


SIGNATURES: Calls = {
    "cast(text) -> interval": parse,
}
