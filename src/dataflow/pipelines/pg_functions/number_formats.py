"""to_char of numbers, as in the C locale."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

from dataflow.pipelines.pg_functions import numeric, numeric_powers
from dataflow.pipelines.pg_functions.floats import SPECIAL_NAMES, nearest_real, round_even
from dataflow.pipelines.pg_functions.format_pictures import NumberPicture, ordinal_of, parse_number_picture
from dataflow.pipelines.pg_functions.integers import fit, wrap
from dataflow.pipelines.pg_functions.signatures import Calls, for_each

ROMAN_WIDTH = 15
_ROMAN = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL"}
_ROMAN |= {10: "X", 9: "IX", 5: "V", 4: "IV", 1: "I"}


class _Type(NamedTuple):
    """How the numbers of a type are formatted."""

    to_integer: Callable[[Any], int]  # for a Roman numeral; 0 if it is too large
    write_scientific: Callable[[Any, NumberPicture], str]
    shift: Callable[[Any, int], Any]  # by some digits, for V
    write: Callable[[NumberPicture, Any], str]


def _format(kind: _Type, value: Any, text: str) -> str:
    picture = parse_number_picture(text)
    if "RN" in picture.flags:
        return _Writer(picture, write_roman(kind.to_integer(value)), "").write()
    if "EEEE" in picture.flags:
        return kind.write_scientific(value, picture)
    if "V" in picture.flags:
        value = kind.shift(value, picture.shifted)
        picture = picture._replace(before=picture.before + picture.shifted)
    return kind.write(picture, value)


def _write_integer(picture: NumberPicture, value: int) -> str:
    return _write_number(picture, f"{value}.{'0' * picture.after}" if picture.after else str(value))


def _write_float(certain: int, picture: NumberPicture, value: float) -> str:
    """Write a number that has that many certain digits."""
    width = len(_fixed(abs(value), 0))
    after = 0 if width >= certain else min(picture.after, certain - width)
    return _write_number(picture._replace(after=after), _fixed(value, after))


def _fixed(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    return SPECIAL_NAMES.get(text, text)


def _write_scientific(value: Decimal | int, picture: NumberPicture) -> str:
    number = Decimal(value)
    exponent = number.adjusted() if number else 0
    digits = numeric.show(numeric.rescaled(numeric.EXACT.scaleb(number, -exponent), picture.after))
    return f"{'' if value < 0 else ' '}{digits}e{exponent:+03d}"


def _write_scientific_float(value: float, picture: NumberPicture) -> str:
    if not math.isfinite(value):
        filled = "#" * (picture.before + picture.after + 6)
        return " " + filled[1 : picture.before + 1] + "." + filled[picture.before + 2 :]
    return f"{float(value): .{picture.after}e}"


def write_roman(number: int) -> str:
    """A Roman numeral, or `#` for a number that has none."""
    if not 1 <= number <= 3999:
        return "#" * ROMAN_WIDTH
    found = ""
    for size, letters in _ROMAN.items():
        found += letters * (number // size)
        number %= size
    return found


def _write_number(picture: NumberPicture, text: str) -> str:
    """Fit a number with its sign into the template; one that is too long becomes `#`."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("+", text)
    width = len(digits.split(".")[0])
    if width > picture.before:
        digits = "#" * picture.before + "." + "#" * picture.after
    return _Writer(picture, digits, sign, max(picture.before - width, 0)).write()


