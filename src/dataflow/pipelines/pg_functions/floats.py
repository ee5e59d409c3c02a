"""Arithmetic, rounding and powers of PostgreSQL's double precision and real, with its errors."""

from __future__ import annotations

import math
import operator
import struct
from collections.abc import Callable, Iterator

from dataflow.pipelines.pg_functions.comparisons import list_comparisons
from dataflow.pipelines.pg_functions.signatures import Signature

INFINITY, NAN = math.inf, math.nan
OVERFLOW = "value out of range: overflow"
UNDERFLOW = "value out of range: underflow"


def nearest_real(value: float) -> float:
    """The nearest real; infinite if it is out of range."""
    try:
        found: float = struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return math.copysign(INFINITY, value)
    return found


def add(left: float, right: float) -> float:
    return _not_overflown(left + right, left, right)


def subtract(left: float, right: float) -> float:
    return _not_overflown(left - right, left, right)


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


def natural_logarithm(value: float) -> float:
    return math.log(_check_logarithm(value))


def logarithm10(value: float) -> float:
    return math.log10(_check_logarithm(value))


def round_even(value: float) -> float:
    """Round to the nearest integer, half to even."""
    if not math.isfinite(value):
        return value
    return math.copysign(float(round(value)), value)


def truncate(value: float) -> float:
    return math.copysign(float(math.trunc(value)), value) if math.isfinite(value) else value


def ceiling(value: float) -> float:
    return math.copysign(float(math.ceil(value)), value) if math.isfinite(value) else value


def floor(value: float) -> float:
    return math.copysign(float(math.floor(value)), value) if math.isfinite(value) else value


def sign(value: float) -> float:
    return float((value > 0) - (value < 0))


def width_bucket(operand: float, low: float, high: float, count: int) -> int:
    """The bucket of `operand` among `count` equal ones; 0 or count + 1 outside the bounds."""
    if count <= 0:
        raise ValueError("count must be greater than zero")
    if math.isnan(operand) or math.isnan(low) or math.isnan(high):
        raise ValueError("operand, lower bound, and upper bound cannot be NaN")
    if math.isinf(low) or math.isinf(high):
        raise ValueError("lower and upper bounds must be finite")
    if low == high:
        raise ValueError("lower bound cannot equal upper bound")
    if low > high:
        operand, low, high = -operand, -low, -high
    if operand < low:
        return 0
    if operand >= high:
        if count == 2**31 - 1:
            raise ValueError("integer out of range")
        return count + 1
    if math.isinf(high - low):
        operand, low, high = operand / 2, low / 2, high / 2
    return min(int(count * ((operand - low) / (high - low))), count - 1) + 1


def sort_key(value: float) -> tuple[bool, float]:
    """NaN equals itself and is greater than every number."""
    return (True, 0.0) if math.isnan(value) else (False, value)


def _not_overflown(found: float, *operands: float) -> float:
    if math.isinf(found) and not any(map(math.isinf, operands)):
        raise ValueError(OVERFLOW)
    return found


def _check_logarithm(value: float) -> float:
    if value == 0:
        raise ValueError("cannot take logarithm of zero")
    if value < 0:
        raise ValueError("cannot take logarithm of a negative number")
    return value


_ARITHMETIC = (("+", add), ("-", subtract), ("*", multiply), ("/", divide))
_UNARY = (("-", operator.neg), ("+", operator.pos), ("abs", abs), ("@", abs))
_DOUBLE_FUNCTIONS = (
    ("sqrt", square_root),
    ("|/", square_root),
    ("cbrt", math.cbrt),
    ("||/", math.cbrt),
    ("exp", exponential),
    ("ln", natural_logarithm),
    ("log", logarithm10),
    ("log10", logarithm10),
    ("round", round_even),
    ("trunc", truncate),
    ("ceil", ceiling),
    ("ceiling", ceiling),
    ("floor", floor),
    ("sign", sign),
)


def _list_signatures() -> Iterator[Signature]:
    for left in ("real", "double"):
        for right in ("real", "double"):
            pair = (left, right)
            wider = "real" if pair == ("real", "real") else "double"
            for name, call in _ARITHMETIC:
                yield Signature(name, pair, wider, as_real(call) if wider == "real" else call)
            yield from list_comparisons(left, right, sort_key)
        for name, unary in _UNARY:
            yield Signature(name, (left,), left, unary)
    for name, function in _DOUBLE_FUNCTIONS:
        yield Signature(name, ("double",), "double", function)
    for name in ("power", "pow", "^"):
        yield Signature(name, ("double", "double"), "double", power)
    yield Signature("width_bucket", ("double", "double", "double", "integer"), "integer", width_bucket)


SIGNATURES: tuple[Signature, ...] = tuple(_list_signatures())
