"""Parses floating-point numbers, and formats them with the fewest digits that preserve the value.

A `real` is a Python float whose value fits in 32 bits.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from dataflow.pipelines.pg_functions.floats import SPECIAL_NAMES, nearest_real, round_to_real
from dataflow.pipelines.pg_functions.integers import SPACE
from dataflow.pipelines.pg_functions.signatures import Calls

DECIMAL = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
HEXADECIMAL = re.compile(r"[-+]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)(?:[pP][-+]?[0-9]+)?")
SPECIAL = re.compile(r"([-+]?)(?:(inf(?:inity)?)|nan(?:\(\w*\))?)", re.IGNORECASE | re.ASCII)
ALL_INTEGERS = 2.0**53  # from here on, not every integer is a double


def double_in(text: str) -> float:
    """Parse a double."""
    return _read(text, "double precision", _evaluate)


def real_in(text: str) -> float:
    """Parse a real."""
    return _read(text, "real", _evaluate_real)


def _read(text: str, kind: str, evaluate: Callable[[str], float]) -> float:
    stripped = text.strip(SPACE)
    if special := SPECIAL.fullmatch(stripped):
        value = math.inf if special[2] else math.nan
        return -value if special[1] == "-" and special[2] else value
    start = HEXADECIMAL.match(stripped) or DECIMAL.match(stripped)
    if start:
        value = evaluate(start[0])
        # The start of a number may be out of range before the rest is examined.
        if math.isinf(value) or (value == 0 and _has_digits(start[0])):
            raise ValueError(f'"{start[0]}" is out of range for type {kind}')
        if start[0] == stripped:
            return value
    raise ValueError(f'invalid input syntax for type {kind}: "{text}"')


def _evaluate(written: str) -> float:
    if "x" not in written.lower():
        return float(written)
    try:
        return float.fromhex(written)
    except OverflowError:
        return -math.inf if written.startswith("-") else math.inf


def _evaluate_real(written: str) -> float:
    number = _evaluate(written)
    nearest = nearest_real(number)
    is_exact = nearest == number or "x" in written.lower()
    return nearest if is_exact else round_to_real(number, Decimal(written))


def _has_digits(written: str) -> bool:
    mantissa = re.split("[pP]" if "x" in written.lower() else "[eE]", re.sub("0[xX]", "", written))[0]
    return bool(mantissa.strip("+-0."))


def step(value: float, direction: int) -> float:
    """The next 32-bit value up or down."""
    bits: int = struct.unpack("i", struct.pack("f", value))[0]
    if value == 0:
        bits = 1 if direction > 0 else 1 - 2**31
    else:
        bits += direction if value > 0 else -direction
    stepped: float = struct.unpack("f", struct.pack("i", bits))[0]
    return stepped


def double_out(number: float) -> str:
    """Format a double."""
    special = _write_special(number)
    if special is not None:
        return special
    written = f"{number!r}"
    if abs(number) >= ALL_INTEGERS and _is_boundary(number, written):
        neighbors = (math.nextafter(number, -math.inf), math.nextafter(number, math.inf))
        return _layout(*_find_shortest(number, neighbors, 17), 15)
    return _layout(*_get_digits(written), 15)


def real_out(number: float) -> str:
    """Format a real."""
    special = _write_special(number)
    if special is not None:
        return special
    return _layout(*_find_shortest(number, (step(number, -1), step(number, 1)), 9), 6)


def _write_special(number: float) -> str | None:
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    return None if math.isfinite(number) else SPECIAL_NAMES[f"{number}"]


def _is_boundary(number: float, written: str) -> bool:
    """Whether the digits are the midpoint of two doubles, which PostgreSQL never writes."""
    exact = Fraction(written)
    others = (math.nextafter(number, side) for side in (-math.inf, math.inf))
    return any(exact * 2 == Fraction(number) + Fraction(other) for other in others if math.isfinite(other))


def _find_shortest(number: float, neighbors: tuple[float, float], most: int) -> tuple[str, str, int]:
    """The sign, the fewest digits strictly between the midpoints to the neighbors, and the exponent."""
    exact = abs(Fraction(number))
    finite = [abs(Fraction(other)) for other in neighbors if math.isfinite(other)]
    if len(finite) == 1:  # the largest number: the same distance up as down
        finite.append(2 * exact - finite[0])
    lowest, highest = sorted(finite)
    if number == 0 or lowest == highest:
        lowest = Fraction(0)
    low, high = (lowest + exact) / 2, (highest + exact) / 2
    exponent = math.floor(math.log10(abs(number)))
    for count in range(1, most + 1):
        for top in (exponent + 1, exponent, exponent - 1):
            unit = Fraction(10) ** (top - count + 1)
            found = _find_nearest(exact / unit, (low / unit, high / unit))
            if found and len(str(found)) == count:
                return "-" if number < 0 else "", str(found).rstrip("0"), top
    return _get_digits(f"{number:.{most - 1}e}")


def _find_nearest(exact: Fraction, bounds: tuple[Fraction, Fraction]) -> int | None:
    """The nearest integer strictly between the bounds, the even one in a tie."""
    low, high = bounds
    inside = [number for number in (math.floor(exact), math.floor(exact) + 1) if low < number < high]
    return min(inside, key=lambda number: (abs(number - exact), number % 2), default=None)


def _get_digits(written: str) -> tuple[str, str, int]:
    """The sign, the digits, and the exponent of the first digit of a number that Python formatted."""
    mantissa = written.partition("e")[0].lstrip("-")
    digits = mantissa.replace(".", "").strip("0")
    return "-" if written.startswith("-") else "", digits, Decimal(written).adjusted()


def _layout(sign: str, digits: str, exponent: int, fixed_below: int) -> str:
    if -4 <= exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if 0 <= exponent < fixed_below:
        whole = digits[: exponent + 1].ljust(exponent + 1, "0")
        fraction = digits[exponent + 1 :]
        return f"{sign}{whole}.{fraction}" if fraction else sign + whole
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


SIGNATURES: Calls = {
    "cast(text) -> double": double_in,
    "cast(text) -> real": real_in,
    "cast(double) -> text": double_out,
    "cast(real) -> text": real_out,
}
