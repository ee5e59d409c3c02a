"""Roots, powers, exponentials and logarithms of PostgreSQL's numeric, exact to the last digit."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal
from functools import partial

from dataflow.pipelines.pg_functions import numeric
from dataflow.pipelines.pg_functions.floats import check_logarithm
from dataflow.pipelines.pg_functions.signatures import Calls

LOG10_E = 0.434294481903252  # as short as in PostgreSQL's source: its estimates depend on it
EXP_LIMIT = 6000  # above this exponent, exp overflows or is zero
GUARD = 20  # extra digits computed


def square_root_to_scale(value: Decimal, scale: int) -> Decimal:
    """The root rounded half away from zero."""
    shifted = numeric.EXACT.scaleb(value, 2 * (scale + 1)).quantize(numeric.ONE, ROUND_DOWN, numeric.EXACT)
    root = math.isqrt(int(shifted))
    return numeric.EXACT.scaleb(Decimal((root + 5) // 10), -scale)


def square_root(value: Decimal) -> Decimal:
    if value < 0:
        raise ValueError("cannot take square root of a negative number")
    digits = numeric.weight_of(value) * 2 + 1
    return square_root_to_scale(value, _limited(numeric.MIN_SIGNIFICANT - digits, value))


def exponential(value: Decimal) -> Decimal:
    """e to the power of the value."""
    weight = max(min(float(value) * LOG10_E, 2000.0), -2000.0)
    return _exponential_to_scale(value, _limited(numeric.MIN_SIGNIFICANT - int(weight), value))


def natural_logarithm(value: Decimal) -> Decimal:
    check_logarithm(value)
    return _logarithm_to_scale(value, _limited(numeric.MIN_SIGNIFICANT - _estimate_weight(value), value))


def logarithm(base: Decimal, value: Decimal) -> Decimal:
    """The logarithm of the value to a base."""
    weights = [_estimate_weight(number) for number in (base, value)]
    weight = weights[1] - weights[0]
    scale = _limited(numeric.MIN_SIGNIFICANT - weight, base, value)
    # PostgreSQL checks the base first, so its error comes first.
    for number in (base, value):
        check_logarithm(number)
    logarithms = [
        _logarithm_to_scale(number, max(scale + weight - own + 8, 0))
        for number, own in zip((base, value), weights, strict=True)
    ]
    return numeric.divide_to_scale(logarithms[1], logarithms[0], scale)


def power(base: Decimal, exponent: Decimal) -> Decimal:
    if not base and exponent < 0:
        raise ValueError("zero raised to a negative power is undefined")
    is_whole = exponent == exponent.to_integral_value(ROUND_DOWN, numeric.EXACT)
    if is_whole and -(2**31) <= exponent < 2**31:
        return _whole_power(base, exponent)
    if not base:
        return numeric.rescaled(numeric.ZERO, numeric.MIN_SIGNIFICANT)
    if base > 0:
        return _fractional_power(base, exponent)
    if not is_whole:
        raise ValueError("a negative number raised to a non-integer power yields a complex result")
    found = _fractional_power(base.copy_abs(), exponent)
    return found.copy_negate() if found and numeric.EXACT.remainder(exponent, Decimal(2)) else found


def _fractional_power(base: Decimal, exponent: Decimal) -> Decimal:
    own = _estimate_weight(base)
    # An estimate with eight digits: PostgreSQL's rounding of it determines the scale of the result.
    first_scale = max(8 - own, 0)
    first = numeric.EXACT.multiply(_logarithm_to_scale(base, first_scale), exponent)
    weight = float(_rounded(first, first_scale))
    if abs(weight) > EXP_LIMIT / 3 * 3.01:
        if weight > 0:
            raise ValueError(numeric.OVERFLOW)
        return numeric.rescaled(numeric.ZERO, numeric.MAX_RESULT_SCALE)
    weight *= LOG10_E
    scale = _limited(numeric.MIN_SIGNIFICANT - int(weight), base, exponent)
    inner_scale = max(max(scale + int(weight), 0) - own + 8, 0)
    product = numeric.EXACT.multiply(_logarithm_to_scale(base, inner_scale), exponent)
    return _exponential_to_scale(_rounded(product, inner_scale), scale)


def _whole_power(base: Decimal, exponent: Decimal) -> Decimal:
    times = int(exponent)
    weight = times * _estimate_log10(base) if base else 0.0
    if weight > numeric.WHOLE_DIGITS:
        raise ValueError(numeric.OVERFLOW)
    if weight + 1 < -numeric.MAX_RESULT_SCALE:
        return numeric.rescaled(numeric.ZERO, numeric.MAX_RESULT_SCALE)
    scale = _limited(numeric.MIN_SIGNIFICANT - int(weight), base, exponent)
    if not base:
        return numeric.rescaled(numeric.ZERO if times else numeric.ONE, scale)
    digits = max(int(weight) + scale, 1) + len(str(abs(times))) + GUARD
    return numeric.rescaled(numeric.context_of(digits).power(base, times), scale)


def _exponential_to_scale(value: Decimal, scale: int) -> Decimal:
    """The Taylor series of a fraction of the value, squared back; truncated where PostgreSQL truncates it.

    More digits would change the result: exp(-0.00000001) ends in 1, because PostgreSQL sees a tie there.
    """
    estimate = float(value)
    if abs(estimate) >= EXP_LIMIT:
        if estimate > 0:
            raise ValueError(numeric.OVERFLOW)
        return numeric.rescaled(numeric.ZERO, scale)
    halvings, rest = 0, abs(estimate)
    while rest > 0.01:
        halvings, rest = halvings + 1, rest / 2
    part = numeric.EXACT.scaleb(numeric.EXACT.multiply(value, Decimal(5**halvings)), -halvings)
    digits = 1 + int(estimate * LOG10_E) + scale + int(halvings * 0.301029995663981)
    digits = max(digits, 0) + 8
    found = _sum_exponential(part, digits - 1)
    for _ in range(halvings):
        found = numeric.rescaled(
            numeric.EXACT.multiply(found, found), max(digits - numeric.weight_of(found) * 8, 0)
        )
    return numeric.rescaled(found, scale)


def _sum_exponential(value: Decimal, scale: int) -> Decimal:
    found, term, number = numeric.EXACT.add(numeric.ONE, value), value, 2
    while term := numeric.divide_to_scale(
        numeric.rescaled(numeric.EXACT.multiply(term, value), scale), Decimal(number), scale
    ):
        found, number = numeric.EXACT.add(found, term), number + 1
    return found


def _logarithm_to_scale(value: Decimal, scale: int) -> Decimal:
    digits = max(_estimate_weight(value) + scale, 0) + GUARD
    return numeric.rescaled(numeric.context_of(digits).ln(value), scale)


def _rounded(value: Decimal, scale: int) -> Decimal:
    """Round to a scale, even if the result is too long for a numeric."""
    return value.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, numeric.EXACT)


def _limited(scale: int, *operands: Decimal) -> int:
    """The scale, at least that of the operand and at most PostgreSQL's limit."""
    return min(max(scale, *map(numeric.scale_of, operands), 0), numeric.MAX_RESULT_SCALE)


