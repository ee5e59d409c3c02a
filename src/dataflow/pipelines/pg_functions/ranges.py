"""generate_series between two values, and width_bucket among bounds or sorted thresholds."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, TypeVar

from dataflow.pipelines.pg_functions import floats, intervals, numeric, timestamps
from dataflow.pipelines.pg_functions.floats import INFINITY
from dataflow.pipelines.pg_functions.signatures import Calls, Interval, for_each
from dataflow.pipelines.pg_functions.timestamps import STAMPS

Number = TypeVar("Number", float, Decimal)
ZERO_STEP = "step size cannot equal zero"


def series_of_integers(start: int, stop: int, step: int = 1) -> list[int]:
    if step == 0:
        raise ValueError(ZERO_STEP)
    return list(range(start, stop + (1 if step > 0 else -1), step))


def _make_series(add: Callable[[Any, Any], Any], start: Any, stop: Any, step: Any = numeric.ONE) -> list[Any]:
    size = intervals.sort_key(step) if isinstance(step, Interval) else step
    if size == 0:
        raise ValueError(ZERO_STEP)
    found = []
    while start <= stop if size > 0 else start >= stop:
        found.append(start)
        start = add(start, step)
    return found


def _find_bucket(
    find_place: Callable[..., int], operand: Number, low: Number, high: Number, count: int
) -> int:
    """The bucket of `operand` among `count` equal ones; 0 or count + 1 outside the bounds."""
    if count <= 0:
        raise ValueError("count must be greater than zero")
    if any(map(math.isnan, (operand, low, high))):
        raise ValueError("operand, lower bound, and upper bound cannot be NaN")
    if INFINITY in (abs(low), abs(high)):
        raise ValueError("lower and upper bounds must be finite")
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
    part = numeric.EXACT.multiply(numeric.EXACT.subtract(operand, low), Decimal(count))
    return int(numeric.EXACT.divide_int(part, numeric.EXACT.subtract(high, low)))


def count_passed(key: Callable[[Any], Any] | None, operand: Any, thresholds: Sequence[Any]) -> int:
    """The number of sorted thresholds that are not greater than the operand."""
    if any(threshold is None for threshold in thresholds):
        raise ValueError("thresholds array must not contain NULLs")
    return bisect_right(thresholds, key(operand) if key else operand, key=key)


_COUNTS = dict.fromkeys(
    ("smallint", "integer", "bigint", "numeric", "text", "date", *STAMPS), partial(count_passed, None)
)
_COUNTS |= dict.fromkeys(("real", "double"), partial(count_passed, floats.sort_key))
_COUNTS |= {"interval": partial(count_passed, intervals.sort_key)}

SIGNATURES: Calls = {
    "generate_series(integer, integer, integer?) -> setof integer": series_of_integers,
    "generate_series(bigint, bigint, bigint?) -> setof bigint": series_of_integers,
    "generate_series(numeric, numeric, numeric?) -> setof numeric": partial(_make_series, numeric.add),
    **for_each(
        "generate_series({}, {}, interval) -> setof {}",
        dict.fromkeys(STAMPS, partial(_make_series, timestamps.add_interval)),
    ),
    **for_each("width_bucket({}, {}[]) -> integer", _COUNTS),
    "width_bucket(double, double, double, integer) -> integer": partial(_find_bucket, _place_of_double),
    "width_bucket(numeric, numeric, numeric, integer) -> integer": partial(_find_bucket, _place_of_numeric),
}
