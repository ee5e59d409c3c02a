"""The comparison operators, for types whose values or keys Python can compare."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from dataflow.pipelines.pg_functions.signatures import Signature

OPERATORS: tuple[tuple[str, Callable[[Any, Any], bool]], ...] = (
    ("=", operator.eq),
    ("<>", operator.ne),
    ("<", operator.lt),
    ("<=", operator.le),
    (">", operator.gt),
    (">=", operator.ge),
)


def list_comparisons(
    left: str, right: str, key: Callable[[Any], Any] = lambda value: value
) -> list[Signature]:
    """All comparison operators of two types, comparing the results of `key`."""

    def compared(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
        return lambda one, other: test(key(one), key(other))

    return [Signature(name, (left, right), "boolean", compared(test)) for name, test in OPERATORS]
