"""generate_series over numbers and timestamps; returns all rows as a list."""

from __future__ import annotations

from decimal import Decimal

from dataflow.pipelines.pg_functions import intervals, numeric, timestamps
from dataflow.pipelines.pg_functions.signatures import Interval, Signature, declare, declare_each

ZERO_STEP = "step size cannot equal zero"


def series_of_integers(start: int, stop: int, step: int = 1) -> list[int]:
    if step == 0:
        raise ValueError(ZERO_STEP)
    return list(range(start, stop + (1 if step > 0 else -1), step))


def series_of_numeric(start: Decimal, stop: Decimal, step: Decimal = numeric.ONE) -> list[Decimal]:
    if not step:
        raise ValueError(ZERO_STEP)
    found = []
    while start <= stop if step > 0 else start >= stop:
        found.append(start)
        start = numeric.add(start, step)
    return found


def series_of_timestamps(start: int, stop: int, step: Interval) -> list[int]:
    sign = intervals.sort_key(step)
    if sign == 0:
        raise ValueError(ZERO_STEP)
    found = []
    while start <= stop if sign > 0 else start >= stop:
        found.append(start)
        start = timestamps.add_interval(start, step)
    return found


_OF_STAMPS = dict.fromkeys(("timestamp", "timestamptz"), series_of_timestamps)
SIGNATURES: tuple[Signature, ...] = (
    *declare("generate_series(integer, integer, integer?) -> setof integer", series_of_integers),
    *declare("generate_series(bigint, bigint, bigint?) -> setof bigint", series_of_integers),
    *declare("generate_series(numeric, numeric, numeric?) -> setof numeric", series_of_numeric),
    *declare_each("generate_series({}, {}, interval) -> setof {}", _OF_STAMPS),
)
