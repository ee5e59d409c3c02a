"""to_char of numbers, as in the C locale."""

from __future__ import annotations

import math
from decimal import Decimal

from dataflow.pipelines.pg_functions import format_pictures, numeric, numeric_powers
from dataflow.pipelines.pg_functions.floats import nearest_real, round_even
from dataflow.pipelines.pg_functions.integers import fit
from dataflow.pipelines.pg_functions.numeric_text import show
from dataflow.pipelines.pg_functions.signatures import Signature, declare

ROMAN_WIDTH = 15
_ROMAN = (
    (1000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
)


def format_numeric(value: Decimal, text: str) -> str:
    picture = format_pictures.parse_number_picture(text)
    if "RN" in picture.flags:
        number = int(numeric.round_to(value)) if value.adjusted() < 10 else 0
        return _write(picture, write_roman(number), "")
    if "EEEE" in picture.flags:
        return _scientific(value, picture)
    if "V" in picture.flags:
        factor = numeric_powers.power(Decimal(10), Decimal(picture.shifted))
        value = numeric.multiply(value, factor)
        picture = picture._replace(before=picture.before + picture.shifted)
    return _write_number(picture, show(numeric.round_to(value, picture.after)))


def format_integer(value: int, text: str) -> str:
    picture = format_pictures.parse_number_picture(text)
    if "RN" in picture.flags:
        return _write(picture, write_roman(value), "")
    if "EEEE" in picture.flags:
        return f"{float(value): .{picture.after}e}"
    if "V" in picture.flags:
        # A 32-bit integer that overflows silently.
        factor = 10**picture.shifted if 10**picture.shifted < 2**31 else -(2**31)
        value = (value * factor + 2**31) % 2**32 - 2**31
        picture = picture._replace(before=picture.before + picture.shifted)
    return _write_number(picture, _with_zeros(value, picture))


def format_bigint(value: int, text: str) -> str:
    picture = format_pictures.parse_number_picture(text)
    if "RN" in picture.flags:
        return _write(picture, write_roman(value), "")
    if "EEEE" in picture.flags:
        return _scientific(Decimal(value), picture)
    if "V" in picture.flags:
        value = fit(value * fit(10**picture.shifted, "bigint"), "bigint")
        picture = picture._replace(before=picture.before + picture.shifted)
    return _write_number(picture, _with_zeros(value, picture))


def format_double(value: float, text: str) -> str:
    return _format_float(value, format_pictures.parse_number_picture(text), 15)


def format_real(value: float, text: str) -> str:
    return _format_float(value, format_pictures.parse_number_picture(text), 6)


def _format_float(value: float, picture: format_pictures.NumberPicture, digits: int) -> str:
    if "RN" in picture.flags:
        return _write(picture, write_roman(int(round_even(value)) if abs(value) < 4000 else 0), "")
    if "EEEE" in picture.flags:
        if not math.isfinite(value):
            filled = "#" * (picture.before + picture.after + 6)
            return " " + filled[1 : picture.before + 1] + "." + filled[picture.before + 2 :]
        return f"{value: .{picture.after}e}"
    if "V" in picture.flags:
        factor = math.pow(10.0, picture.shifted)
        value = nearest_real(value * nearest_real(factor)) if digits == 6 else value * factor
        picture = picture._replace(before=picture.before + picture.shifted)
    width = len(_fixed(abs(value), 0))
    after = 0 if width >= digits else min(picture.after, digits - width)
    return _write_number(picture._replace(after=after), _fixed(value, after))


def _fixed(value: float, digits: int) -> str:
    names = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}
    text = f"{value:.{digits}f}"
    return names.get(text, text)


def _with_zeros(value: int, picture: format_pictures.NumberPicture) -> str:
    return f"{value}.{'0' * picture.after}" if picture.after else str(value)


def _scientific(value: Decimal, picture: format_pictures.NumberPicture) -> str:
    exponent = value.adjusted() if value else 0
    shifted = numeric.EXACT.scaleb(value, -exponent)
    digits = show(numeric.rescaled(shifted, picture.after))
    return f"{'' if value < 0 else ' '}{digits}e{exponent:+03d}"


def write_roman(number: int) -> str:
    """A Roman numeral, or `#` for a number that has none."""
    if not 1 <= number <= 3999:
        return "#" * ROMAN_WIDTH
    found = ""
    for size, letters in _ROMAN:
        found += letters * (number // size)
        number %= size
    return found


def _write_number(picture: format_pictures.NumberPicture, text: str) -> str:
    """Fit a number with its sign into the template; one that is too long becomes `#`."""
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("+", text)
    width = len(digits.split(".")[0])
    if width > picture.before:
        digits = "#" * picture.before + "." + "#" * picture.after
    return _write(picture, digits, sign, max(picture.before - width, 0))


def _write(picture: format_pictures.NumberPicture, digits: str, sign: str, padding: int = 0) -> str:
    if not picture.nodes:
        return ""
    return _Writer(picture, digits, sign, padding).write()


class _Writer:
    """Formats one number along the nodes of a template."""

    def __init__(self, picture: format_pictures.NumberPicture, digits: str, sign: str, padding: int) -> None:
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
            return format_pictures.ordinal_of(self.digits, text) if is_plain else ""
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


SIGNATURES: tuple[Signature, ...] = (
    *declare("to_char(numeric, text) -> text", format_numeric),
    *declare("to_char(integer, text) -> text", format_integer),
    *declare("to_char(bigint, text) -> text", format_bigint),
    *declare("to_char(double, text) -> text", format_double),
    *declare("to_char(real, text) -> text", format_real),
)
