"""Arithmetic, rounding and powers of PostgreSQL's double precision and real, with its errors."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from functools import partial

from dataflow.pipelines.pg_functions.signatures import Calls, for_each

INFINITY, NAN = math.inf, math.nan
OVERFLOW = "value out of range: overflow"
UNDERFLOW = "value out of range: underflow"
SPECIAL_NAMES = {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}  # by Python's names


def nearest_real(value: float) -> float:
    """The nearest real; infinite if it is out of range."""
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(INFINITY, value)
    return found


def round_to_real(double: float, exact: Decimal) -> float:
    """The real nearest to the exact value; its nearest double may be halfway between two reals."""
    found = nearest_real(double)
    if found == double or not math.isfinite(double) or Decimal(double) == exact:
        return found
    towards = nearest_real(math.nextafter(double, INFINITY if exact > Decimal(double) else -INFINITY))
    if abs(Decimal(double) - Decimal(found)) != abs(Decimal(double) - Decimal(towards)):
        return found
    return towards


def multiply(left: float, right: float) -> float:
    found = _not_overflown(left * right, left, right)
    if found == 0 and left != 0 and right != 0:
        raise ValueError(UNDERFLOW)
    return found


def divide(left: float, right: float) -> float:
    if right == 0:
        if math.isnan(left):
            return NAN
        raise ValueError("division by zero")
    found = _not_overflown(left / right, left)
    if found == 0 and left != 0 and not math.isinf(right):
        raise ValueError(UNDERFLOW)
    return found


def as_real(call: Callable[[float, float], float]) -> Callable[[float, float], float]:
    """The same operation for real: a double is precise enough to round its result again."""

    def rounded(left: float, right: float) -> float:
        exact = call(left, right)
        found = _not_overflown(nearest_real(exact), exact)
        if found == 0 and exact != 0:
            raise ValueError(UNDERFLOW)
        return found

    return rounded


def power(base: float, exponent: float) -> float:
    if math.isnan(base) or math.isnan(exponent):
        return 1.0 if exponent == 0 or base == 1 else NAN
    if base == 0 and exponent < 0:
        raise ValueError("zero raised to a negative power is undefined")
    if base < 0 and math.floor(exponent) != exponent if math.isfinite(exponent) else False:
        raise ValueError("a negative number raised to a non-integer power yields a complex result")
    try:
        found = math.pow(base, exponent)
    except OverflowError:
        raise ValueError(OVERFLOW) from None
    if found == 0 and base != 0 and math.isfinite(base) and math.isfinite(exponent):
        raise ValueError(UNDERFLOW)
    return found


def square_root(value: float) -> float:
    if value < 0:
        raise ValueError("cannot take square root of a negative number")
    return math.sqrt(value)


def exponential(value: float) -> float:
    try:
        found = math.exp(value)
    except OverflowError:
        raise ValueError(OVERFLOW) from None
    if found == 0 and not math.isinf(value):
        raise ValueError(UNDERFLOW)
    return found


def check_logarithm(value: float | Decimal) -> None:
    """ValueError if the value has no logarithm."""
    if value <= 0:
        raise ValueError(f"cannot take logarithm of {'a negative number' if value else 'zero'}")


def _logarithm(call: Callable[[float], float], value: float) -> float:
    check_logarithm(value)
    return call(value)


def round_even(value: float) -> float:
    """Round to the nearest integer, half to even."""
    return _whole(round, value)


def _whole(call: Callable[[float], int], value: float) -> float:
    """Round by a function; zero keeps the sign of the value."""
    return math.copysign(float(call(value)), value) if math.isfinite(value) else value


def sort_key(value: float) -> tuple[bool, float]:
    """NaN equals itself and is greater than every number."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def _not_overflown(found: float, *operands: float) -> float:
    if math.isinf(found) and not any(map(math.isinf, operands)):
        raise ValueError(OVERFLOW)
    return found


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda left, right: _not_overflown(left + right, left, right),
    "-": lambda left, right: _not_overflown(left - right, left, right),
    "*": multiply,
    "/": divide,
}
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    "sqrt, |/": square_root,
    "cbrt, ||/": math.cbrt,
    "exp": exponential,
    "ln": partial(_logarithm, math.log),
    "log, log10": partial(_logarithm, math.log10),
    "round": round_even,
    "trunc": partial(_whole, math.trunc),
    "ceil, ceiling": partial(_whole, math.ceil),
    "floor": partial(_whole, math.floor),
    "sign": lambda value: float((value > 0) - (value < 0)),
}

SIGNATURES: Calls = {
    **for_each("{}(double, double) -> double", _ARITHMETIC | {"power, pow, ^": power}),
    **for_each("{}(real, real) -> real", {name: as_real(call) for name, call in _ARITHMETIC.items()}),
    **for_each("{}(double) -> double", _FUNCTIONS),
}
