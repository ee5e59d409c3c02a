"""The final step of PostgreSQL's aggregates: from sums for numeric, from lists for doubles.

Lists contain no NULLs and are in the order in which PostgreSQL would read the rows. None is NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeVar

from dataflow.pipelines.pg_functions import numeric
from dataflow.pipelines.pg_functions.arrays import compare
from dataflow.pipelines.pg_functions.floats import NAN, OVERFLOW
from dataflow.pipelines.pg_functions.numeric_powers import square_root_to_scale
from dataflow.pipelines.pg_functions.signatures import Calls, for_each

Item = TypeVar("Item")

_LIMB = 28


def sum_of_limbs(whole: Decimal, first: Decimal, rest: Decimal, scale: int) -> Decimal:
    """Compute a sum from the sums of whole parts and of the first and next 28 decimal digits."""
    fraction = numeric.EXACT.add(numeric.EXACT.scaleb(first, -_LIMB), numeric.EXACT.scaleb(rest, -2 * _LIMB))
    return numeric.checked(numeric.rescaled(numeric.EXACT.add(whole, fraction), scale))


def variance(count: int, total: Decimal, squares: Decimal, is_sample: bool = True) -> Decimal | None:
    """var_samp or var_pop of numeric or integers, from their count, sum and sum of squares."""
    spread = _spread(count, total, squares, is_sample)
    return numeric.divide(*spread) if spread and spread[0] else spread and numeric.ZERO


def deviation(count: int, total: Decimal, squares: Decimal, is_sample: bool = True) -> Decimal | None:
    """stddev_samp or stddev_pop of numeric or integers."""
    spread = _spread(count, total, squares, is_sample)
    if not spread or not spread[0]:
        return spread and numeric.ZERO
    scale = numeric.select_division_scale(*spread)
    return square_root_to_scale(numeric.divide_to_scale(*spread, scale), scale)


def _spread(count: int, total: Decimal, squares: Decimal, is_sample: bool) -> tuple[Decimal, Decimal] | None:
    """The numerator and denominator of a variance."""
    if count <= is_sample:
        return None
    times = Decimal(count)
    spread = numeric.EXACT.subtract(
        numeric.EXACT.multiply(times, squares), numeric.EXACT.multiply(total, total)
    )
    return spread, Decimal(count * (count - is_sample))


def variance_doubles(values: Iterable[float], is_sample: bool = True) -> float | None:
    """var_samp or var_pop of doubles, by the algorithm of Youngs and Cramer that PostgreSQL uses."""
    count = total = spread = 0.0
    for value in values:
        before, count, total = (count, total), count + 1.0, total + value
        if before[0] == 0:
            spread = spread if math.isfinite(value) else NAN
            continue
        rest = value * count - total
        spread += rest * rest / (count * before[0])
        if math.isinf(total) or math.isinf(spread):
            if not math.isinf(before[1]) and not math.isinf(value):
                raise ValueError(OVERFLOW)
            spread = NAN
    return spread / (count - is_sample) if count > is_sample else None


def deviation_doubles(values: Iterable[float], is_sample: bool = True) -> float | None:
    found = variance_doubles(values, is_sample)
    return found if found is None else math.sqrt(found)


class Regression(NamedTuple):
    """PostgreSQL's running state for pairs of doubles; `sxy` etc. are sums of products of deviations."""

    number: float
    sx: float
    sxx: float
    sy: float
    syy: float
    sxy: float


def _with_pair(old: Regression, y: float, x: float) -> Regression:
    count, sx, sy = old.number + 1.0, old.sx + x, old.sy + y
    if old.number == 0:
        good_x, good_y = math.isfinite(x), math.isfinite(y)
        sxy = 0.0 if good_x and good_y else NAN
        return Regression(count, sx, 0.0 if good_x else NAN, sy, 0.0 if good_y else NAN, sxy)
    rest_x, rest_y, scale = x * count - sx, y * count - sy, 1.0 / (count * old.number)
    sxx, syy = old.sxx + rest_x * rest_x * scale, old.syy + rest_y * rest_y * scale
    sxy = old.sxy + rest_x * rest_y * scale
    infinite_x, infinite_y = (math.isinf(old.sx) or math.isinf(x)), (math.isinf(old.sy) or math.isinf(y))
    is_lost_x = (math.isinf(sx) or math.isinf(sxx)) and not infinite_x
    is_lost_y = (math.isinf(sy) or math.isinf(syy)) and not infinite_y
    if is_lost_x or is_lost_y or (math.isinf(sxy) and not infinite_x and not infinite_y):
        raise ValueError(OVERFLOW)
    sxx, syy, sxy = (NAN if math.isinf(spread) else spread for spread in (sxx, syy, sxy))
    return Regression(count, sx, sxx, sy, syy, sxy)


