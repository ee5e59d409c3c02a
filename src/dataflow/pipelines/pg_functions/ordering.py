"""Compares values of one type: NaN equals itself and is greater than any other number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any


def compare(one: Any, other: Any) -> int:
    """-1, 0 or 1 for less, equal or greater; neither value is NULL."""
    if one == other:
        return 0
    first, second = is_nan(one), is_nan(other)
    if first or second:
        return first - second
    return -1 if one < other else 1


def is_nan(value: Any) -> bool:
    """Whether a value is NaN."""
    return isinstance(value, float | Decimal) and math.isnan(value)


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are equal, or both NULL."""
    if one is None or other is None:
        return one is other
    return compare(one, other) == 0


def compare_items(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Compare element by element, NULLs last, and then by length."""
    for first, second in zip(one, other, strict=False):
        if first is None or second is None:
            found = (first is None) - (second is None)
        else:
            found = compare(first, second)
        if found:
            return found
    return (len(one) > len(other)) - (len(one) < len(other))
