"""A compiled pattern: finds the first match at or after a position, with its groups."""

from __future__ import annotations

from functools import cached_property, lru_cache

from dataflow.pipelines.pg_functions.regex.automata import Automaton, Palette, Text
from dataflow.pipelines.pg_functions.regex.dissection import Dissection, Spans
from dataflow.pipelines.pg_functions.regex.flags import Flag
from dataflow.pipelines.pg_functions.regex.parser import read_pattern
from dataflow.pipelines.pg_functions.regex.parts import Node, Trait, drop_captures
from dataflow.pipelines.pg_functions.regex.shortcut import is_basic, make_shortcut
from dataflow.pipelines.pg_functions.regex.tokens import refuse

PATTERNS_KEPT = 512


class Pattern:
    """One pattern; without `wants_groups` only the bounds of whole matches are found."""

    def __init__(self, pattern: str, flags: Flag, wants_groups: bool) -> None:
        syntax = read_pattern(pattern, flags)
        self._root = syntax.root
        self.groups = syntax.groups
        self._has_back_reference = syntax.has_back_reference
        self._ignores_case = syntax.ignores_case
        self._is_dissected = self._has_back_reference or (wants_groups and self.groups > 0)
        if not wants_groups:
            drop_captures(self._root)
        self._prefers_short = bool(self._root.traits & Trait.SHORTER)
        self._palette = Palette()
        self._automata: dict[int, Automaton] = {}
        self._shortcut = None if self._has_back_reference else make_shortcut(self._root)
        if self._shortcut is None:
            _ = self._search  # to refuse a pattern that is too complex now

    @cached_property
    def _search(self) -> Automaton:
        return Automaton(self._root.expression, self._palette, is_search=True)

    def prepare(self, text: str) -> Text:
        """The state shared by repeated searches of one text."""
        return Text(text, self._palette)

    def is_in(self, text: str) -> bool:
        """Whether the pattern matches anywhere."""
        if self._shortcut is not None and is_basic(text):
            return self._shortcut.search(text) is not None
        prepared = self.prepare(text)
        if self._has_back_reference:
            return self.find(prepared, 0) is not None
        return self._find_first_end(prepared, 0) is not None

    def find(self, text: Text, start: int) -> Spans | None:
        """The first match at or after `start`: its span as group 0, and those of its groups."""
        if start > text.length:
            return None
        if self._shortcut is not None and text.is_basic:
            match = self._shortcut.search(text.characters, start)
            names = self._shortcut.groupindex
            return match and {0: match.span()} | {int(name[1:]): match.span(name) for name in names}
        while (last := self._find_first_end(text, start)) is not None:
            for begin in range(start, last + 1):
                found = self._find_from(text, begin)
                if found is not None:
                    return found
            start = last + 1
            if start >= text.length:  # PostgreSQL does not try the end of the text separately
                return None
        return None

    def _find_first_end(self, text: Text, start: int) -> int | None:
        ends = self._search.list_ends(text, start, text.length, start)
        return ends[0] if ends else None

    def _find_from(self, text: Text, begin: int) -> Spans | None:
        """The preferred match from a start; only back references can make it fail and the next be tried."""
        enough = begin if self._prefers_short and not self._has_back_reference else None
        ends = self._get_automaton(self._root).list_ends(text, begin, text.length, enough)
        for end in ends if self._prefers_short else reversed(ends):
            dissection = Dissection(text, self._get_automaton, self._ignores_case)
            if not self._is_dissected or dissection.dissect(self._root, begin, end):
                return {0: (begin, end)} | dissection.spans
        return None

    def _get_automaton(self, node: Node) -> Automaton:
        found = self._automata.get(id(node))
        if found is None:
            found = self._automata[id(node)] = Automaton(node.expression, self._palette)
        return found


@lru_cache(PATTERNS_KEPT)
def compile_pattern(pattern: str, flags: Flag, wants_groups: bool = True) -> Pattern:
    """Compile a pattern, or return the cached one."""
    try:
        return Pattern(pattern, flags, wants_groups)
    except RecursionError:
        refuse("regular expression is too complex")
