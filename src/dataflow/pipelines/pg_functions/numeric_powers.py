"""Roots, powers, exponentials and logarithms of PostgreSQL's numeric, exact to the last digit."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_HALF_UP, Decimal

from dataflow.pipelines.pg_functions.numeric import (
    EXACT,
    MAX_RESULT_SCALE,
    MIN_SIGNIFICANT,
    ONE,
    OVERFLOW,
    WHOLE_DIGITS,
    ZERO,
    context_of,
    divide_to_scale,
    first_digit_of,
    rescaled,
    scale_of,
    weight_of,
)
from dataflow.pipelines.pg_functions.signatures import Signature, declare

LOG10_E = 0.434294481903252  # as short as in PostgreSQL's source: its estimates depend on it
EXP_LIMIT = 6000  # above this exponent, exp overflows or is zero
GUARD = 20  # extra digits computed


def square_root_to_scale(value: Decimal, scale: int) -> Decimal:
    """The root rounded half away from zero."""
    shifted = EXACT.scaleb(value, 2 * (scale + 1)).quantize(ONE, ROUND_DOWN, EXACT)
    root = math.isqrt(int(shifted))
    return EXACT.scaleb(Decimal((root + 5) // 10), -scale)


def square_root(value: Decimal) -> Decimal:
    if value < 0:
        raise ValueError("cannot take square root of a negative number")
    digits = weight_of(value) * 2 + 1
    return square_root_to_scale(value, _limited(MIN_SIGNIFICANT - digits, value))


def exponential(value: Decimal) -> Decimal:
    """e to the power of the value."""
    weight = max(min(float(value) * LOG10_E, 2000.0), -2000.0)
    return _exponential_to_scale(value, _limited(MIN_SIGNIFICANT - int(weight), value))


def natural_logarithm(value: Decimal) -> Decimal:
    _check_logarithm(value)
    return _logarithm_to_scale(value, _limited(MIN_SIGNIFICANT - _estimate_weight(value), value))


def logarithm(base: Decimal, value: Decimal) -> Decimal:
    """The logarithm of the value to a base."""
    weights = [_estimate_weight(number) for number in (base, value)]
    weight = weights[1] - weights[0]
    scale = _limited(MIN_SIGNIFICANT - weight, base, value)
    # PostgreSQL checks the base first, so its error comes first.
    for number in (base, value):
        _check_logarithm(number)
    logarithms = [
        _logarithm_to_scale(number, max(scale + weight - own + 8, 0))
        for number, own in zip((base, value), weights, strict=True)
    ]
    return divide_to_scale(logarithms[1], logarithms[0], scale)


def logarithm10(value: Decimal) -> Decimal:
    return logarithm(Decimal(10), value)


def power(base: Decimal, exponent: Decimal) -> Decimal:
    if not base and exponent < 0:
        raise ValueError("zero raised to a negative power is undefined")
    is_whole = exponent == exponent.to_integral_value(ROUND_DOWN, EXACT)
    if is_whole and -(2**31) <= exponent < 2**31:
        return _whole_power(base, exponent)
    if not base:
        return rescaled(ZERO, MIN_SIGNIFICANT)
    if base > 0:
        return _fractional_power(base, exponent)
    if not is_whole:
        raise ValueError("a negative number raised to a non-integer power yields a complex result")
    found = _fractional_power(base.copy_abs(), exponent)
    return found.copy_negate() if found and EXACT.remainder(exponent, Decimal(2)) else found


def _fractional_power(base: Decimal, exponent: Decimal) -> Decimal:
    own = _estimate_weight(base)
    # An estimate with eight digits: PostgreSQL's rounding of it determines the scale of the result.
    first_scale = max(8 - own, 0)
    first = EXACT.multiply(_logarithm_to_scale(base, first_scale), exponent)
    weight = float(_rounded(first, first_scale))
    if abs(weight) > EXP_LIMIT / 3 * 3.01:
        if weight > 0:
            raise ValueError(OVERFLOW)
        return rescaled(ZERO, MAX_RESULT_SCALE)
    weight *= LOG10_E
    scale = _limited(MIN_SIGNIFICANT - int(weight), base, exponent)
    inner_scale = max(max(scale + int(weight), 0) - own + 8, 0)
    product = EXACT.multiply(_logarithm_to_scale(base, inner_scale), exponent)
    return _exponential_to_scale(_rounded(product, inner_scale), scale)


def _whole_power(base: Decimal, exponent: Decimal) -> Decimal:
    times = int(exponent)
    weight = times * _estimate_log10(base) if base else 0.0
    if weight > WHOLE_DIGITS:
        raise ValueError(OVERFLOW)
    if weight + 1 < -MAX_RESULT_SCALE:
        return rescaled(ZERO, MAX_RESULT_SCALE)
    scale = _limited(MIN_SIGNIFICANT - int(weight), base, exponent)
    if not base:
        return rescaled(ZERO if times else ONE, scale)
    digits = max(int(weight) + scale, 1) + len(str(abs(times))) + GUARD
    return rescaled(context_of(digits).power(base, times), scale)


def _exponential_to_scale(value: Decimal, scale: int) -> Decimal:
    """The Taylor series of a fraction of the value, squared back; truncated where PostgreSQL truncates it.

    More digits would change the result: exp(-0.00000001) ends in 1, because PostgreSQL sees a tie there.
    """
    estimate = float(value)
    if abs(estimate) >= EXP_LIMIT:
        if estimate > 0:
            raise ValueError(OVERFLOW)
        return rescaled(ZERO, scale)
    halvings, rest = 0, abs(estimate)
    while rest > 0.01:
        halvings, rest = halvings + 1, rest / 2
    part = EXACT.scaleb(EXACT.multiply(value, Decimal(5**halvings)), -halvings)
    digits = 1 + int(estimate * LOG10_E) + scale + int(halvings * 0.301029995663981)
    digits = max(digits, 0) + 8
    found = _sum_exponential(part, digits - 1)
    for _ in range(halvings):
        found = rescaled(EXACT.multiply(found, found), max(digits - weight_of(found) * 8, 0))
    return rescaled(found, scale)


def _sum_exponential(value: Decimal, scale: int) -> Decimal:
    found, term, number = EXACT.add(ONE, value), value, 2
    while term := divide_to_scale(rescaled(EXACT.multiply(term, value), scale), Decimal(number), scale):
        found, number = EXACT.add(found, term), number + 1
    return found


def _logarithm_to_scale(value: Decimal, scale: int) -> Decimal:
    digits = max(_estimate_weight(value) + scale, 0) + GUARD
    return rescaled(context_of(digits).ln(value), scale)


def _rounded(value: Decimal, scale: int) -> Decimal:
    """Round to a scale, even if the result is too long for a numeric."""
    return value.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, EXACT)


def _check_logarithm(value: Decimal) -> None:
    if not value:
        raise ValueError("cannot take logarithm of zero")
    if value < 0:
        raise ValueError("cannot take logarithm of a negative number")


def _limited(scale: int, *operands: Decimal) -> int:
    """The scale, at least that of the operand and at most PostgreSQL's limit."""
    return min(max(scale, *map(scale_of, operands), 0), MAX_RESULT_SCALE)


