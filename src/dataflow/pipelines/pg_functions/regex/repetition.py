"""Divides a span among the repetitions of a capturing part: longest first, or shortest first."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from dataflow.pipelines.pg_functions.regex.tree import Node

ListEnds = Callable[[int], list[int]]  # the ends of one repetition that starts here
Verify = Callable[[int, int], bool]  # whether one repetition's back references allow these bounds


class LongestFirst:
    """Each repetition takes as much as possible; `points` are the bounds chosen so far."""

    def __init__(self, node: Node, span: tuple[int, int], list_ends: ListEnds, verify: Verify) -> None:
        start, self._end = span
        self._least = max(node.least, 1)
        most = self._end - start if node.most is None else min(self._end - start, node.most)
        self._most = max(most, self._least)
        self._list_ends = list_ends
        self._verify = verify
        self._points = [start]
        self._verified = 0
        self._limit = self._get_first_limit()

    def divide(self) -> bool:
        """Choose the bounds and verify each repetition; False if no choice works."""
        count = 1
        while count > 0:
            found = self._find(count)
            if found is None:
                count = self._step_back(count - 1)
                continue
            self._points[count:] = [found]
            self._verified = min(self._verified, count - 1)
            if found != self._end:
                count = self._step_on(count)
            elif count < self._least:
                count = self._step_back(count)
            else:
                failed = self._find_failure(count)
                if failed is None:
                    return True
                count = self._step_back(failed)
        return False

    def _find_failure(self, count: int) -> int | None:
        for number in range(self._verified + 1, count + 1):
            if not self._verify(self._points[number - 1], self._points[number]):
                return number
            self._verified = number
        return None

    def _is_needed_empty(self, count: int, point: int) -> bool:
        """Whether an empty repetition may be needed to reach the minimum count."""
        return count < self._least and self._least - count >= self._end - point

    def _get_first_limit(self) -> int:
        return self._end

    def _find(self, count: int) -> int | None:
        ends = self._list_ends(self._points[count - 1])
        place = bisect_right(ends, self._limit)
        return ends[place - 1] if place else None

    def _step_on(self, count: int) -> int:
        if count >= self._most:
            return self._step_back(count - 1)
        point = self._points[count]
        if point == self._points[count - 1] and not self._is_needed_empty(count, point):
            return self._step_back(count)
        self._limit = self._end
        return count + 1

    def _step_back(self, count: int) -> int:
        while count > 0:
            before = self._points[count - 1]
            if self._points[count] > before:
                self._limit = self._points[count] - 1
                if self._limit > before or self._is_needed_empty(count, before):
                    break
            count -= 1
        return count


class ShortestFirst(LongestFirst):
    """Each repetition takes as little as possible."""

    def _get_first_limit(self) -> int:
        return self._points[0]

    def _find(self, count: int) -> int | None:
        before, limit = self._points[count - 1], self._limit
        if limit == before and limit != self._end and not self._is_needed_empty(count, limit):
            limit += 1
        if count >= self._most:
            limit = self._end
        ends = self._list_ends(before)
        place = bisect_left(ends, limit)
        return ends[place] if place < len(ends) else None

    def _step_on(self, count: int) -> int:
        if count >= self._most:
            return self._step_back(count - 1)
        self._limit = self._points[count]
        return count + 1

    def _step_back(self, count: int) -> int:
        while count > 0 and self._points[count] >= self._end:
            count -= 1
        if count > 0:
            self._limit = self._points[count] + 1
        return count
