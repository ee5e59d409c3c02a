"""width_bucket: among equal buckets between two bounds, or among sorted thresholds of any ordered type."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from dataflow.pipelines.pg_functions import floats, intervals
from dataflow.pipelines.pg_functions.numeric import EXACT
from dataflow.pipelines.pg_functions.signatures import Signature, declare, declare_each

Number = TypeVar("Number", float, Decimal)


def bucket_of_double(operand: float, low: float, high: float, count: int) -> int:
    _check_count(count)
    if math.isnan(operand) or math.isnan(low) or math.isnan(high):
        raise ValueError("operand, lower bound, and upper bound cannot be NaN")
    if math.isinf(low) or math.isinf(high):
        raise ValueError("lower and upper bounds must be finite")
    return _find_bucket(operand, low, high, count, _place_of_double)


def bucket_of_numeric(operand: Decimal, low: Decimal, high: Decimal, count: int) -> int:
    _check_count(count)
    return _find_bucket(operand, low, high, count, _place_of_numeric)


def _check_count(count: int) -> None:
    if count <= 0:
        raise ValueError("count must be greater than zero")


def _find_bucket(
    operand: Number,
    low: Number,
    high: Number,
    count: int,
    find_place: Callable[[Number, Number, Number, int], int],
) -> int:
    """The bucket of `operand` among `count` equal ones; 0 or count + 1 outside the bounds."""
    if low == high:
        raise ValueError("lower bound cannot equal upper bound")
    is_inside = low <= operand < high if low < high else high < operand <= low
    if is_inside:
        return find_place(operand, low, high, count) + 1
    if (operand < low) == (low < high):
        return 0
    if count == 2**31 - 1:
        raise ValueError("integer out of range")
    return count + 1


def _place_of_double(operand: float, low: float, high: float, count: int) -> int:
    if math.isinf(high - low):
        operand, low, high = operand / 2, low / 2, high / 2
    return min(int(count * ((operand - low) / (high - low))), count - 1)


def _place_of_numeric(operand: Decimal, low: Decimal, high: Decimal, count: int) -> int:
    part = EXACT.multiply(EXACT.subtract(operand, low), Decimal(count))
    return int(EXACT.divide_int(part, EXACT.subtract(high, low)))


def count_passed(key: Callable[[Any], Any] | None, operand: Any, thresholds: Sequence[Any]) -> int:
    """The number of sorted thresholds that are not greater than the operand."""
    if any(threshold is None for threshold in thresholds):
        raise ValueError("thresholds array must not contain NULLs")
    return bisect_right(thresholds, key(operand) if key else operand, key=key)


_PLAIN = ("smallint", "integer", "bigint", "numeric", "text", "date", "timestamp", "timestamptz")
_COUNTS = dict.fromkeys(_PLAIN, partial(count_passed, None)) | {
    "real": partial(count_passed, floats.sort_key),
    "double": partial(count_passed, floats.sort_key),
    "interval": partial(count_passed, intervals.sort_key),
}

SIGNATURES: tuple[Signature, ...] = (
    *declare_each("width_bucket({}, {}[]) -> integer", _COUNTS),
    *declare("width_bucket(double, double, double, integer) -> integer", bucket_of_double),
    *declare("width_bucket(numeric, numeric, numeric, integer) -> integer", bucket_of_numeric),
)
