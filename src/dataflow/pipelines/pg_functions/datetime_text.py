"""Parses dates and timestamps in the formats that PostgreSQL reads with DateStyle ISO, MDY."""

from __future__ import annotations

import re
from collections.abc import Callable

from dataflow.pipelines.pg_functions.civil import (
    END_TIMESTAMP,
    EPOCH_JULIAN,
    MIN_TIMESTAMP,
    clock,
    days_in_month,
    find_days,
    from_days,
    is_julian,
    to_days,
)
from dataflow.pipelines.pg_functions.datetime_fields import (
    DATE,
    NUMBER,
    TIME,
    ZONE,
    DatetimeField,
    Malformed,
    OutOfRange,
    find_word,
    split_fields,
)
from dataflow.pipelines.pg_functions.floats import round_even
from dataflow.pipelines.pg_functions.interval_text import read_clock
from dataflow.pipelines.pg_functions.intervals import DAY, HOUR, SECOND
from dataflow.pipelines.pg_functions.zone_rules import Zone, load_zone
from dataflow.pipelines.pg_functions.zones import (
    AnyZone,
    find_abbreviation,
    fixed_zone,
    is_summer_abbreviation,
    read_offset,
)

_DATE_PARTS, _TIME_PARTS = frozenset(("year", "month", "day")), frozenset(("time",))


def parse_date(text: str) -> int:
    """Parse a date; a time or zone in the text is read and ignored."""
    found = _read(text, "date")
    days = find_days(found.year, found.month, found.day)
    if days is None:
        raise ValueError(f'date out of range: "{text}"')
    return days


def parse_timestamp(text: str) -> int:
    """Parse a timestamp; a zone in the text is read and ignored."""
    return _in_range(_read(text, "timestamp"), text, 0)


def parse_timestamptz(text: str) -> int:
    """Parse a timestamptz; the zone defaults to UTC."""
    found = _read(text, "timestamp with time zone")
    return _in_range(found, text, found.offset() * SECOND)


def _in_range(found: _Reading, text: str, offset: int) -> int:
    micros = found.days() * DAY + found.micros - offset
    if not is_julian(found.year, found.month) or not MIN_TIMESTAMP <= micros < END_TIMESTAMP:
        raise ValueError(f'timestamp out of range: "{text}"')
    return micros


def _read(text: str, kind: str) -> _Reading:
    try:
        return _Reading().read(split_fields(text))
    except OutOfRange:
        raise ValueError(f'date/time field value out of range: "{text}"') from None
    except IndexError:
        raise ValueError(f'time zone displacement out of range: "{text}"') from None
    except Malformed:
        raise ValueError(f'invalid input syntax for type {kind}: "{text}"') from None


