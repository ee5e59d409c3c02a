"""Gaps: dataids between a dataset's first and last that have no chunk, found by counting.

A million chunks without a gap cost one count; each gap costs a few counts over an index.
"""

from __future__ import annotations

from dataflow.model.dataid import dataid_range, sort_key
from dataflow.model.grain import Grain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Counter = Callable[[str, str], int]

MOST_HOURS = 200_000
"""Hours are listed, because time zones prevent computing them; longer spans are skipped."""


class Span:
    """The dataids from first to last, numbered from 0."""

    def __init__(self, size: int, dataid_at: Callable[[int], str], grain: Grain) -> None:
        self.size = size
        self.dataid_at = dataid_at
        self._grain = grain

    def key_at(self, number: int) -> str:
        """The sort key of one of them."""
        return sort_key(self.dataid_at(number), self._grain)


def find_span(first: str, last: str, grain: Grain, timezone: str) -> Span | None:
    """Return all dataids from first to last, or None if they cannot be counted."""
    if grain is Grain.TEXT:
        return None
    if grain is Grain.SEQUENCE:
        base = int(first)
        return Span(int(last) - base + 1, lambda number: str(base + number), grain)
    from dataflow.model import clock

    if grain is Grain.HOURLY:
        return _hours(first, last, timezone)
    start = clock.period_from_text(first, grain)
    size = clock.period_from_text(last, grain) - start + 1
    return Span(size, lambda number: clock.period_text(start + number, grain), grain)


def first_missing(span: Span, count: int, most: int, count_between: Counter) -> Sequence[str]:
    """Return the first dataids of a span without a chunk, if `count` of the span have one."""
    found: list[str] = []
    begin, missing = 0, span.size - count
    while missing > 0 and len(found) < most:
        number = _next_missing(span, begin, count_between)
        found.append(span.dataid_at(number))
        begin, missing = number + 1, missing - 1
    return found


def _next_missing(span: Span, begin: int, count_between: Counter) -> int:
    """Return the number of the first missing dataid from `begin` on; there must be one.

    Strides double until one contains a gap and are then halved, so the cost depends on the distance only.
    """
    stride = 1
    while begin + stride < span.size and _is_whole(span, begin, begin + stride, count_between):
        begin, stride = begin + stride, stride * 2
    end = min(begin + stride, span.size)
    while end - begin > 1:
        middle = (begin + end) // 2
        if _is_whole(span, begin, middle, count_between):
            begin = middle
        else:
            end = middle
    return begin


def _is_whole(span: Span, begin: int, end: int, count_between: Counter) -> bool:
    return count_between(span.key_at(begin), span.key_at(end - 1)) == end - begin


def _hours(first: str, last: str, timezone: str) -> Span | None:
    from dataflow.model import clock

    if clock.hour_from_text(last) - clock.hour_from_text(first) > MOST_HOURS * clock.HOUR_SECONDS:
        return None
    hours = list(dataid_range(first, last, Grain.HOURLY, timezone))
    return Span(len(hours), hours.__getitem__, Grain.HOURLY)
