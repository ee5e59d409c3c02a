"""Arithmetic and rounding of PostgreSQL's numeric, with PostgreSQL's number of decimal digits.

A value is a finite Decimal whose exponent is minus its display scale; zero has no sign.
"""

from __future__ import annotations

import decimal
import math
from decimal import ROUND_05UP, ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import lru_cache

from dataflow.pipelines.pg_functions.comparisons import list_comparisons
from dataflow.pipelines.pg_functions.signatures import Signature

WHOLE_DIGITS = 131_072  # before the point
MAX_SCALE = 16_383  # decimal digits that a value can have
MAX_RESULT_SCALE = 1000  # maximum decimal digits of the result of division, roots and logarithms
MIN_SIGNIFICANT = 16  # minimum significant digits of those results
OVERFLOW = "value overflows numeric format"

# Holds every sum and product of two values without rounding.
EXACT = decimal.Context(prec=2 * (WHOLE_DIGITS + MAX_SCALE) + 10, Emax=999_999, Emin=-999_999)
ZERO, ONE = Decimal(0), Decimal(1)


@lru_cache(maxsize=4096)
def context_of(precision: int) -> decimal.Context:
    """A context for an intermediate result that is rounded again; the pair rounds correctly."""
    return decimal.Context(prec=precision, rounding=ROUND_05UP, Emax=999_999, Emin=-999_999)


def rescaled(value: Decimal, scale: int, rounding: str = ROUND_HALF_UP) -> Decimal:
    """Round to exactly `scale` decimal digits; a negative scale rounds before the point."""
    found = value.quantize(Decimal((0, (1,), -scale)), rounding, EXACT)
    if scale < 0:
        found = found.quantize(ONE, ROUND_DOWN, EXACT)
    return checked(found)


def checked(value: Decimal) -> Decimal:
    """Return the value, with zero unsigned; ValueError if numeric cannot represent it."""
    if not value:
        return value.copy_abs()
    if value.adjusted() >= WHOLE_DIGITS:
        raise ValueError(OVERFLOW)
    return value


def scale_of(value: Decimal) -> int:
    """How many decimal digits PostgreSQL shows."""
    return -int(value.as_tuple().exponent)


def weight_of(value: Decimal) -> int:
    """The power of 10,000 of the first digit, as PostgreSQL stores the value."""
    return value.adjusted() // 4 if value else 0


def first_digit_of(value: Decimal) -> int:
    """The first digit in base 10,000, 0 for zero."""
    return int(EXACT.scaleb(value.copy_abs(), -4 * weight_of(value))) if value else 0


def add(left: Decimal, right: Decimal) -> Decimal:
    return checked(EXACT.add(left, right))


def subtract(left: Decimal, right: Decimal) -> Decimal:
    return checked(EXACT.subtract(left, right))


def multiply(left: Decimal, right: Decimal) -> Decimal:
    product = checked(EXACT.multiply(left, right))
    return rescaled(product, MAX_SCALE) if scale_of(product) > MAX_SCALE else product


def select_division_scale(left: Decimal, right: Decimal) -> int:
    """The scale of a quotient: at least 16 significant digits, never less than either operand's."""
    weight = weight_of(left) - weight_of(right)
    if first_digit_of(left) <= first_digit_of(right):
        weight -= 1
    scale = max(MIN_SIGNIFICANT - weight * 4, scale_of(left), scale_of(right), 0)
    return min(scale, MAX_RESULT_SCALE)


def divide_to_scale(left: Decimal, right: Decimal, scale: int) -> Decimal:
    """The quotient rounded half away from zero."""
    if not right:
        raise ValueError("division by zero")
    digits = left.adjusted() - right.adjusted() + scale + 3
    return rescaled(context_of(max(digits, 2)).divide(left, right), scale)


