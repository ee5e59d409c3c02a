"""Parses dates and timestamps in the formats that PostgreSQL reads with DateStyle ISO, MDY."""

from __future__ import annotations

import re
from collections.abc import Callable

from dataflow.pipelines.pg_functions import civil, datetime_fields, zones
from dataflow.pipelines.pg_functions.datetime_fields import Malformed, OutOfRange, expect, expect_range
from dataflow.pipelines.pg_functions.integers import wrap
from dataflow.pipelines.pg_functions.interval_text import read_clock, read_fraction
from dataflow.pipelines.pg_functions.intervals import DAY, HOUR, SECOND
from dataflow.pipelines.pg_functions.zone_rules import Zone, load_zone

# A number or word, with the one character after it.
_DATE_PART = re.compile(r"[^0-9a-z]*+([0-9]++|[a-z]++).?+", re.DOTALL)
_JOINED_DATE = re.compile(f"(?:{_DATE_PART.pattern})*+", re.DOTALL)
_DATE_PARTS, _TIME_PARTS = frozenset(("year", "month", "day")), frozenset(("time",))


def parse_date(text: str) -> int:
    """Parse a date; a time or zone in the text is read and ignored."""
    found = _read(text, "date")
    days = civil.find_days(found.year, found.month, found.day)
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
    is_in_range = civil.is_julian(found.year, found.month)
    micros = found.days() * DAY + found.micros - offset if is_in_range else civil.END_TIMESTAMP
    return civil.check_timestamp(micros, f'"{text}"')


