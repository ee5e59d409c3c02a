"""to_date and to_timestamp: parse dates and times by a format template."""

from __future__ import annotations

import re
from collections.abc import Callable

from dataflow.pipelines.pg_functions import civil
from dataflow.pipelines.pg_functions.datetime_fields import DAYS, MONTHS
from dataflow.pipelines.pg_functions.format_pictures import Node, is_separator, parse_picture
from dataflow.pipelines.pg_functions.formatted_fields import Fields, FieldSum
from dataflow.pipelines.pg_functions.integers import SPACE
from dataflow.pipelines.pg_functions.intervals import SECOND
from dataflow.pipelines.pg_functions.signatures import Calls
from dataflow.pipelines.pg_functions.time_formats import ROMAN
from dataflow.pipelines.pg_functions.timestamps import to_precision
from dataflow.pipelines.pg_functions.zones import find_abbreviation

_ISO_WORDS = ("IDDD", "ID", "IW", "IYYY", "IYY", "IY", "I")
_GREGORIAN_WORDS = "DDD DD D MM MONTH MON RM WW W Y,YYY YYYY YYY YY Y".split(" ")  # noqa: SIM905
_HALVES, _LONG_HALVES = ("am", "pm"), ("a.m.", "p.m.")
_ERAS, _LONG_ERAS = ("ad", "bc"), ("a.d.", "b.c.")
_SHORT_MONTHS, _SHORT_DAYS = [name[:3] for name in MONTHS], [name[:3] for name in DAYS]
# As sscanf reads "%d,%03d".
_THOUSANDS = re.compile(r"\s*([+-]?[0-9]+),\s*([+-][0-9]{1,2}|[0-9]{1,3})", re.ASCII)
# The field for a number, and its number of digits if another number follows directly.
_NUMBERS = {
    name: (field, digits)
    for field, digits, names in (
        ("hour", 2, "HH HH12 HH24"),
        ("minute", 2, "MI"),
        ("second", 2, "SS"),
        ("millis", 3, "MS"),
        *(("micros", digits, f"FF{digits}") for digits in range(1, 7)),
        ("micros", 6, "US"),
        ("seconds_of_day", 4, "SSSS"),
        ("seconds_of_day", 5, "SSSSS"),
        *(("year", digits, f"{'Y' * digits} I{'Y' * (digits - 1)}") for digits in range(1, 5)),
        ("century", 2, "CC"),
        ("", 1, "Q"),
        ("month", 2, "MM"),
        ("day_of_year", 3, "DDD IDDD"),
        ("day", 2, "DD"),
        ("weekday", 1, "D ID"),
        ("week", 2, "WW IW"),
        ("week_of_month", 1, "W"),
        ("julian", 1, "J"),
    )
    for name in names.split()
}
_DIGITS = frozenset((*_NUMBERS, "Y,YYY", "TZM"))  # the keywords whose text starts with a digit


def read_date(text: str, picture: str) -> int:
    """to_date."""
    moment, _ = _read(text, picture)
    days = civil.find_days(*moment[:3])
    if days is None:
        raise ValueError(f'date out of range: "{text}"')
    return days


