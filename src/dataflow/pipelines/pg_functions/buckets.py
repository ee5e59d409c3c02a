"""width_bucket over sorted thresholds of any ordered type."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from dataflow.pipelines.pg_functions import floats, intervals
from dataflow.pipelines.pg_functions.signatures import Signature


def count_passed(
    operand: Any, thresholds: Sequence[Any], key: Callable[[Any], Any] = lambda value: value
) -> int:
    """The number of sorted thresholds that are not greater than the operand."""
    if any(threshold is None for threshold in thresholds):
        raise ValueError("thresholds array must not contain NULLs")
    return bisect_right(thresholds, key(operand), key=key)


def count_passed_doubles(operand: float, thresholds: Sequence[float]) -> int:
    return count_passed(operand, thresholds, floats.sort_key)


def count_passed_intervals(operand: Any, thresholds: Sequence[Any]) -> int:
    return count_passed(operand, thresholds, intervals.sort_key)


_KEYED = {"real": count_passed_doubles, "double": count_passed_doubles, "interval": count_passed_intervals}
_PLAIN = ("smallint", "integer", "bigint", "numeric", "text", "date", "timestamp", "timestamptz")

SIGNATURES: tuple[Signature, ...] = (
    *(Signature("width_bucket", (kind, f"{kind}[]"), "integer", count_passed) for kind in _PLAIN),
    *(Signature("width_bucket", (kind, f"{kind}[]"), "integer", call) for kind, call in _KEYED.items()),
)