def aggregate_pairs(name: str, ys: Sequence[float], xs: Sequence[float]) -> float | int | None:
    """The value of one of PAIR_AGGREGATES; PostgreSQL's functions take y first."""
    if name == "regr_count":
        return len(ys)
    found = Regression(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    for y, x in zip(ys, xs, strict=True):
        found = _with_pair(found, y, x)
    if found.number < (2 if name == "covar_samp" else 1):
        return None
    is_vertical = found.sxx == 0
    if (name == "corr" and (is_vertical or found.syy == 0)) or (name in _SLOPES and is_vertical):
        return None
    if name == "regr_r2" and found.syy == 0:
        return 1.0
    return _REGRESSIONS[name](found)


def _quotient(left: float, right: float) -> float:
    """Divide like the processor: the result may be infinity or NaN."""
    if right:
        return left / right
    return NAN if not left or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)


_SLOPES = ("regr_r2", "regr_slope", "regr_intercept")
_REGRESSIONS: dict[str, Callable[[Regression], float]] = {
    "corr": lambda found: _quotient(found.sxy, math.sqrt(found.sxx * found.syy)),
    "covar_pop": lambda found: found.sxy / found.number,
    "covar_samp": lambda found: found.sxy / (found.number - 1.0),
    "regr_avgx": lambda found: found.sx / found.number,
    "regr_avgy": lambda found: found.sy / found.number,
    "regr_intercept": lambda found: (found.sy - found.sx * found.sxy / found.sxx) / found.number,
    "regr_r2": lambda found: _quotient(found.sxy * found.sxy, found.sxx * found.syy),
    "regr_slope": lambda found: found.sxy / found.sxx,
    "regr_sxx": lambda found: found.sxx,
    "regr_sxy": lambda found: found.sxy,
    "regr_syy": lambda found: found.syy,
}
PAIR_AGGREGATES = ("regr_count", *_REGRESSIONS)


def percentile_cont(fraction: float, values: Sequence[float]) -> float | None:
    """The value at a fraction of the sorted values, interpolated between two of them."""
    place = _checked(fraction) * (len(values) - 1)
    if not values:
        return None
    low = values[math.floor(place)]
    if math.floor(place) == math.ceil(place):
        return low
    return low + (place - math.floor(place)) * (values[math.ceil(place)] - low)


def percentile_disc(fraction: float, values: Sequence[Item]) -> Item | None:
    """The first of the sorted values that covers a fraction of them."""
    place = math.ceil(_checked(fraction) * len(values))
    return values[max(place, 1) - 1] if values else None


def _checked(fraction: float) -> float:
    if not 0 <= fraction <= 1:
        shown = "NaN" if math.isnan(fraction) else f"{fraction:g}"
        raise ValueError(f"percentile value {shown} is not between 0 and 1")
    return fraction


def _at_each(percentile: Callable[..., Any], fractions: list[float | None], values: list[Any]) -> list[Any]:
    return [None if each is None else percentile(each, values) for each in fractions]


def mode(values: Sequence[Item]) -> Item | None:
    """The most frequent of the sorted values; the first one in a tie."""
    found, most, start = None, 0, 0
    for place, value in enumerate(values):
        if compare(values[start], value) != 0:
            start = place
        if place - start + 1 > most:
            found, most = values[start], place - start + 1
    return found


_SUMS = "(bigint, numeric, numeric) -> numeric"

SIGNATURES: Calls = {
    "sum of limbs(numeric, numeric, numeric, integer) -> numeric": sum_of_limbs,
    f"stddev of sums, stddev_samp of sums{_SUMS}": deviation,
    f"stddev_pop of sums{_SUMS}": partial(deviation, is_sample=False),
    f"variance of sums, var_samp of sums{_SUMS}": variance,
    f"var_pop of sums{_SUMS}": partial(variance, is_sample=False),
    "stddev of list, stddev_samp of list(double[]) -> double": deviation_doubles,
    "stddev_pop of list(double[]) -> double": partial(deviation_doubles, is_sample=False),
    "variance of list, var_samp of list(double[]) -> double": variance_doubles,
    "var_pop of list(double[]) -> double": partial(variance_doubles, is_sample=False),
    "regr_count of lists(double[], double[]) -> bigint": partial(aggregate_pairs, "regr_count"),
    **for_each(
        "{} of lists(double[], double[]) -> double",
        {name: partial(aggregate_pairs, name) for name in _REGRESSIONS},
    ),
    "percentile_cont of list(double, double[]) -> double": percentile_cont,
    "percentile_cont of list(double[], double[]) -> double[]": partial(_at_each, percentile_cont),
    "percentile_disc of list(double, any[]) -> any": percentile_disc,
    "percentile_disc of list(double[], any[]) -> any[]": partial(_at_each, percentile_disc),
    "mode of list(any[]) -> any": mode,
}
