"""to_char of timestamps, dates and intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from dataflow.pipelines.pg_functions import intervals
from dataflow.pipelines.pg_functions.civil import (
    EPOCH_JULIAN,
    day_of_year,
    take_apart,
    to_days,
    to_iso,
    weekday,
)
from dataflow.pipelines.pg_functions.datetime_fields import DAYS, MONTHS
from dataflow.pipelines.pg_functions.format_pictures import Node, ordinal_of, parse_picture
from dataflow.pipelines.pg_functions.integers import cut, modulo
from dataflow.pipelines.pg_functions.intervals import DAY
from dataflow.pipelines.pg_functions.signatures import Calls, Interval

ROMAN = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"]
_FRACTIONS = {"MS": 3, "US": 6, **{f"FF{digits}": digits for digits in range(1, 7)}}


class Shown(NamedTuple):
    """The fields to show; those of an interval may be negative or out of their usual range."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    micros: int
    day_of_year: int
    weekday: int
    zone: str
    is_interval: bool

    @property
    def shown_year(self) -> int:
        return self.year if self.is_interval or self.year > 0 else 1 - self.year

    @property
    def iso_date(self) -> tuple[int, int, int]:
        return to_iso(self.year, self.month, self.day)

    @property
    def shown_iso_year(self) -> int:
        year = self.iso_date[0]
        return year if self.is_interval or year > 0 else 1 - year


def format_timestamptz(micros: int, picture: str) -> str | None:
    return _format(_take_apart(micros, "UTC"), picture)


def format_interval(value: Interval, picture: str) -> str | None:
    days = value.months * 30 + value.days
    return _format(Shown(*intervals.take_apart(value), days, 0, "", True), picture)


def _take_apart(micros: int, zone: str) -> Shown:
    days = micros // DAY
    return Shown(*take_apart(micros), day_of_year(days), weekday(days), zone, False)


def _format(shown: Shown, picture: str) -> str | None:
    if not picture:
        return None
    return "".join(
        node.text if node.kind != "keyword" else _write(node, shown) for node in parse_picture(picture)
    )


def _write(node: Node, shown: Shown) -> str:
    name = node.name
    if shown.is_interval and name in _NOT_IN_INTERVALS:
        raise ValueError("invalid format specification for an interval value")
    if name in _NAMES:
        return _NAMES[name](node, shown)
    if name in _FRACTIONS:
        digits = _FRACTIONS[name]
        text = f"{cut(shown.micros, 10 ** (6 - digits)):0{digits}d}"
    elif name in _NUMBERS:
        number, width = _NUMBERS[name](shown)
        text = f"{number:0{width + (number < 0) if not node.fill else 0}d}"
    elif name == "Q":
        if not shown.month:
            return ""
        text = str(cut(shown.month - 1, 3) + 1)
    elif name == "Y,YYY":
        thousands = cut(shown.shown_year, 1000)
        text = f"{thousands},{shown.shown_year - thousands * 1000:03d}"
    else:
        return ""  # FX
    return text + (ordinal_of(text, node.ordinal) if node.ordinal else "")


def _century(shown: Shown) -> tuple[int, int]:
    if shown.is_interval:
        century = cut(shown.year, 100)
    else:
        century = (shown.year - 1) // 100 + 1 if shown.year > 0 else cut(shown.year, 100) - 1
    return century, 2 if -99 <= century <= 99 else 0


def _signed(number: int, digits: int, sign_of: int) -> tuple[int, int]:
    """A number, and its width: zeros fill one more position if another number is negative."""
    return number, digits + (sign_of < 0) - (number < 0)


def _last_digits(year: int, digits: int, sign_of: int) -> tuple[int, int]:
    return _signed(modulo(year, 10**digits), digits, sign_of)