def divide(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ValueError("division by zero")
    return divide_to_scale(left, right, select_division_scale(left, right))


def divide_whole(left: Decimal, right: Decimal) -> Decimal:
    """`div`: the quotient truncated to an integer."""
    if not right:
        raise ValueError("division by zero")
    return checked(EXACT.divide_int(left, right))


def modulo(left: Decimal, right: Decimal) -> Decimal:
    if not right:
        raise ValueError("division by zero")
    return checked(EXACT.remainder(left, right))


def negate(value: Decimal) -> Decimal:
    return checked(value.copy_negate())


def absolute(value: Decimal) -> Decimal:
    return value.copy_abs()


def keep(value: Decimal) -> Decimal:
    return value


def sign(value: Decimal) -> Decimal:
    return Decimal((value > 0) - (value < 0))


def round_to(value: Decimal, scale: int = 0) -> Decimal:
    return rescaled(value, max(min(scale, MAX_SCALE), -WHOLE_DIGITS - 1))


def truncate_to(value: Decimal, scale: int = 0) -> Decimal:
    return rescaled(value, max(min(scale, MAX_SCALE), -WHOLE_DIGITS), ROUND_DOWN)


def ceiling(value: Decimal) -> Decimal:
    return rescaled(value, 0, ROUND_CEILING)


def floor(value: Decimal) -> Decimal:
    return rescaled(value, 0, ROUND_FLOOR)


def greatest_common_divisor(left: Decimal, right: Decimal) -> Decimal:
    scale = max(scale_of(left), scale_of(right))
    wholes = (int(EXACT.scaleb(value, scale)) for value in (left, right))
    return EXACT.scaleb(Decimal(math.gcd(*wholes)), -scale)


def least_common_multiple(left: Decimal, right: Decimal) -> Decimal:
    scale = max(scale_of(left), scale_of(right))
    wholes = (int(EXACT.scaleb(value, scale)) for value in (left, right))
    return checked(EXACT.scaleb(Decimal(math.lcm(*wholes)), -scale))


def factorial(number: int) -> Decimal:
    if number < 0:
        raise ValueError("factorial of a negative number is undefined")
    if number > 32_177:  # the last one whose digits fit
        raise ValueError(OVERFLOW)
    return Decimal(math.factorial(number))


def minimal_scale(value: Decimal) -> int:
    return max(scale_of(value.normalize(EXACT)), 0)


def trim_scale(value: Decimal) -> Decimal:
    return rescaled(value, minimal_scale(value))


def width_bucket(operand: Decimal, low: Decimal, high: Decimal, count: int) -> int:
    """The bucket of `operand` among `count` equal ones; 0 or count + 1 outside the bounds."""
    if count <= 0:
        raise ValueError("count must be greater than zero")
    if low == high:
        raise ValueError("lower bound cannot equal upper bound")
    if low > high:
        operand, low, high = operand.copy_negate(), low.copy_negate(), high.copy_negate()
    if operand < low:
        return 0
    if operand < high:
        part = EXACT.multiply(EXACT.subtract(operand, low), Decimal(count))
        return int(EXACT.divide_int(part, EXACT.subtract(high, low))) + 1
    if count == 2**31 - 1:
        raise ValueError("integer out of range")
    return count + 1


_TWO = ("numeric", "numeric")
_ONE_TO_ONE = (
    ("-", negate),
    ("+", keep),
    ("@", absolute),
    ("abs", absolute),
    ("sign", sign),
    ("round", round_to),
    ("trunc", truncate_to),
    ("ceil", ceiling),
    ("ceiling", ceiling),
    ("floor", floor),
    ("trim_scale", trim_scale),
)
_TWO_TO_ONE = (
    ("+", add),
    ("-", subtract),
    ("*", multiply),
    ("/", divide),
    ("%", modulo),
    ("mod", modulo),
    ("div", divide_whole),
    ("gcd", greatest_common_divisor),
    ("lcm", least_common_multiple),
)
SIGNATURES: tuple[Signature, ...] = (
    *(Signature(name, ("numeric",), "numeric", call) for name, call in _ONE_TO_ONE),
    *(Signature(name, _TWO, "numeric", call) for name, call in _TWO_TO_ONE),
    *list_comparisons("numeric", "numeric"),
    Signature("round", ("numeric", "integer"), "numeric", round_to),
    Signature("trunc", ("numeric", "integer"), "numeric", truncate_to),
    Signature("factorial", ("bigint",), "numeric", factorial),
    Signature("scale", ("numeric",), "integer", scale_of),
    Signature("min_scale", ("numeric",), "integer", minimal_scale),
    Signature("width_bucket", (*_TWO, "numeric", "integer"), "integer", width_bucket),
)