def _read(text: str, kind: str) -> _Reading:
    try:
        return _Reading().read(datetime_fields.split_fields(text))
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
        self.zone: zones.AnyZone | None = None
        self.summer_offset = 0

    def read(self, fields: list[datetime_fields.DatetimeField]) -> _Reading:
        readers: dict[str, Callable[[str], set[str] | frozenset[str] | None]] = {
            datetime_fields.DATE: self._read_date_field,
            datetime_fields.TIME: self._read_time,
            datetime_fields.ZONE: self._read_zone,
            datetime_fields.NUMBER: self._read_number_field,
        }
        for field in fields:
            parts = readers.get(field.kind, self._read_word)(field.text)
            if parts is None:
                continue
            expect(not (self.seen & parts))
            self.seen |= parts
        expect(not self.label)
        if not self.is_epoch:
            self._finish()
        return self

    def days(self) -> int:
        return civil.to_days(self.year, self.month, self.day)

    def offset(self) -> int:
        """Seconds ahead of UTC."""
        if not self.zone or not civil.is_julian(self.year, self.month):
            return 0
        local = self.days() * DAY + self.micros
        return self.zone.offset_of_local(local // SECOND) + self.summer_offset

    def _finish(self) -> None:
        self._finish_date()
        hour = self.micros // HOUR
        expect_range(not self.half or hour <= 12)
        if self.half == "am" and hour == 12:
            self.micros -= 12 * HOUR
        elif self.half == "pm" and hour != 12:
            self.micros += 12 * HOUR
        expect(self.seen >= _DATE_PARTS)
        is_fixed = isinstance(self.zone, Zone) and not self.zone.rules
        expect("summer" not in self.seen or is_fixed)

    def _finish_date(self) -> None:
        if "year" in self.seen and not self.is_julian:
            if self.era == "bc":
                expect_range(self.year > 0)
                self.year = 1 - self.year
            elif self.is_short_year:
                self.year += 2000 if self.year < 70 else 1900 if self.year < 100 else 0
            else:
                expect_range(self.year > 0)
        if "day_of_year" in self.seen:
            new_year = civil.to_days(self.year, 1, 1)
            self.year, self.month, self.day = civil.from_days(new_year + self.day_of_year - 1)
        expect_range("month" not in self.seen or 1 <= self.month <= 12)
        expect_range("day" not in self.seen or 1 <= self.day <= 31)
        expect_range(not self.seen >= _DATE_PARTS or self.day <= civil.days_in_month(self.year, self.month))

    def _read_date_field(self, text: str) -> set[str]:
        if self.label == "julian":
            match = re.match(r"\d+", text)
            self._set_julian(match[0] if match else "0")
            self.zone = zones.fixed_zone(zones.read_offset(text[match.end() if match else 0 :]))
            self.label = ""
            return {*_DATE_PARTS, *_TIME_PARTS, "zone"}
        if not self.label and not self.seen >= {"month", "day"}:
            return self._read_date(text)
        if text[0].isdigit() or self.label:
            expect(self.label in ("", "time") and not self.seen >= _TIME_PARTS and "-" in text)
            self.label = ""
            cut = text.index("-")
            self.zone = zones.fixed_zone(zones.read_offset(text[cut:]))
            return {*self._read_packed(text[:cut], self.seen), "zone"}
        zone = load_zone(text)
        if not zone:
            raise ValueError(f'time zone "{text}" not recognized')
        self.zone = zone
        return {"zone"}

    def _read_date(self, text: str) -> set[str]:
        """A date with joined parts: 1999-01-08, 1/8/1999, 08-Jan-1999."""
        expect(_JOINED_DATE.fullmatch(text))
        parts = _DATE_PART.findall(text)
        read: set[str] = set()
        has_name = False
        for part in parts:
            if part.isalpha():
                kind, value = datetime_fields.find_word(part) or ("", 0)
                if kind == "ignored":
                    continue
                expect(kind == "month" and "month" not in self.seen | read)
                self.month, has_name = int(value), True
                read.add("month")
        for part in parts:
            if part.isdigit():
                found = self._read_number(part, has_name, self.seen | read)
                expect(not (found & (self.seen | read)))
                read |= found
        expect((self.seen | read) - {"day_of_year", "zone"} == _DATE_PARTS)
        return read

    def _read_time(self, text: str) -> frozenset[str]:
        expect(self.label in ("", "time"))
        self.label = ""
        self.micros = read_clock(text)
        expect_range(self.micros <= DAY)
        return _TIME_PARTS

    def _read_zone(self, text: str) -> set[str]:
        self.zone = zones.fixed_zone(zones.read_offset(text))
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
        expect(_int(whole or "0") >= 0 and label in ("julian", "time"))
        if label == "time":
            parts = self._read_packed(text, self.seen | _DATE_PARTS)
            expect(parts == _TIME_PARTS)
            return parts
        self._set_julian(whole or "0")
        if "." not in text:
            return set(_DATE_PARTS)
        self.micros = int(float(f"0.{fraction or 0}") * DAY)
        return {*_DATE_PARTS, *_TIME_PARTS}

    def _set_julian(self, digits: str) -> None:
        self.year, self.month, self.day = civil.from_days(_int(digits) - civil.EPOCH_JULIAN)
        self.is_julian = True

    def _read_number(self, text: str, has_month_name: bool, seen: set[str]) -> set[str]:
        """A number alone: its meaning depends on what is already known."""
        whole, point, fraction = text.partition(".")
        expect(whole)
        value = _int(whole)
        if point:
            if len(whole) > 2:
                return self._read_packed(text, seen | _DATE_PARTS)
            self.micros = self.micros // SECOND * SECOND + read_fraction(fraction)
        known = seen & _DATE_PARTS
        if len(text) == 3 and known == {"year"} and 1 <= value <= 366:
            self.day_of_year = value
            return {"day_of_year", "month", "day"}
        if known == _DATE_PARTS:
            return self._read_packed(text, seen)
        part = _part_of_number(known, has_month_name, len(text))
        is_year_next = known == {"year", "month"} and has_month_name and self.is_short_year
        if is_year_next and len(text) >= 3:
            self.day, self.year, self.is_short_year = self.year, value, False
            return {"day"}
        setattr(self, part, value)
        if part == "year":
            self.is_short_year = len(text) <= 2
        return {part}

    def _read_packed(self, text: str, seen: set[str] | frozenset[str]) -> set[str]:
        """Digits without separators: 19990108 or 040506.789."""
        whole, point, fraction = text.partition(".")
        expect(re.fullmatch("[0-9]*", whole) and re.fullmatch("[0-9]*", fraction))
        micros = read_fraction(fraction) if point else self.micros % SECOND
        if not point and not seen >= _DATE_PARTS and len(whole) >= 6:
            self.year = wrap(min(int(whole[:-4]), 2**63 - 1), "integer")
            self.month, self.day = int(whole[-4:-2]), int(whole[-2:])
            self.is_short_year = self.is_short_year or len(whole) == 6
            return set(_DATE_PARTS)
        if not seen >= _TIME_PARTS and len(whole) in (4, 6):
            hour, minute, second = int(whole[:2]), int(whole[2:4]), int(whole[4:] or 0)
            self.micros = civil.clock(hour, minute, second, micros)
            return set(_TIME_PARTS)
        raise Malformed(text)

    def _read_word(self, text: str) -> set[str] | None:
        if zone := zones.find_abbreviation(text):
            self.zone = zone
            return {"zone", "summer_name"} if text in zones.SUMMER else {"zone"}
        kind, value = datetime_fields.find_word(text) or ("", 0)
        if kind == "ignored":
            return None
        if kind == "reserved":
            return self._read_reserved(str(value))
        if kind == "month":
            return self._read_month(int(value))
        if kind in ("unit", "time"):
            expect(not self.label and (kind != "time" or self.seen >= _DATE_PARTS))
            self.label = "time" if kind == "time" else str(value)
            return set()
        if kind == "":
            self.zone = load_zone(text)
            expect(self.zone)
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
            self.micros, self.zone = 0, zones.fixed_zone(0)
            return {*_TIME_PARTS, "zone"}
        if word == "infinity":
            raise ValueError("infinite dates and timestamps are not supported; write '9999-12-31'")
        raise ValueError(
            f'"{word}" is not supported: it depends on the current time; write current_date or now()'
        )

    def _read_month(self, month: int) -> set[str]:
        is_day_first = "month" in self.seen and not self.has_month_name and "day" not in self.seen
        is_day_first = is_day_first and 1 <= self.month <= 31
        if is_day_first:
            self.day = self.month
        self.has_month_name, self.month = True, month
        return {"day" if is_day_first else "month"}


def _part_of_number(known: set[str] | frozenset[str], has_month_name: bool, length: int) -> str:
    """The part of a date that a number is, by the parts that are known."""
    expect(known != {"year", "day"})
    if not known:
        return "year" if length >= 3 else "month"
    if "month" not in known:
        return "month"
    is_year = "day" in known or ("year" not in known and has_month_name and length >= 3)
    return "year" if is_year else "day"


def _int(digits: str) -> int:
    value = int(digits)
    expect_range(value < 2**31)
    return value
