"""PostgreSQL's numeric: text, casts, arithmetic and rounding, with its number of decimal digits.

A value is a finite Decimal whose exponent is minus its display scale; zero has no sign.
"""

from __future__ import annotations

import decimal
import math
import re
from collections.abc import Callable
from decimal import ROUND_05UP, ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import lru_cache, partial

from dataflow.pipelines.pg_functions.floats import round_to_real
from dataflow.pipelines.pg_functions.integers import BITS, SPACE, fit
from dataflow.pipelines.pg_functions.signatures import Calls, for_each

WHOLE_DIGITS = 131_072  # before the point
MAX_SCALE = 16_383  # decimal digits that a value can have
MAX_RESULT_SCALE = 1000  # maximum decimal digits of the result of division, roots and logarithms
MIN_SIGNIFICANT = 16  # minimum significant digits of those results
OVERFLOW = "value overflows numeric format"

# Holds every sum and product of two values without rounding.
EXACT = decimal.Context(prec=2 * (WHOLE_DIGITS + MAX_SCALE) + 10, Emax=999_999, Emin=-999_999)
ZERO, ONE = Decimal(0), Decimal(1)
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")
_SPECIAL = re.compile(r"nan|[+-]?inf(?:inity)?", re.IGNORECASE)


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
    return divide_to_scale(left, right, select_division_scale(left, right))


def _divide_by(call: Callable[[Decimal, Decimal], Decimal], left: Decimal, right: Decimal) -> Decimal:
    """The quotient truncated to an integer, or its remainder."""
    if not right:
        raise ValueError("division by zero")
    return checked(call(left, right))


def round_to(value: Decimal, scale: int = 0) -> Decimal:
    return rescaled(value, max(min(scale, MAX_SCALE), -WHOLE_DIGITS - 1))


def truncate_to(value: Decimal, scale: int = 0) -> Decimal:
    return rescaled(value, max(min(scale, MAX_SCALE), -WHOLE_DIGITS), ROUND_DOWN)


def _of_wholes(call: Callable[[int, int], int], left: Decimal, right: Decimal) -> Decimal:
    """gcd or lcm, of the numbers as integers of the same scale."""
    scale = max(scale_of(left), scale_of(right))
    found = call(int(EXACT.scaleb(left, scale)), int(EXACT.scaleb(right, scale)))
    return checked(EXACT.scaleb(Decimal(found), -scale))


def factorial(number: int) -> Decimal:
    if number < 0:
        raise ValueError("factorial of a negative number is undefined")
    if number > 32_177:  # the last one whose digits fit
        raise ValueError(OVERFLOW)
    return Decimal(math.factorial(number))


def minimal_scale(value: Decimal) -> int:
    return max(scale_of(value.normalize(EXACT)), 0)


def parse(text: str) -> Decimal:
    """Parse a number like PostgreSQL 15: no underscores, no hexadecimal."""
    bare = text.strip(SPACE)
    if not (match := _NUMBER.fullmatch(bare)):
        if _SPECIAL.fullmatch(bare):
            raise ValueError(f'NaN and infinity are not supported in type numeric: "{text}"')
        raise ValueError(f'invalid input syntax for type numeric: "{text}"')
    if match[1] and abs(int(match[1])) > 2**31 // 2 - 1:
        raise ValueError(OVERFLOW)
    return whole_form(Decimal(bare))


def whole_form(value: Decimal) -> Decimal:
    """Return the value without a positive exponent; ValueError if numeric cannot represent it."""
    if (scale := scale_of(value)) > MAX_SCALE or (value and value.adjusted() >= WHOLE_DIGITS):
        raise ValueError(OVERFLOW)
    if scale < 0:
        return rescaled(value, 0) if value else ZERO
    return value if value else value.copy_abs()


def show(value: Decimal) -> str:
    return format(value, "f")


def fit_precision(value: Decimal, precision: int, scale: int) -> Decimal:
    """Round the value to the scale; ValueError if it has more digits than the precision."""
    found = rescaled(value, scale)
    if found and found.adjusted() >= precision - scale:
        limit = f"10^{precision - scale}" if precision != scale else "1"
        raise ValueError(
            f"numeric field overflow: A field with precision {precision}, scale {scale} must round to an "
            f"absolute value less than {limit}."
        )
    return found


def from_double(value: float, digits: int = 15) -> Decimal:
    """The nearest numeric with the digits that a double guarantees, without trailing zeros."""
    if not math.isfinite(value):
        raise ValueError(f"NaN and infinity are not supported in type numeric: {value}")
    return whole_form(EXACT.create_decimal(f"{value:.{digits}g}"))


def to_integer(kind: str, value: Decimal) -> int:
    """Cast with rounding half away from zero."""
    # Rounding a number with thousands of digits would be slow, and it would be out of range anyway.
    if value and value.adjusted() > 20:
        raise ValueError(f"{kind} out of range")
    return fit(int(rescaled(value, 0)), kind)


def to_double(value: Decimal) -> float:
    return _checked_float(float(value), value, "double precision")


def to_real(value: Decimal) -> float:
    return _checked_float(round_to_real(float(value), value), value, "real")


def _checked_float(found: float, value: Decimal, kind: str) -> float:
    if math.isinf(found) or (found == 0 and value):
        raise ValueError(f'"{show(value)}" is out of range for type {kind}')
    return found


SIGNATURES: Calls = {
    "cast(text) -> numeric": parse,
    "cast(double) -> numeric": from_double,
    "cast(real) -> numeric": partial(from_double, digits=6),
    **for_each("cast(numeric) -> {}", {kind: partial(to_integer, kind) for kind in BITS}),
    "cast(numeric) -> double": to_double,
    "cast(numeric) -> real": to_real,
    "-(numeric) -> numeric": lambda value: checked(value.copy_negate()),
    "abs(numeric) -> numeric": Decimal.copy_abs,
    "sign(numeric) -> numeric": lambda value: Decimal((value > 0) - (value < 0)),
    "ceil, ceiling(numeric) -> numeric": partial(rescaled, scale=0, rounding=ROUND_CEILING),
    "floor(numeric) -> numeric": partial(rescaled, scale=0, rounding=ROUND_FLOOR),
    "trim_scale(numeric) -> numeric": lambda value: rescaled(value, minimal_scale(value)),
    "+(numeric, numeric) -> numeric": add,
    "-(numeric, numeric) -> numeric": subtract,
    "*(numeric, numeric) -> numeric": multiply,
    "/(numeric, numeric) -> numeric": divide,
    "%, mod(numeric, numeric) -> numeric": partial(_divide_by, EXACT.remainder),
    "div(numeric, numeric) -> numeric": partial(_divide_by, EXACT.divide_int),
    "gcd(numeric, numeric) -> numeric": partial(_of_wholes, math.gcd),
    "lcm(numeric, numeric) -> numeric": partial(_of_wholes, math.lcm),
    "round(numeric, integer?) -> numeric": round_to,
    "trunc(numeric, integer?) -> numeric": truncate_to,
    "factorial(bigint) -> numeric": factorial,
    "scale(numeric) -> integer": scale_of,
    "min_scale(numeric) -> integer": minimal_scale,
}
