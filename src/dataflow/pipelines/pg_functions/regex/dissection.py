"""Finds what each group of a pattern captures in a match with known bounds.

A part is split from left to right: the first child gets its preferred length among those that let the rest
match. Only back references can make an attempt fail, so that the next length is tried.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable

from dataflow.pipelines.pg_functions.letters import lower
from dataflow.pipelines.pg_functions.regex.automata import Automaton, Text
from dataflow.pipelines.pg_functions.regex.parts import Node, Shape, Trait

Span = tuple[int, int]
Spans = dict[int, Span]  # of the groups matched so far
ListEnds = Callable[[int], list[int]]  # the ends of one repetition that starts here
Verify = Callable[[int, int], bool]  # whether one repetition's back references allow these bounds


class Dissection:
    """The captures of one text, collected in `spans`."""

    def __init__(self, text: Text, get_automaton: Callable[[Node], Automaton], ignores_case: bool) -> None:
        self._text = text.characters
        self._colored = text
        self._get_automaton = get_automaton
        self._ignores_case = ignores_case
        self.spans: Spans = {}

    def dissect(self, node: Node, start: int, end: int) -> bool:
        """Record the captures of a node that spans `start` to `end`; False if a back reference fails."""
        match node.shape:
            case Shape.WHOLE:
                found = True
            case Shape.REFERENCE:
                found = end in self._list_reference_ends(node, start, end)
            case Shape.CAPTURE:
                found = self.dissect(node.children[0], start, end)
            case Shape.PAIR:
                found = self._dissect_pair(node, start, end)
            case Shape.CHOICE:
                found = any(
                    self._reaches(child, start, end) and self.dissect(child, start, end)
                    for child in node.children
                )
            case Shape.REPEAT:
                found = self._dissect_repeat(node, start, end)
        if found and node.group:
            self.spans[node.group] = (start, end)
        return found

    def _dissect_pair(self, node: Node, start: int, end: int) -> bool:
        first, second = node.children
        middles = self._list_ends(first, start, end)
        for middle in middles if first.traits & Trait.SHORTER else reversed(middles):
            if not self._reaches(second, middle, end):
                continue
            if self.dissect(first, start, middle):
                if self.dissect(second, middle, end):
                    return True
                self._forget(first)
        return False

    def _dissect_repeat(self, node: Node, start: int, end: int) -> bool:
        child = node.children[0]
        may_be_none = node.least == 0 and start == end
        kind = ShortestFirst if child.traits & Trait.SHORTER else LongestFirst
        if may_be_none and kind is ShortestFirst:
            return True
        known: dict[int, list[int]] = {}

        def list_ends(point: int) -> list[int]:
            if point not in known or child.shape is Shape.REFERENCE:
                known[point] = self._list_ends(child, point, end)
            return known[point]

        def verify(first: int, last: int) -> bool:
            self._forget(child)  # only the last repetition's captures are kept
            return self.dissect(child, first, last)

        return kind(node, (start, end), list_ends, verify).divide() or may_be_none

    def _forget(self, node: Node) -> None:
        for group in node.list_groups():
            self.spans.pop(group, None)

    def _list_ends(self, node: Node, start: int, limit: int) -> list[int]:
        if node.shape is Shape.REFERENCE and node.reference in self.spans:
            return self._list_reference_ends(node, start, limit)
        return self._get_automaton(node).list_ends(self._colored, start, limit)

    def _reaches(self, node: Node, start: int, end: int) -> bool:
        ends = self._list_ends(node, start, end)
        return bool(ends) and ends[-1] == end

    def _list_reference_ends(self, node: Node, start: int, limit: int) -> list[int]:
        span = self.spans.get(node.reference)
        if span is None:
            return []
        wanted = self._text[span[0] : span[1]]
        if not wanted:
            return [start]
        ends = [start] if node.least == 0 else []
        most = (limit - start) // len(wanted)
        for times in range(1, most + 1 if node.most is None else min(most, node.most) + 1):
            end = start + times * len(wanted)
            found = self._text[end - len(wanted) : end]
            if found != wanted and not (self._ignores_case and lower(found) == lower(wanted)):
                break
            if times >= node.least:
                ends.append(end)
        return ends


class LongestFirst:
    """Divides a span among repetitions: each takes as much as possible. `points` are the bounds so far."""

    _prefers_long = True

    def __init__(self, node: Node, span: tuple[int, int], list_ends: ListEnds, verify: Verify) -> None:
        start, self._end = span
        self._least = max(node.least, 1)
        most = self._end - start if node.most is None else min(self._end - start, node.most)
        self._most = max(most, self._least)
        self._list_ends = list_ends
        self._verify = verify
        self._points = [start]
        self._verified = 0
        self._limit = self._end if self._prefers_long else start

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

    _prefers_long = False

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
