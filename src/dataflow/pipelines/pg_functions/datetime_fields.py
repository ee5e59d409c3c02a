"""Splits a date, time or interval into fields like PostgreSQL, and the words it knows in them."""

from __future__ import annotations

import re
from typing import NamedTuple

from dataflow.pipelines.pg_functions.integers import SPACE

MAX_FIELDS = 25
MAX_LENGTH = 256
PUNCTUATION = frozenset("!\"#$%&'()*,/:;<=>?@[\\]^_`{|}~-+.")

# Kinds of fields.
NUMBER, TEXT, DATE, TIME, ZONE, SPECIAL = "number", "text", "date", "time", "zone", "special"


class Malformed(ValueError):
    """The fields do not form a value of the type."""


class OutOfRange(ValueError):
    """The number in a field is out of range."""


def expect(is_well_formed: object) -> None:
    """Raise Malformed if the condition is false."""
    if not is_well_formed:
        raise Malformed


def expect_range(is_in_range: bool) -> None:
    """Raise OutOfRange if the condition is false."""
    if not is_in_range:
        raise OutOfRange


class DatetimeField(NamedTuple):
    """One field of the text, in lower case."""

    kind: str
    text: str


MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

# The meaning of a word: its kind and its value.
WORDS: dict[str, tuple[str, str | int]] = {
    **{name.lower()[:size]: ("month", number) for number, name in enumerate(MONTHS, 1) for size in (3, 9)},
    **{name.lower()[:size]: ("weekday", number) for number, name in enumerate(DAYS) for size in (3, 9)},
    "tues": ("weekday", 2),
    "weds": ("weekday", 3),
    **dict.fromkeys(("thur", "thurs"), ("weekday", 4)),
    "sept": ("month", 9),
    **{word: ("era", word) for word in ("ad", "bc")},
    **{word: ("half", word) for word in ("am", "pm")},
    **dict.fromkeys(("at", "on"), ("ignored", 0)),
    **{word: ("reserved", word) for word in ("epoch", "now", "today", "tomorrow", "yesterday", "allballs")},
    **dict.fromkeys(("infinity", "+infinity", "-infinity"), ("reserved", "infinity")),
    **dict.fromkeys(("j", "jd", "julian"), ("unit", "julian")),
    **{word: ("unit", word) for word in ("dow", "doy", "isodow", "isoyear")},
    "d": ("unit", "day"),
    "h": ("unit", "hour"),
    "m": ("unit", "month"),
    "mm": ("unit", "minute"),
    "s": ("unit", "second"),
    "y": ("unit", "year"),
    "t": ("time", 0),
    "dst": ("summer", 3600),
}

_UNIT_WORDS = {
    "century": "c cent centuries century",
    "day": "d day days",
    "decade": "dec decade decades decs",
    "hour": "h hour hours hr hrs",
    "microsecond": "microsecon us usec usecond useconds usecs",
    "millennium": "mil millennia millennium mils",
    "millisecond": "millisecon ms msec msecond mseconds msecs",
    "minute": "m min mins minute minutes",
    "month": "mon mons month months",
    "quarter": "qtr quarter",
    "second": "s sec second seconds secs",
    "timezone": "timezone",
    "timezone_hour": "timezone_h",
    "timezone_minute": "timezone_m",
    "week": "w week weeks",
    "year": "y year years yr yrs",
}
_UNITS = {word: unit for unit, words in _UNIT_WORDS.items() for word in words.split()}


def find_word(text: str) -> tuple[str, str | int] | None:
    """The meaning of a word in a date; only its first ten letters count."""
    return WORDS.get(text[:10])


def find_unit(text: str) -> str | None:
    """The unit of time that a word names, or `ago`."""
    return "ago" if text == "ago" else _UNITS.get(text[:10])


_TIME = re.compile(r"[0-9]+:[0-9:.]*")
_NUMERIC_DATE = re.compile(r"[0-9]+([-/.])[0-9]+(?:\1(?:[0-9]|\1)*)?")
_NAMED_DATE = re.compile(r"[0-9]+([-/.])(?![0-9])(?:[A-Za-z0-9]|\1)*")
_DIGITS = re.compile(r"[0-9]+|\.[0-9]*")
_LETTERS = re.compile(r"[A-Za-z]+")
_ZONE_NAME = re.compile(r"[A-Za-z]+[-+/.0-9][-+/_.:A-Za-z0-9]*")
_SIGNED = re.compile(r"[+-][ \t\n\v\f\r]*(?:([0-9][0-9:.-]*)|([A-Za-z]+))")


def split_fields(text: str) -> list[DatetimeField]:
    """Split a date, time or interval into its fields."""
    expect(text.isascii())
    fields: list[DatetimeField] = []
    place = length = 0
    while place < len(text):
        if text[place] in SPACE:
            place += 1
            continue
        expect(len(fields) < MAX_FIELDS)
        field, end = _read_field(text, place)
        if field:
            fields.append(field)
            length += len(field.text) + 1
        place = end
    expect(length < MAX_LENGTH)
    return fields


def _read_field(text: str, place: int) -> tuple[DatetimeField | None, int]:
    first = text[place]
    if first.isdigit() or first == ".":
        return _read_digits(text, place)
    if first.isalpha():
        return _read_letters(text, place)
    if first in "+-":
        if not (match := _SIGNED.match(text, place)):
            raise Malformed(text)
        kind = ZONE if match[1] else SPECIAL
        return DatetimeField(kind, first + (match[1] or match[2]).lower()), match.end()
    expect(first in PUNCTUATION)
    return None, place + 1


def _read_digits(text: str, place: int) -> tuple[DatetimeField, int]:
    if match := _TIME.match(text, place):
        return DatetimeField(TIME, match[0]), match.end()
    if match := _NUMERIC_DATE.match(text, place):
        # 1.5 is a number, 1.5.1999 and 1-5 are dates.
        is_number = match[1] == "." and match[0].count(".") == 1
        return DatetimeField(NUMBER if is_number else DATE, match[0]), match.end()
    if match := _NAMED_DATE.match(text, place):
        return DatetimeField(DATE, match[0].lower()), match.end()
    match = _DIGITS.match(text, place)
    assert match
    return DatetimeField(NUMBER, match[0]), match.end()


def _read_letters(text: str, place: int) -> tuple[DatetimeField, int]:
    letters = _LETTERS.match(text, place)
    assert letters
    following = text[letters.end() : letters.end() + 1]
    is_known = find_word(letters[0].lower()) is not None
    if following in ("-", "/", ".") or ((following == "+" or following.isdigit()) and not is_known):
        name = _ZONE_NAME.match(text, place)
        assert name
        return DatetimeField(DATE, name[0].lower()), name.end()
    return DatetimeField(TEXT, letters[0].lower()), letters.end()