# The number that a keyword shows, and its width when padded with zeros.
_NUMBERS: dict[str, Callable[[Shown], tuple[int, int]]] = {
    "HH24": lambda shown: (shown.hour, 2),
    **dict.fromkeys(("HH12", "HH"), lambda shown: _signed(modulo(shown.hour, 12) or 12, 2, shown.hour)),
    "MI": lambda shown: (shown.minute, 2),
    "SS": lambda shown: (shown.second, 2),
    "SSSS": lambda shown: (shown.hour * 3600 + shown.minute * 60 + shown.second, 0),
    "SSSSS": lambda shown: (shown.hour * 3600 + shown.minute * 60 + shown.second, 0),
    "MM": lambda shown: (shown.month, 2),
    "DDD": lambda shown: _filled(shown.day_of_year, 3),
    "IDDD": lambda shown: _filled(shown.iso_date[2], 3),
    "DD": lambda shown: _filled(shown.day, 2),
    "WW": lambda shown: _filled(cut(shown.day_of_year - 1, 7) + 1, 2),
    "IW": lambda shown: _filled(shown.iso_date[1], 2),
    "D": lambda shown: (shown.weekday + 1, 0),
    "ID": lambda shown: (shown.weekday or 7, 0),
    "W": lambda shown: (cut(shown.day - 1, 7) + 1, 0),
    "J": lambda shown: (to_days(shown.year, shown.month, shown.day) + EPOCH_JULIAN, 0),
    "CC": _century,
    "YYYY": lambda shown: (shown.shown_year, 4),
    "IYYY": lambda shown: _signed(shown.shown_iso_year, 4, shown.shown_year),
    "YYY": lambda shown: _last_digits(shown.shown_year, 3, shown.shown_year),
    "IYY": lambda shown: _last_digits(shown.shown_iso_year, 3, shown.shown_year),
    "YY": lambda shown: _last_digits(shown.shown_year, 2, shown.shown_year),
    "IY": lambda shown: _last_digits(shown.shown_iso_year, 2, shown.shown_year),
    "Y": lambda shown: (modulo(shown.shown_year, 10), 0),
    "I": lambda shown: (modulo(shown.shown_iso_year, 10), 0),
}


def _filled(number: int, width: int) -> tuple[int, int]:
    """A number whose sign takes one of its positions."""
    return number, width - (number < 0)


def _cased(text: str, node: Node) -> str:
    if node.text.isupper():
        return text.upper()
    return text.lower() if node.text.islower() else text


def _padded(text: str, node: Node, width: int) -> str:
    return _cased(text if node.fill or node.localized else text.ljust(width), node)


def _dotted(text: str, node: Node) -> str:
    return _cased(".".join(text) + "." if "." in node.text else text, node)


def _roman_month(node: Node, shown: Shown) -> str:
    if not shown.month and not shown.year:
        return ""
    place = shown.month - (shown.month > 0) if shown.month else -1 if shown.year >= 0 else 0
    return _padded(ROMAN[place], node._replace(localized=False), 4)  # -1 is December


def _offset_hours(node: Node, _shown: Shown) -> str:
    return "+0" if node.name == "OF" and node.fill else "+00"


_NAMES: dict[str, Callable[[Node, Shown], str]] = {
    **dict.fromkeys(
        ("A.M.", "P.M.", "AM", "PM"),
        lambda node, shown: _dotted("pm" if modulo(shown.hour, 24) >= 12 else "am", node),
    ),
    **dict.fromkeys(
        ("A.D.", "B.C.", "AD", "BC"), lambda node, shown: _dotted("bc" if shown.year <= 0 else "ad", node)
    ),
    "MONTH": lambda node, shown: _padded(MONTHS[shown.month - 1], node, 9),
    "MON": lambda node, shown: _cased(MONTHS[shown.month - 1][:3], node),
    "DAY": lambda node, shown: _padded(DAYS[shown.weekday], node, 9),
    "DY": lambda node, shown: _cased(DAYS[shown.weekday][:3], node),
    "RM": _roman_month,
    "TZ": lambda node, shown: _cased(shown.zone, node),
    "TZH": _offset_hours,
    "OF": _offset_hours,
    "TZM": lambda _node, _shown: "00",
}
_NOT_IN_INTERVALS = frozenset((*_NAMES, "D", "ID")) - {"A.M.", "P.M.", "AM", "PM", "RM"}


SIGNATURES: Calls = {
    "to_char(timestamp, text) -> text": lambda micros, picture: _format(_take_apart(micros, ""), picture),
    "to_char(timestamptz, text) -> text": format_timestamptz,
    "to_char(date, text) -> text": lambda days, picture: format_timestamptz(days * DAY, picture),
    "to_char(interval, text) -> text": format_interval,
}