def _estimate_weight(value: Decimal) -> int:
    """The decimal weight of the natural logarithm, estimated like PostgreSQL."""
    if value <= 0:
        return 0
    if Decimal("0.9") <= value <= Decimal("1.1"):
        rest = numeric.EXACT.subtract(value, numeric.ONE)
        return numeric.weight_of(rest) * 4 + int(math.log10(numeric.first_digit_of(rest))) if rest else 0
    digits, shift = numeric.first_digit_of(value), numeric.weight_of(value) * 4
    following = int(numeric.EXACT.remainder(numeric.EXACT.scaleb(value, 4 - shift), Decimal(10_000)))
    if numeric.EXACT.remainder(
        value, numeric.EXACT.scaleb(numeric.ONE, shift)
    ):  # more than one digit in base 10,000
        digits, shift = digits * 10_000 + following, shift - 4
    estimate = abs(math.log(digits) + shift * 2.302585092994046)
    return int(math.log10(estimate))


def _estimate_log10(value: Decimal) -> float:
    """The decimal logarithm of the absolute value, from its first four digits in base 10,000."""
    last = -numeric.scale_of(value.normalize(numeric.EXACT)) // 4
    rest = min(numeric.weight_of(value) - last, 3)
    shift = (numeric.weight_of(value) - rest) * 4
    return math.log10(float(int(numeric.EXACT.scaleb(value.copy_abs(), -shift)))) + shift


SIGNATURES: Calls = {
    "sqrt(numeric) -> numeric": square_root,
    "exp(numeric) -> numeric": exponential,
    "ln(numeric) -> numeric": natural_logarithm,
    "log, log10(numeric) -> numeric": partial(logarithm, Decimal(10)),
    "log(numeric, numeric) -> numeric": logarithm,
    "power, pow, ^(numeric, numeric) -> numeric": power,
}
