"""Parses and formats numeric and numeric(precision, scale)."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from dataflow.pipelines.pg_functions.numeric import (
    EXACT,
    MAX_SCALE,
    OVERFLOW,
    WHOLE_DIGITS,
    ZERO,
    checked,
    rescaled,
    scale_of,
)
from dataflow.pipelines.pg_functions.signatures import Signature

SPACES = " \t\n\v\f\r"
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE]([+-]?[0-9]+))?")
_SPECIAL = re.compile(r"nan|[+-]?inf(?:inity)?", re.IGNORECASE)


def parse(text: str) -> Decimal:
    """Parse a number like PostgreSQL 15: no underscores, no hexadecimal."""
    bare = text.strip(SPACES)
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
    return checked(value)


def show(value: Decimal) -> str:
    return format(value, "f")


def to_precision(value: Decimal, precision: int, scale: int = 0) -> Decimal:
    """Cast the value to numeric(precision, scale)."""
    if not 1 <= precision <= 1000:
        raise ValueError(f"NUMERIC precision {precision} must be between 1 and 1000")
    if not -1000 <= scale <= 1000:
        raise ValueError(f"NUMERIC scale {scale} must be between -1000 and 1000")
    return fit_precision(value, precision, scale)


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


def from_real(value: float) -> Decimal:
    return from_double(value, 6)


SIGNATURES: tuple[Signature, ...] = (
    Signature("cast", ("text",), "numeric", parse),
    Signature("cast", ("numeric",), "text", show),
    Signature("cast", ("numeric", "integer"), "numeric", to_precision),
    Signature("cast", ("numeric", "integer", "integer"), "numeric", to_precision),
    Signature("cast", ("double",), "numeric", from_double),
    Signature("cast", ("real",), "numeric", from_real),
)
