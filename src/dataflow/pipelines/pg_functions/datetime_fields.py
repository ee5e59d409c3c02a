"""Splits a date, time or interval into fields like PostgreSQL, and the words it knows in them."""

from __future__ import annotations

import re
from typing import NamedTuple

from dataflow.pipelines.pg_functions.integers import SPACE

MAX_FIELDS = 25
MAX_LENGTH = 256

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


# One field; the group is its kind. 1.5 is a number, 1.5.1999 and 1-5 are dates. Other punctuation is skipped.
_FIELD = re.compile(
    r"[ \t-\r]*(?:(?P<time>[0-9]+:[0-9:.]*)"
    r"|(?P<number>[0-9]+\.[0-9]+(?![.0-9])|[0-9]+(?![-/.0-9])|\.[0-9]*)"
    r"|(?P<date>[0-9]+(?P<mark>[-/.])(?:[0-9]+(?:(?P=mark)(?:[0-9]|(?P=mark))*)?|(?:[A-Za-z0-9]|(?P=mark))*))"
    r"|(?P<text>[A-Za-z]+)|(?P<zone>[+-][ \t-\r]*[0-9][0-9:.-]*)|(?P<special>[+-][ \t-\r]*[A-Za-z]+)"
    r"|[!-*,/:-@\[-`{-~])"
)
_ZONE_NAME = re.compile(r"[A-Za-z]+[-+/.0-9][-+/_.:A-Za-z0-9]*")


def split_fields(text: str) -> list[DatetimeField]:
    """Split a date, time or interval into its fields."""
    expect(text.isascii())
    text = text.rstrip(SPACE)
    fields: list[DatetimeField] = []
    place = 0
    while place < len(text):
        found = _FIELD.match(text, place)
        if not found or len(fields) >= MAX_FIELDS:
            raise Malformed
        kind, place = found.lastgroup, found.end()
        if kind == TEXT and (name := _find_zone_name(text, found)):
            kind, found, place = DATE, name, name.end()
        if kind:
            fields.append(DatetimeField(kind, "".join(found[0].split()).lower()))
    expect(sum(len(field.text) + 1 for field in fields) < MAX_LENGTH)
    return fields


def _find_zone_name(text: str, letters: re.Match[str]) -> re.Match[str] | None:
    """A name that continues after the letters, such as Europe/Berlin or EST5EDT."""
    following = text[letters.end() : letters.end() + 1]
    if following in ("+", *"0123456789") and find_word(letters[TEXT].lower()):
        return None
    return _ZONE_NAME.match(text, letters.start(TEXT))
