"""Parses and formats numeric, and casts it from and to integers and floats."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import partial

from dataflow.pipelines.pg_functions import numeric
from dataflow.pipelines.pg_functions.floats import round_to_real
from dataflow.pipelines.pg_functions.integers import BITS, SPACE, fit
from dataflow.pipelines.pg_functions.signatures import Signature, declare, declare_each

_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")
_SPECIAL = re.compile(r"nan|[+-]?inf(?:inity)?", re.IGNORECASE)


def parse(text: str) -> Decimal:
    """Parse a number like PostgreSQL 15: no underscores, no hexadecimal."""
    bare = text.strip(SPACE)
    if not (match := _NUMBER.fullmatch(bare)):
        if _SPECIAL.fullmatch(bare):
            raise ValueError(f'NaN and infinity are not supported in type numeric: "{text}"')
        raise ValueError(f'invalid input syntax for type numeric: "{text}"')
    if match[1] and abs(int(match[1])) > 2**31 // 2 - 1:
        raise ValueError(numeric.OVERFLOW)
    return whole_form(Decimal(bare))


def whole_form(value: Decimal) -> Decimal:
    """Return the value without a positive exponent; ValueError if numeric cannot represent it."""
    if (scale := numeric.scale_of(value)) > numeric.MAX_SCALE or (
        value and value.adjusted() >= numeric.WHOLE_DIGITS
    ):
        raise ValueError(numeric.OVERFLOW)
    if scale < 0:
        return numeric.rescaled(value, 0) if value else numeric.ZERO
    return value if value else value.copy_abs()


def show(value: Decimal) -> str:
    return format(value, "f")


def fit_precision(value: Decimal, precision: int, scale: int) -> Decimal:
    """Round the value to the scale; ValueError if it has more digits than the precision."""
    found = numeric.rescaled(value, scale)
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
    return whole_form(numeric.EXACT.create_decimal(f"{value:.{digits}g}"))


def to_integer(kind: str, value: Decimal) -> int:
    """Cast with rounding half away from zero."""
    # Rounding a number with thousands of digits would be slow, and it would be out of range anyway.
    if value and value.adjusted() > 20:
        raise ValueError(f"{kind} out of range")
    return fit(int(numeric.rescaled(value, 0)), kind)


def to_double(value: Decimal) -> float:
    return _checked_float(float(value), value, "double precision")


def to_real(value: Decimal) -> float:
    return _checked_float(round_to_real(float(value), value), value, "real")


def _checked_float(found: float, value: Decimal, kind: str) -> float:
    if math.isinf(found) or (found == 0 and value):
        raise ValueError(f'"{show(value)}" is out of range for type {kind}')
    return found


SIGNATURES: tuple[Signature, ...] = (
    *declare("cast(text) -> numeric", parse),
    *declare("cast(double) -> numeric", from_double),
    *declare("cast(real) -> numeric", partial(from_double, digits=6)),
    *declare_each("cast(numeric) -> {}", {kind: partial(to_integer, kind) for kind in BITS}),
    *declare("cast(numeric) -> double", to_double),
    *declare("cast(numeric) -> real", to_real),
)