def read_timestamp(text: str, picture: str) -> int:
    """to_timestamp of a string; the zone defaults to UTC."""
    moment, fields = _read(text, picture)
    local = civil.to_micros(moment)
    offset = fields.zone.offset_of_local(local // SECOND) if fields.zone else 0
    found = civil.check_timestamp(local - offset * SECOND)
    return to_precision(found, fields.precision) if fields.precision else found


def _read(text: str, picture: str) -> tuple[civil.Moment, Fields]:
    fields = Fields()
    _Reader(text, parse_picture(picture), fields).read()
    moment = FieldSum(fields, text).finish()
    return moment, fields


class _Reader:
    """Walks through the string along the nodes of the format template."""

    def __init__(self, text: str, nodes: tuple[Node, ...], fields: Fields) -> None:
        self.text, self.nodes, self.fields = text, nodes, fields
        self.place = self.skipped = 0  # `skipped` counts characters beyond those of the template
        self.is_exact = False  # FX

    def read(self) -> None:
        for index, node in enumerate(self.nodes):
            if self.place >= len(self.text):
                return
            if not self.is_exact and node.name != "FX" and (node.kind == "keyword" or index == 0):
                self.skipped += self._skip_spaces()
            if node.kind != "keyword":
                self._read_literal(node)
                continue
            self._set_convention(node)
            self._read_keyword(node, index)
            if not self.is_exact:
                self.skipped = self._skip_spaces()

    def _skip_spaces(self) -> int:
        start = self.place
        while self.place < len(self.text) and self.text[self.place] in SPACE:
            self.place += 1
        return self.place - start

    def _read_literal(self, node: Node) -> None:
        if self.is_exact:
            self.place += 1
        elif node.kind in ("space", "separator"):
            self.skipped -= 1
            if self.place < len(self.text):
                character = self.text[self.place]
                if character in SPACE or is_separator(character):
                    self.place += 1
                    self.skipped += 1
        elif self.skipped > 0:
            self.skipped -= 1
        else:
            self.place += 1

    def _set_convention(self, node: Node) -> None:
        name = "iso" if node.name in _ISO_WORDS else "gregorian" if node.name in _GREGORIAN_WORDS else ""
        if name and self.fields.convention not in ("", name):
            raise ValueError("invalid combination of date conventions")
        self.fields.convention = name or self.fields.convention

    def _read_keyword(self, node: Node, index: int) -> None:
        name = node.name
        if name == "FX":
            self.is_exact = True
        elif name in _NUMBERS:
            self._read_number_keyword(node, index)
        elif name == "Y,YYY":
            self._read_thousands(node)
        elif name in _WORDS:
            self._read_word(node)
        elif name in ("TZ", "OF", "TZH"):
            self._read_zone(node, index)
        elif name == "TZM":
            self.fields.zone_sign = self.fields.zone_sign or 1
            self._set_number("zone_minute", 2, node, index)
        if node.ordinal and (name in _NUMBERS or name == "Y,YYY"):
            self.place = min(self.place + 2, len(self.text))

    def _read_number_keyword(self, node: Node, index: int) -> None:
        fields, name = self.fields, node.name
        field, width = _NUMBERS[name]
        if name.startswith("FF"):
            fields.precision = width
        used = self._set_number(field, width, node, index)
        if name in ("HH", "HH12"):
            fields.has_half_day_clock = True
        elif field == "millis":
            fields.millis *= {1: 100, 2: 10}.get(used, 1)
        elif field == "micros":
            fields.micros *= 10 ** max(6 - used, 0) if used else 1
        elif name == "ID":
            fields.weekday = fields.weekday + 1 if fields.weekday < 7 else 1
        elif field == "year":
            fields.year_digits = width
            if width < 4 and used < 4:
                fields.year = _nearest_to_2020(fields.year)

    def _set_number(self, field: str, width: int, node: Node, index: int) -> int:
        """Read a number into a field, and return how many characters it used."""
        start = self.place
        self._skip_spaces()
        piece = self.text[self.place : self.place + width]
        if node.fill or self._is_followed_by_other(node, index):
            self.place = start
            match = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+").match(self.text, start)
        else:
            if len(piece) < width:
                raise ValueError(f'source string too short for "{node.text}" formatting field')
            match = re.match(r"[+-]?[0-9]+", piece)
            if match and match.end() < width:
                raise ValueError(f'invalid value "{piece}" for "{node.text}"')
        self.place += len(match[0]) if match else 0
        if self.place == start:
            raise ValueError(f'invalid value "{piece}" for "{node.text}"')
        value = int(match[0]) if match else 0
        if not -(2**31) <= value < 2**31:
            raise ValueError(f'value for "{node.text}" in source string is out of range')
        if field:
            self.fields.set(field, value, node)
        return self.place - start

    def _is_followed_by_other(self, node: Node, index: int) -> bool:
        """Whether the next node is not a digit, so that all digits belong to this number."""
        if node.ordinal or index + 1 == len(self.nodes):
            return True
        following = self.nodes[index + 1]
        if following.kind == "keyword":
            return following.name not in _DIGITS
        return not (following.text.isascii() and following.text.isdigit())

    def _read_thousands(self, node: Node) -> None:
        match = _THOUSANDS.match(self.text, self.place)
        if not match:
            raise ValueError(f'invalid value "{self.text[self.place :]}" for "Y,YYY"')
        years = int(match[1]) * 1000 + int(match[2])
        if not -(2**31) <= years < 2**31:
            raise ValueError('value for "Y,YYY" in source string is out of range')
        self.fields.set("year", years, node)
        self.fields.year_digits = 4
        self.place = match.end()

    def _read_word(self, node: Node) -> None:
        field, words, number_of = _WORDS[node.name]
        rest = self.text[self.place :]
        for index, word in enumerate(words):
            if rest[: len(word)].isascii() and rest[: len(word)].lower() == word.lower():
                self.place += len(word)
                self.fields.set(field, number_of(index), node)
                break
        else:
            piece = re.split(r"[ \t\n\r\f\v]", rest, maxsplit=1)[0]
            raise ValueError(f'invalid value "{piece}" for "{node.text}"')
        if field == "is_afternoon":
            self.fields.has_half_day_clock = True
        if field == "weekday":
            self.fields.weekday += 1

    def _read_zone(self, node: Node, index: int) -> None:
        rest = self.text[self.place :]
        if node.name == "TZ":
            letters = re.match(r"[A-Za-z]*", rest)
            longest = letters[0].lower()[:10] if letters else ""
            for size in range(len(longest), 0, -1):
                if zone := find_abbreviation(longest[:size]):
                    self.fields.zone, self.fields.zone_sign = zone, 0
                    self.place += size
                    return
            if longest:
                raise ValueError(f'invalid value "{rest}" for "{node.text}"')
        if rest[:1] in ("+", "-", " "):
            self.fields.zone_sign = -1 if rest[0] == "-" else 1
            self.place += 1
        else:
            is_minus = self.skipped > 0 and self.text[self.place - 1] == "-"
            self.fields.zone_sign = -1 if is_minus else 1
        self._set_number("zone_hour", 2, node, index)
        if node.name != "TZH" and self.text[self.place : self.place + 1] == ":":
            self.place += 1
            self._set_number("zone_minute", 2, node, index)


# The field of a keyword, the words it knows, and the number for each.
_WORDS: dict[str, tuple[str, list[str] | tuple[str, ...], Callable[[int], int]]] = {
    **dict.fromkeys(("A.M.", "P.M."), ("is_afternoon", _LONG_HALVES, int)),
    **dict.fromkeys(("AM", "PM"), ("is_afternoon", _HALVES, int)),
    **dict.fromkeys(("A.D.", "B.C."), ("is_before_christ", _LONG_ERAS, int)),
    **dict.fromkeys(("AD", "BC"), ("is_before_christ", _ERAS, int)),
    "MONTH": ("month", MONTHS, lambda index: index + 1),
    "MON": ("month", _SHORT_MONTHS, lambda index: index + 1),
    "DAY": ("weekday", DAYS, int),
    "DY": ("weekday", _SHORT_DAYS, int),
    "RM": ("month", ROMAN[::-1], lambda index: 12 - index),
}


def _nearest_to_2020(year: int) -> int:
    if year < 70 or 100 <= year < 520:
        return year + 2000
    return year + 1900 if year < 100 else year + 1000 if year < 1000 else year


SIGNATURES: Calls = {
    "to_date(text, text) -> date": read_date,
    "to_timestamp(text, text) -> timestamptz": read_timestamp,
}
