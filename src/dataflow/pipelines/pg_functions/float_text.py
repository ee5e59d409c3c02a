"""Parses floating-point numbers, and formats them with the fewest digits that preserve the value.

A `real` is a Python float whose value fits in 32 bits.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

from dataflow.pipelines.pg_functions.floats import SPECIAL_NAMES, nearest_real, round_to_real
from dataflow.pipelines.pg_functions.integers import SPACE
from dataflow.pipelines.pg_functions.signatures import Calls

DECIMAL = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
HEXADECIMAL = re.compile(r"[-+]?0[xX](?:[0-9a-fA-F]+(?:\.[0-9a-fA-F]*)?|\.[0-9a-fA-F]+)(?:[pP][-+]?[0-9]+)?")
SPECIAL = re.compile(r"([-+]?)(?:(inf(?:inity)?)|nan(?:\(\w*\))?)", re.IGNORECASE | re.ASCII)
ALL_INTEGERS = 2.0**53  # from here on, not every integer is a double
MOST_DIGITS = 17  # that a double needs
EXACT = Context(prec=2000)  # holds the sum of two doubles without rounding


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
    if special := _write_special(number):
        return special
    found = Decimal(repr(abs(number)))
    if abs(number) >= ALL_INTEGERS:
        bounds = _find_bounds(number, math.nextafter(number, -math.inf), math.nextafter(number, math.inf))
        # Python may write the midpoint of two doubles, which PostgreSQL never writes.
        if not bounds[0] < found < bounds[1]:
            found = _find_shortest(number, bounds)
    return _layout(number, found, 15)


def real_out(number: float) -> str:
    """Format a real."""
    if special := _write_special(number):
        return special
    bounds = _find_bounds(number, step(number, -1), step(number, 1))
    return _layout(number, _find_shortest(number, bounds), 6)


def _write_special(number: float) -> str:
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    return "" if math.isfinite(number) else SPECIAL_NAMES[f"{number}"]


def _find_bounds(number: float, *neighbors: float) -> tuple[Decimal, Decimal]:
    """The midpoints between the absolute value of a number and its neighbors, the lower one first."""
    exact = abs(Decimal(number))
    finite = [abs(Decimal(other)) for other in neighbors if math.isfinite(other)]
    if len(finite) == 1:  # the largest number: the same distance up as down
        finite.append(EXACT.subtract(EXACT.multiply(2, exact), finite[0]))
    low, high = (EXACT.divide(EXACT.add(exact, other), 2) for other in sorted(finite))
    return low, high


def _find_shortest(number: float, bounds: tuple[Decimal, Decimal]) -> Decimal:
    """The number with the fewest digits strictly between the bounds, and of those the nearest."""
    contexts = (
        Context(digits, rounding)
        for digits in range(1, MOST_DIGITS + 1)
        for rounding in (ROUND_HALF_EVEN, ROUND_FLOOR, ROUND_CEILING)
    )
    rounded = (context.plus(abs(Decimal(number))) for context in contexts)
    return next(found for found in rounded if bounds[0] < found < bounds[1])


def _layout(number: float, found: Decimal, fixed_below: int) -> str:
    sign, exponent = "-" if number < 0 else "", found.adjusted()
    digits = "".join(map(str, found.as_tuple().digits)).rstrip("0")
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
