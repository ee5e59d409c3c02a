"""PostgreSQL's arithmetic where Spark SQL has none with the same result: plain Python, called row by row.

Each takes Python values, NULL as None, and gives a value and a problem. It never raises: Spark calls it for
rows that a CASE excludes, too, so the SQL around it raises what is wrong with a value that is really used.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import partial
from typing import Any

from dataflow.model.record import record

# More than any intermediate value of two 38-digit numbers needs.
_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)
_CUT = Context(prec=200, rounding=ROUND_DOWN)
_DIGITS = 38  # of a Spark decimal
_BASE_DIGITS = 4  # PostgreSQL keeps numerics in digits to base 10,000
_SIGNIFICANT = 16
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)


@record
class Function:
    """A function the SQL calls: to be registered with the session under its name before the SQL is run."""

    name: str
    call: Callable[..., tuple[Decimal | None, str | None]]
    returns: str


def _function(name: str, scale: int, compute: Callable[..., Decimal]) -> Function:
    kind = f"STRUCT<value: DECIMAL({_DIGITS}, {scale}), problem: STRING>"
    return Function(f"dataflow_{name}", partial(_settle, scale, compute), kind)


def _settle(scale: int, compute: Callable[..., Decimal], *values: Any) -> tuple[Decimal | None, str | None]:
    if any(value is None for value in values):
        return None, None
    try:
        return _fit(compute(*values), scale), None
    except (ArithmeticError, ValueError) as error:
        return None, str(error) or "not a number"


def division(scale: int, left_fixed: bool, right_fixed: bool) -> Function:
    """PostgreSQL's numeric division, with a result of that many digits after the point."""
    name = f"divide_{scale}_{left_fixed:d}{right_fixed:d}"
    return _function(name, scale, partial(_divide, left_fixed, right_fixed))


def exact(word: str, scale: int) -> Function:
    """Exact sum, difference, remainder or product of numerics, with that many digits after the point."""
    return _function(f"{word}_{scale}", scale, getattr(_EXACT, word))


def number_from_text(scale: int) -> Function:
    """PostgreSQL's cast of text to a numeric without precision."""
    return _function(f"numeric_{scale}", scale, _read)


def number_from_double(scale: int, significant: int) -> Function:
    """PostgreSQL's cast of a floating point number to numeric: rounded to what its type can tell apart."""
    return _function(f"numeric_{scale}_of_float_{significant}", scale, partial(_from_double, significant))


def average(scale: int) -> Function:
    """A sum by a count, and the number of digits after the point of the longest value in the sum."""
    return _function(f"average_{scale}", scale, _quotient)


def _divide(left_fixed: bool, right_fixed: bool, left: Decimal, right: Decimal) -> Decimal:
    return _quotient(left, right, max(_shown(left, left_fixed), _shown(right, right_fixed)))


def _quotient(left: Decimal, right: Decimal, shown: int) -> Decimal:
    if not right:
        raise ZeroDivisionError("division by zero")
    digits = max(_SIGNIFICANT - _quotient_weight(left, right) * _BASE_DIGITS, shown)
    # Cut, not rounded: a second rounding could go the other way than the only one PostgreSQL does.
    cut = _CUT.quantize(_CUT.divide(left, right), Decimal(1).scaleb(-digits - 1))
    return cut.quantize(Decimal(1).scaleb(-digits), context=_EXACT)


def _quotient_weight(left: Decimal, right: Decimal) -> int:
    left_weight, left_digit = _first_digit(left)
    right_weight, right_digit = _first_digit(right)
    return left_weight - right_weight - (left_digit <= right_digit)


def _first_digit(number: Decimal) -> tuple[int, int]:
    """Weight and value of the first digit to base 10,000, as PostgreSQL's select_div_scale sees them."""
    if not number:
        return 0, 0
    weight = number.adjusted() // _BASE_DIGITS
    return weight, int(abs(number).scaleb(-weight * _BASE_DIGITS, _EXACT))


def _shown(number: Decimal, fixed: bool) -> int:
    shown = number if fixed else number.normalize(_EXACT)
    return max(-int(shown.as_tuple().exponent), 0)


def _read(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f'invalid input for numeric: "{text}"')
    return Decimal(text.strip())


def _from_double(significant: int, value: float) -> Decimal:
    return Decimal(f"{value:.{significant}g}")


def _fit(number: Decimal, scale: int) -> Decimal:
    fitted = number.quantize(Decimal(1).scaleb(-scale), context=_EXACT)
    if fitted != number or fitted.adjusted() + scale >= _DIGITS:
        raise ArithmeticError(
            f"{number} does not fit into {_DIGITS} digits with {scale} after the point; "
            "cast the operands to a smaller numeric(p,s), round earlier, or use the Spark dialect"
        )
    return fitted