class _Reading:
    """What is known about a moment after each field; `seen` has the parts that must not repeat."""

    def __init__(self) -> None:
        self.year = self.month = self.day = self.micros = 0
        self.day_of_year = 0
        self.seen: set[str] = set()
        self.label = ""  # a unit that names the next field
        self.half = self.era = ""
        self.has_month_name = self.is_short_year = self.is_julian = self.is_epoch = False
        self.zone: AnyZone | None = None
        self.summer_offset = 0

    def read(self, fields: list[DatetimeField]) -> _Reading:
        readers: dict[str, Callable[[str], set[str] | frozenset[str] | None]] = {
            DATE: self._read_date_field,
            TIME: self._read_time,
            ZONE: self._read_zone,
            NUMBER: self._read_number_field,
        }
        for field in fields:
            parts = readers.get(field.kind, self._read_word)(field.text)
            if parts is None:
                continue
            if self.seen & parts:
                raise Malformed(field.text)
            self.seen |= parts
        if self.label:
            raise Malformed(self.label)
        if not self.is_epoch:
            self._finish()
        return self

    def days(self) -> int:
        return to_days(self.year, self.month, self.day)

    def offset(self) -> int:
        """Seconds ahead of UTC."""
        if not self.zone:
            return 0
        if not is_julian(self.year, self.month):
            return 0
        local = self.days() * DAY + self.micros
        return self.zone.offset_of_local(local // SECOND) + self.summer_offset

    def _finish(self) -> None:
        self._finish_date()
        hour = self.micros // HOUR
        if self.half and hour > 12:
            raise OutOfRange("")
        if self.half == "am" and hour == 12:
            self.micros -= 12 * HOUR
        elif self.half == "pm" and hour != 12:
            self.micros += 12 * HOUR
        if not self.seen >= _DATE_PARTS:
            raise Malformed("")
        is_fixed = isinstance(self.zone, Zone) and not self.zone.rules
        if "summer" in self.seen and not is_fixed:
            raise Malformed("")

    def _finish_date(self) -> None:
        if "year" in self.seen and not self.is_julian:
            if self.era == "bc":
                if self.year <= 0:
                    raise OutOfRange("")
                self.year = 1 - self.year
            elif self.is_short_year:
                self.year += 2000 if self.year < 70 else 1900 if self.year < 100 else 0
            elif self.year <= 0:
                raise OutOfRange("")
        if "day_of_year" in self.seen:
            self.year, self.month, self.day = from_days(to_days(self.year, 1, 1) + self.day_of_year - 1)
        if "month" in self.seen and not 1 <= self.month <= 12:
            raise OutOfRange("")
        if "day" in self.seen and not 1 <= self.day <= 31:
            raise OutOfRange("")
        if self.seen >= _DATE_PARTS and self.day > days_in_month(self.year, self.month):
            raise OutOfRange("")

    def _read_date_field(self, text: str) -> set[str]:
        if self.label == "julian":
            match = re.match(r"\d+", text)
            self._set_julian(match[0] if match else "0")
            self.zone = fixed_zone(read_offset(text[match.end() if match else 0 :]))
            self.label = ""
            return {*_DATE_PARTS, *_TIME_PARTS, "zone"}
        if not self.label and not self.seen >= {"month", "day"}:
            return self._read_date(text)
        if text[0].isdigit() or self.label:
            if self.label not in ("", "time") or self.seen >= _TIME_PARTS or "-" not in text:
                raise Malformed(text)
            self.label = ""
            cut = text.index("-")
            self.zone = fixed_zone(read_offset(text[cut:]))
            return {*self._read_packed(text[:cut], self.seen), "zone"}
        zone = load_zone(text)
        if not zone:
            raise ValueError(f'time zone "{text}" not recognized')
        self.zone = zone
        return {"zone"}

    def _read_date(self, text: str) -> set[str]:
        """A date with joined parts: 1999-01-08, 1/8/1999, 08-Jan-1999."""
        parts = _split_date(text)
        read: set[str] = set()
        has_name = False
        for part in parts:
            if part.isalpha():
                kind, value = find_word(part) or ("", 0)
                if kind == "ignored":
                    continue
                if kind != "month" or "month" in self.seen | read:
                    raise Malformed(text)
                self.month, has_name = int(value), True
                read.add("month")
        for part in parts:
            if part.isdigit():
                found = self._read_number(part, has_name, self.seen | read)
                if found & (self.seen | read):
                    raise Malformed(text)
                read |= found
        if (self.seen | read) - {"day_of_year", "zone"} != _DATE_PARTS:
            raise Malformed(text)
        return read

    def _read_time(self, text: str) -> frozenset[str]:
        if self.label not in ("", "time"):
            raise Malformed(text)
        self.label = ""
        self.micros = read_clock(text)
        if self.micros > DAY:
            raise OutOfRange(text)
        return _TIME_PARTS

    def _read_zone(self, text: str) -> set[str]:
        self.zone = fixed_zone(read_offset(text))
        return {"zone"}

    def _read_number_field(self, text: str) -> set[str]:
        if self.label:
            label, self.label = self.label, ""
            return self._read_labelled(label, text)
        if "." in text and not self.seen & _DATE_PARTS:
            return self._read_date(text)
        is_long = len(text) >= 6 and not (self.seen & _DATE_PARTS and self.seen & _TIME_PARTS)
        if is_long or text.find(".") > 2:
            return self._read_packed(text, self.seen)
        return self._read_number(text, self.has_month_name, self.seen)

    def _read_labelled(self, label: str, text: str) -> set[str]:
        whole, _, fraction = text.partition(".")
        if _int(whole or "0") < 0 or label not in ("julian", "time"):
            raise Malformed(text)
        if label == "time":
            parts = self._read_packed(text, self.seen | _DATE_PARTS)
            if parts != _TIME_PARTS:
                raise Malformed(text)
            return parts
        self._set_julian(whole or "0")
        if "." not in text:
            return set(_DATE_PARTS)
        self.micros = int(float(f"0.{fraction or 0}") * DAY)
        return {*_DATE_PARTS, *_TIME_PARTS}

    def _set_julian(self, digits: str) -> None:
        self.year, self.month, self.day = from_days(_int(digits) - EPOCH_JULIAN)
        self.is_julian = True

    def _read_number(self, text: str, has_month_name: bool, seen: set[str]) -> set[str]:
        """A number alone: its meaning depends on what is already known."""
        whole, point, fraction = text.partition(".")
        if not whole:
            raise Malformed(text)
        value = _int(whole)
        if point:
            if len(whole) > 2:
                return self._read_packed(text, seen | _DATE_PARTS)
            self.micros = self.micros // SECOND * SECOND + _fraction(fraction)
        known = seen & _DATE_PARTS
        if len(text) == 3 and known == {"year"} and 1 <= value <= 366:
            self.day_of_year = value
            return {"day_of_year", "month", "day"}
        if known == _DATE_PARTS:
            return self._read_packed(text, seen)
        part = _part_of_number(known, has_month_name, len(text))
        if (
            part == "day"
            and known == {"year", "month"}
            and has_month_name
            and len(text) >= 3
            and self.is_short_year
        ):
            self.day, self.year, self.is_short_year = self.year, value, False
            return {"day"}
        setattr(self, part, value)
        if part == "year":
            self.is_short_year = len(text) <= 2
        return {part}

    def _read_packed(self, text: str, seen: set[str] | frozenset[str]) -> set[str]:
        """Digits without separators: 19990108 or 040506.789."""
        whole, point, fraction = text.partition(".")
        if not re.fullmatch(r"[0-9]*", whole) or not re.fullmatch(r"[0-9]*", fraction):
            raise Malformed(text)
        micros = _fraction(fraction) if point else self.micros % SECOND
        if not point and not seen >= _DATE_PARTS and len(whole) >= 6:
            self.year, self.month, self.day = _wrapped(whole[:-4]), int(whole[-4:-2]), int(whole[-2:])
            self.is_short_year = self.is_short_year or len(whole) == 6
            return set(_DATE_PARTS)
        if not seen >= _TIME_PARTS and len(whole) in (4, 6):
            hour, minute, second = int(whole[:2]), int(whole[2:4]), int(whole[4:] or 0)
            self.micros = clock(hour, minute, second, micros)
            return set(_TIME_PARTS)
        raise Malformed(text)

    def _read_word(self, text: str) -> set[str] | None:
        if zone := find_abbreviation(text):
            self.zone = zone
            return {"zone", "summer_name"} if is_summer_abbreviation(text) else {"zone"}
        kind, value = find_word(text) or ("", 0)
        if kind == "ignored":
            return None
        if kind == "reserved":
            return self._read_reserved(str(value))
        if kind == "month":
            return self._read_month(int(value))
        if kind in ("unit", "time"):
            if self.label or (kind == "time" and not self.seen >= _DATE_PARTS):
                raise Malformed(text)
            self.label = "time" if kind == "time" else str(value)
            return set()
        if kind == "":
            self.zone = load_zone(text)
            if not self.zone:
                raise Malformed(text)
            return {"zone"}
        if kind == "summer":
            self.summer_offset = int(value)
            return {"summer", "summer_name"}
        if kind in ("half", "era"):
            setattr(self, kind, str(value))
        return {kind}

    def _read_reserved(self, word: str) -> set[str]:
        if word == "epoch":
            self.year, self.month, self.day, self.micros, self.is_epoch = 1970, 1, 1, 0, True
            self.zone = None
            return {*_DATE_PARTS, *_TIME_PARTS, "zone"}
        if word == "allballs":
            self.micros, self.zone = 0, fixed_zone(0)
            return {*_TIME_PARTS, "zone"}
        if word == "infinity":
            raise ValueError("infinite dates and timestamps are not supported; write '9999-12-31'")
        raise ValueError(
            f'"{word}" is not supported: it depends on the current time; write current_date or now()'
        )

    def _read_month(self, month: int) -> set[str]:
        parts = {"month"}
        if (
            "month" in self.seen
            and not self.has_month_name
            and "day" not in self.seen
            and 1 <= self.month <= 31
        ):
            self.day, parts = self.month, {"day"}
        self.has_month_name, self.month = True, month
        return parts


def _split_date(text: str) -> list[str]:
    """Numbers and words, each with the one character after it."""
    parts = []
    place = 0
    while place < len(text):
        match = re.compile(r"[^0-9a-z]*([0-9]+|[a-z]+)").match(text, place)
        if not match:
            raise Malformed(text)
        parts.append(match[1])
        place = match.end() + 1
    return parts


def _part_of_number(known: set[str] | frozenset[str], has_month_name: bool, length: int) -> str:
    if not known:
        return "year" if length >= 3 else "month"
    if known in ({"year"}, {"day"}):
        return "month"
    if known == {"month"}:
        return "year" if has_month_name and length >= 3 else "day"
    if known == {"year", "month"}:
        return "day"
    if known == {"month", "day"}:
        return "year"
    raise Malformed("")


def _int(digits: str) -> int:
    value = int(digits)
    if value >= 2**31:
        raise OutOfRange(digits)
    return value


def _wrapped(digits: str) -> int:
    """As a 32-bit integer that overflows silently."""
    return (min(int(digits), 2**63 - 1) + 2**31) % 2**32 - 2**31


def _fraction(digits: str) -> int:
    return int(round_even(float(f"0.{digits or 0}") * SECOND))
