"""to_number: parses numbers by a format template, as in the C locale."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cache

from dataflow.pipelines.pg_functions import numeric, numeric_powers
from dataflow.pipelines.pg_functions.format_pictures import NumberPicture, parse_number_picture
from dataflow.pipelines.pg_functions.number_formats import write_roman
from dataflow.pipelines.pg_functions.signatures import Calls

ROMAN = re.compile(r"[ \t-\r]*([IVXLCDMivxlcdm]{0,15})")


def read_number(text: str, picture: str) -> Decimal | None:
    """to_number."""
    if not picture:
        return None
    parsed = parse_number_picture(picture)
    reader = _Reader(text, parsed)
    found = numeric.parse(reader.read())
    found = numeric.fit_precision(
        found, (reader.roman_width or parsed.before) + parsed.shifted + reader.after, reader.after
    )
    if "V" not in parsed.flags:
        return found
    factor = numeric_powers.power(Decimal(10), Decimal(-parsed.shifted))
    return numeric.multiply(found, factor)


class _Reader:
    """Walks through the string along the nodes of the format template."""

    def __init__(self, text: str, picture: NumberPicture) -> None:
        self.text, self.picture, self.flags = text, picture, picture.flags
        self.place = 0
        self.sign, self.digits = " ", ""
        self.before = self.after = self.roman_width = 0  # digits read so far
        self.has_point = False

    def read(self) -> str:
        """The number as a string: a sign or space, then digits."""
        if "EEEE" in self.flags:
            raise ValueError('"EEEE" not supported for input')
        for node in self.picture.nodes:
            if self.place >= len(self.text):
                break
            if node.kind != "keyword":
                self.place += 1
            elif node.text in "90.Dd":
                self._read_digit(node.name)
                self.place += 1
            else:
                self._read_keyword(node.name)
        return self.sign + self.digits.removesuffix(".")

    def _at(self, offset: int = 0) -> str:
        return self.text[self.place + offset : self.place + offset + 1]

    def _read_keyword(self, name: str) -> None:
        if name in (",", "G"):
            # Digits never count as seen while reading, so FM keeps separators.
            if "FM" not in self.flags and self._at() == ",":
                self.place += 1
        elif name == "L":
            self._skip_others(1)
        elif name == "RN":
            roman = str(self._read_roman())
            self.digits, self.roman_width = self.digits + roman, len(roman)
        elif name == "TH":
            if not self.flags & {"RN", "."} and self.sign != "#":
                self._skip_others(2)
        elif name in ("MI", "PL", "SG"):
            signs = {"MI": "-", "PL": "+", "SG": "-+"}[name]
            if self._at() in signs:
                self.sign = self._at()
                self.place += 1
            else:
                self._skip_others(1)

    def _skip_others(self, count: int) -> None:
        """Skip characters that are not part of a number."""
        for _ in range(count):
            if self.place < len(self.text) and self._at() not in "0123456789.,+-":
                self.place += 1

    def _read_digit(self, name: str) -> None:
        """Leave the position at the last character used."""
        if self._at() == " ":
            self.place += 1
        if self.place >= len(self.text):
            return
        if self.sign == " " and name in ("0", "9") and self.before + self.after == 0:
            self._read_first_sign()
            if self.place >= len(self.text):
                return
        is_read = False
        if self._at().isascii() and self._at().isdigit():
            if self.has_point and self.after == self.picture.after:
                return
            self.digits += self._at()
            self.after += self.has_point
            self.before += not self.has_point
            is_read = True
        elif "." in self.flags and not self.has_point and self._at() == ".":
            self.digits += "."
            self.has_point = is_read = True
        if self.sign == " " and self.before + self.after > 0:
            self._read_last_sign(is_read)

    def _read_first_sign(self) -> None:
        is_anchored = "S" in self.flags and self.picture.sign_place == "first"
        is_bracket = "PR" in self.flags and not is_anchored and self._at() == "<"
        if self._at() == "-" or is_bracket:
            self.sign = "-"
        elif self._at() == "+":
            self.sign = "+"
        else:
            return
        self.place += 1

    def _read_last_sign(self, is_read: bool) -> None:
        following = self._at(1)
        if "S" in self.flags and is_read and following and not following.isdigit():
            if following in "-+":
                self.sign = following
                self.place += 1
        elif not is_read and "S" not in self.flags and self.flags & {"PL", "MI"} and self._at() in ("-", "+"):
            self.sign = self._at()

    def _read_roman(self) -> int:
        found = ROMAN.match(self.text, self.place)
        number = _list_numerals().get(found[1].upper()) if found else None
        if not found or number is None:
            raise ValueError("invalid Roman numeral")
        self.place = found.end()
        return number


@cache
def _list_numerals() -> dict[str, int]:
    return {write_roman(number): number for number in range(1, 4000)}


SIGNATURES: Calls = {
    "to_number(text, text) -> numeric": read_number,
}