def _estimate_weight(value: Decimal) -> int:
    """The decimal weight of the natural logarithm, estimated like PostgreSQL."""
    if value <= 0:
        return 0
    if Decimal("0.9") <= value <= Decimal("1.1"):
        rest = EXACT.subtract(value, ONE)
        return weight_of(rest) * 4 + int(math.log10(first_digit_of(rest))) if rest else 0
    digits, shift = first_digit_of(value), weight_of(value) * 4
    following = int(EXACT.remainder(EXACT.scaleb(value, 4 - shift), Decimal(10_000)))
    if EXACT.remainder(value, EXACT.scaleb(ONE, shift)):  # more than one digit in base 10,000
        digits, shift = digits * 10_000 + following, shift - 4
    estimate = abs(math.log(digits) + shift * 2.302585092994046)
    return int(math.log10(estimate))


def _estimate_log10(value: Decimal) -> float:
    """The decimal logarithm of the absolute value, from its first four digits in base 10,000."""
    last = -scale_of(value.normalize(EXACT)) // 4
    rest = min(weight_of(value) - last, 3)
    shift = (weight_of(value) - rest) * 4
    return math.log10(float(int(EXACT.scaleb(value.copy_abs(), -shift)))) + shift


SIGNATURES: tuple[Signature, ...] = (
    *declare("sqrt(numeric) -> numeric", square_root),
    *declare("exp(numeric) -> numeric", exponential),
    *declare("ln(numeric) -> numeric", natural_logarithm),
    *declare("log, log10(numeric) -> numeric", logarithm10),
    *declare("log(numeric, numeric) -> numeric", logarithm),
    *declare("power, pow, ^(numeric, numeric) -> numeric", power),
)
