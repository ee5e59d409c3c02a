"""Runs an expression over a text: finds where a match that starts at a given position can end.

State sets are computed when a text first reaches them, and kept for the next text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from dataflow.pipelines.pg_functions.letters import CodePoints, contains
from dataflow.pipelines.pg_functions.regex import parts
from dataflow.pipelines.pg_functions.regex.shortcut import is_basic
from dataflow.pipelines.pg_functions.regex.tokens import refuse

MOST_STATES = 50_000
MOST_SETS = 10_000  # state sets kept at a time
TEXT_START, TEXT_END = -1, -2  # the colors before the first and after the last character

States = frozenset[int]


class Palette(dict[str, int]):
    """Assigns the same color to characters that no set of the pattern distinguishes."""

    def __init__(self) -> None:
        super().__init__()
        self._sets: dict[CodePoints, int] = {}
        self._colors: dict[tuple[bool, ...], int] = {}
        self._members: list[tuple[bool, ...]] = []

    def add(self, points: CodePoints) -> int:
        """Number a set; all sets must be added before the first lookup of a character."""
        return self._sets.setdefault(points, len(self._sets))

    def __missing__(self, character: str) -> int:
        member = tuple(contains(points, ord(character)) for points in self._sets)
        color = self._colors.setdefault(member, len(self._colors))
        if color == len(self._members):
            self._members.append(member)
        self[character] = color
        return color

    def is_in(self, color: int, number: int) -> bool:
        """Whether characters of this color are in the set with this number."""
        return color >= 0 and self._members[color][number]


class Text:
    """A text being searched: the colors of its characters, and where lookarounds hold."""

    def __init__(self, text: str, palette: Palette) -> None:
        self.characters = text
        self.length = len(text)
        self._palette = palette
        self._looks: dict[tuple[int, int], bool] = {}
        self._ends_before: dict[int, set[int]] = {}

    @cached_property
    def colors(self) -> list[int]:
        """The color before position p is at p, the color after it at p + 1."""
        return [TEXT_START, *map(self._palette.__getitem__, self.characters), TEXT_END]

    @cached_property
    def is_basic(self) -> bool:
        """Whether a shortcut supports all its characters."""
        return is_basic(self.characters)

    def holds(self, look: _Look, position: int) -> bool:
        """Whether a lookaround constraint holds at a position."""
        key = (id(look), position)
        if key not in self._looks:
            if look.is_ahead:
                found = bool(look.automaton.list_ends(self, position, self.length, 0))
            else:
                if id(look) not in self._ends_before:
                    self._ends_before[id(look)] = set(look.automaton.list_ends(self, 0, self.length))
                found = position in self._ends_before[id(look)]
            self._looks[key] = found is look.is_wanted
        return self._looks[key]


@dataclass(eq=False)
class _Look:
    automaton: Automaton
    is_ahead: bool
    is_wanted: bool


@dataclass(eq=False)
class _Closed:
    """A state set, including all states that are reachable without a character."""

    states: States
    accepts: bool
    following: dict[int, _Kernel | None] = field(default_factory=dict)
    freely: dict[int, _Closed | None] = field(default_factory=dict)  # where no constraint applies


@dataclass(eq=False)
class _Kernel:
    """A state set as reached by a character; the closed set depends on the adjacent colors."""

    states: States
    closed: dict[tuple[int, int], _Closed] = field(default_factory=dict)


_Test = parts.Edge | _Look | tuple[int, bool]


class Automaton:
    """The automaton of one expression; with `is_search` the match can begin anywhere after the start."""

    def __init__(self, expression: parts.Expression, palette: Palette, is_search: bool = False) -> None:
        self._palette = palette
        self._characters: list[list[tuple[int, int]]] = []
        self._free: list[list[int]] = []
        self._constrained: list[list[tuple[_Test, int]]] = []
        self._has_constraints = self._has_looks = False
        start, self._final = self._add_state(), self._add_state()
        self._restart = start if is_search else None
        self._build(expression, start, self._final)
        self._initial = frozenset((start,))
        self._forget_sets()

    def _forget_sets(self) -> None:
        self._kernels: dict[States, _Kernel] = {}
        self._closed: dict[States, _Closed] = {}
        self._start = self._get_kernel(self._initial)
        self._start_freely = self._close(self._initial, None, 0)

    def list_ends(self, text: Text, start: int, limit: int, enough: int | None = None) -> list[int]:
        """The ends of matches that begin at `start`, up to `limit`; the list stops at or after `enough`."""
        colors, position = text.colors, start
        ends: list[int] = []
        current = self._close_at(self._start, text, start) if self._has_constraints else self._start_freely
        while True:
            if current.accepts:
                ends.append(position)
                if enough is not None and position >= enough:
                    return ends
            if position >= limit:
                return ends
            position += 1
            color = colors[position]
            if color in current.freely:
                following = current.freely[color]
            else:
                following = self._follow_to(current, text, position)
            if following is None:
                return ends
            current = following

    def _follow_to(self, current: _Closed, text: Text, position: int) -> _Closed | None:
        """The states after the character before a position."""
        color = text.colors[position]
        kernel = current.following[color] if color in current.following else self._follow(current, color)
        if self._has_constraints:
            return None if kernel is None else self._close_at(kernel, text, position)
        following = None if kernel is None else self._close(kernel.states, None, 0)
        current.freely[color] = following
        return following

    def _close_at(self, kernel: _Kernel, text: Text, position: int) -> _Closed:
        around = (text.colors[position], text.colors[position + 1])
        current = None if self._has_looks else kernel.closed.get(around)
        if current is None:
            current = kernel.closed[around] = self._close(kernel.states, text, position)
        return current

    def _follow(self, current: _Closed, color: int) -> _Kernel | None:
        is_in = self._palette.is_in
        reached = frozenset(
            target
            for state in current.states
            for number, target in self._characters[state]
            if is_in(color, number)
        )
        if self._restart is not None:
            reached |= {self._restart}
        following = self._get_kernel(reached) if reached else None
        current.following[color] = following
        return following

    def _get_kernel(self, states: States) -> _Kernel:
        if len(self._kernels) > MOST_SETS:
            self._forget_sets()
        return self._kernels.setdefault(states, _Kernel(states))

    def _close(self, states: States, text: Text | None, position: int) -> _Closed:
        reached, waiting = set(states), list(states)
        while waiting:
            state = waiting.pop()
            targets = self._free[state]
            if text is not None:
                passed = [to for test, to in self._constrained[state] if self._holds(test, text, position)]
                targets = targets + passed
            for target in targets:
                if target not in reached:
                    reached.add(target)
                    waiting.append(target)
        closed = frozenset(reached)
        return self._closed.setdefault(closed, _Closed(closed, self._final in closed))

    def _holds(self, test: _Test, text: Text, position: int) -> bool:
        if isinstance(test, parts.Edge):
            return position == (0 if test.is_start else text.length)
        if isinstance(test, _Look):
            return text.holds(test, position)
        number, is_ahead = test
        return self._palette.is_in(text.colors[position + is_ahead], number)

    def _add_state(self) -> int:
        if len(self._free) >= MOST_STATES:
            refuse("regular expression is too complex")
        self._free.append([])
        self._characters.append([])
        self._constrained.append([])
        return len(self._free) - 1

    def _build(self, expression: parts.Expression, start: int, end: int) -> None:
        match expression:
            case parts.Characters(points):
                self._characters[start].append((self._palette.add(points), end))
            case parts.Sequence(items):
                for part in items[:-1]:
                    middle = self._add_state()
                    self._build(part, start, middle)
                    start = middle
                if items:
                    self._build(items[-1], start, end)
                else:
                    self._free[start].append(end)
            case parts.Choice(items):
                for part in items:
                    inside, outside = self._add_state(), self._add_state()
                    self._free[start].append(inside)
                    self._free[outside].append(end)
                    self._build(part, inside, outside)
            case parts.Repeat(part, least, most):
                self._build_repeat(part, (least, most), start, end)
            case _:
                self._has_constraints = True
                self._constrained[start].append((self._make_test(expression), end))

    def _build_repeat(
        self, part: parts.Expression, count: tuple[int, int | None], start: int, end: int
    ) -> None:
        least, most = count
        for _ in range(least):
            start = self._build_once(part, start)
        if most is None:
            loop = self._add_state()
            self._free[start].append(loop)
            self._free[self._build_once(part, loop)].append(loop)
            self._free[loop].append(end)
            return
        for _ in range(most - least):
            self._free[start].append(end)
            start = self._build_once(part, start)
        self._free[start].append(end)

    def _build_once(self, part: parts.Expression, start: int) -> int:
        inside, outside = self._add_state(), self._add_state()
        self._free[start].append(inside)
        self._build(part, inside, outside)
        return outside

    def _make_test(self, constraint: parts.Constraint) -> _Test:
        if isinstance(constraint, parts.Edge):
            return constraint
        if isinstance(constraint, parts.Neighbor):
            return self._palette.add(constraint.points), constraint.is_ahead
        assert isinstance(constraint, parts.LookAround)
        self._has_looks = True
        is_ahead = constraint.is_ahead
        automaton = Automaton(constraint.part, self._palette, is_search=not is_ahead)
        return _Look(automaton, is_ahead, constraint.is_wanted)