class _Writer:
    """Formats one number along the nodes of a template."""

    def __init__(self, picture: NumberPicture, digits: str, sign: str, padding: int = 0) -> None:
        self.picture, self.digits, self.sign, self.padding = picture, digits, sign, padding
        self.flags = set(picture.flags)
        self.sign_place = picture.sign_place
        self.zero_start = max(picture.zero_start - 1, 0)
        self.output: list[str] = []
        self.is_in_number = False  # whether a digit has been written
        self.current = self.place = 0  # of the digit in the template, and of the digit in the number
        self.is_sign_written = self._prepare_sign()
        self.last_relevant = self._find_last_relevant()
        self.count = picture.after + picture.before - 1
        if not self.is_sign_written and padding == 0:
            self.count += 1

    def _prepare_sign(self) -> bool:
        if self.flags & {"PL", "MI"}:
            return "MI" in self.flags
        if self.sign != "-" and "FM" in self.flags:
            self.flags.discard("PR")
        if self.sign_place == "first" and self.picture.before == self.picture.before_sign:
            self.sign_place = "last"
        return self.sign == "+" and "FM" in self.flags and "S" not in self.flags

    def _find_last_relevant(self) -> int | None:
        """The end of the digits that FM shows; for an integer the point counts as the last one."""
        if not {"FM", "."} <= self.flags or "." not in self.digits:
            return None
        found = len(self.digits.rstrip("0")) - 1
        if self.picture.zero_end > self.padding:
            found = max(found, min(len(self.digits) - 1, self.picture.zero_end - self.padding))
        return found

    def write(self) -> str:
        for node in self.picture.nodes:
            if node.kind != "keyword":
                self.output.append(node.text)
            elif node.text in "90.Dd":
                self._write_digit(node.name)
            else:
                self.output.append(self._write_keyword(node.text))
        # A C string ends where a digit is missing.
        return "".join(self.output).split("\0", 1)[0]

    def _write_keyword(self, text: str) -> str:
        name, is_filled = text.upper(), "FM" not in self.flags
        if name in (",", "G"):
            return "," if self.is_in_number else " " if is_filled else ""
        if name == "L":
            return " "
        if name == "RN":
            roman = self.digits.lower() if text == "rn" else self.digits
            return roman.rjust(ROMAN_WIDTH) if is_filled else roman
        if name == "TH":
            is_plain = not self.flags & {"RN", "."} and self.digits[0] != "#" and self.sign != "-"
            return ordinal_of(self.digits, text) if is_plain else ""
        if name in ("MI", "PL"):
            own = "-" if name == "MI" else "+"
            return own if self.sign == own else " " if is_filled else ""
        return self.sign if name == "SG" else ""

    def _write_digit(self, name: str) -> None:
        if "RN" in self.flags:
            return
        self.is_in_number = False
        self._write_sign()
        is_zero_filled = "0" in self.flags and self.zero_start <= self.current
        if self.current < self.padding:
            if is_zero_filled:
                self.output.append("0")
                self.is_in_number = True
            elif "FM" not in self.flags:
                self.output.append(" ")
        else:
            self._write_number_part(name)
        self._write_end()
        self.current += 1

    def _write_sign(self) -> None:
        is_start = self.current >= self.padding or ("0" in self.flags and self.zero_start == self.current)
        if self.is_sign_written or not is_start:
            return
        if self._is_bare_zero() and not self._ends_at_point():
            return
        if "S" in self.flags:
            if self.sign_place != "first":
                return
            self.output.append(self.sign)
        elif "PR" in self.flags:
            self.output.append(" " if self.sign == "+" else "<")
        elif self.sign == "-" or "FM" not in self.flags:
            self.output.append("-" if self.sign == "-" else " ")
        self.is_sign_written = True

    def _write_number_part(self, name: str) -> None:
        digit = self.digits[self.place] if self.place < len(self.digits) else "\0"
        if digit == ".":
            if not self._ends_at_point() or "FM" in self.flags:
                self.output.append(".")
        elif self.last_relevant is not None and self.place > self.last_relevant and name != "0":
            pass
        elif self._is_bare_zero():
            if "FM" not in self.flags:
                self.output.append(" ")
            elif self._ends_at_point():
                self.output.append("0")
        else:
            self.output.append(digit)
            self.is_in_number = True
        self.place = min(self.place + 1, len(self.digits))

    def _write_end(self) -> None:
        """The closing bracket, or a sign after the last digit."""
        end = self.count + (self.padding > 0) + ("." in self.flags)
        if self.last_relevant is not None and self.last_relevant == self.place:
            end = self.current
        if self.current + 1 != end:
            return
        if self.is_sign_written and "PR" in self.flags:
            self.output.append(" " if self.sign == "+" else ">")
        elif "S" in self.flags and self.sign_place == "last":
            self.output.append(self.sign)

    def _is_bare_zero(self) -> bool:
        """The zero of 0.1, which `9.9` omits."""
        return (
            "0" not in self.flags and self.place == 0 and self.digits[:1] == "0" and self.picture.after != 0
        )

    def _ends_at_point(self) -> bool:
        return self.last_relevant is not None and self.digits[self.last_relevant] == "."


_TYPES = {
    "numeric": _Type(
        lambda value: int(numeric.round_to(value)) if value.adjusted() < 10 else 0,
        _write_scientific,
        lambda value, digits: numeric.multiply(value, numeric_powers.power(Decimal(10), Decimal(digits))),
        lambda picture, value: _write_number(picture, numeric.show(numeric.round_to(value, picture.after))),
    ),
    "integer": _Type(
        int,
        _write_scientific_float,
        lambda value, digits: wrap(value * (10**digits if 10**digits < 2**31 else -(2**31)), "integer"),
        _write_integer,
    ),
    "bigint": _Type(
        int,
        _write_scientific,
        lambda value, digits: fit(value * fit(10**digits, "bigint"), "bigint"),
        _write_integer,
    ),
    "double": _Type(
        lambda value: int(round_even(value)) if abs(value) < 4000 else 0,
        _write_scientific_float,
        lambda value, digits: value * math.pow(10.0, digits),
        partial(_write_float, 15),
    ),
}
_TYPES["real"] = _TYPES["double"]._replace(
    shift=lambda value, digits: nearest_real(value * nearest_real(math.pow(10.0, digits))),
    write=partial(_write_float, 6),
)

SIGNATURES: Calls = {
    **for_each("to_char({}, text) -> text", {name: partial(_format, kind) for name, kind in _TYPES.items()}),
}
