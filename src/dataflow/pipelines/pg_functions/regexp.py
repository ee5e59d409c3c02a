"""Regular expression functions and operators."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import islice
from typing import Any, NamedTuple

from dataflow.pipelines.pg_functions.regex.dissection import Spans
from dataflow.pipelines.pg_functions.regex.flags import Flag, read_options
from dataflow.pipelines.pg_functions.regex.pattern import Pattern, compile_pattern
from dataflow.pipelines.pg_functions.signatures import Calls, negated

INSTR_DEFAULTS: tuple[Any, ...] = (1, 1, 0, "", 0)
SUBSTR_DEFAULTS: tuple[Any, ...] = (1, 1, "", 0)
REFERENCE = re.compile(r"\\([1-9&\\])")  # to a group or to the whole match


def matches(text: str, pattern: str, flags: Flag = Flag.ADVANCED) -> bool:
    """`text ~ pattern`"""
    return compile_pattern(pattern, flags, False).is_in(text)


def regexp_like(text: str, pattern: str, options: str = "") -> bool:
    """Whether the pattern matches anywhere."""
    return compile_pattern(pattern, _read_single_options(options, "regexp_like"), False).is_in(text)


def regexp_match(text: str, pattern: str, options: str = "") -> list[str | None] | None:
    """The groups captured by the first match, or the whole match if the pattern has no groups."""
    flags = _read_single_options(options, "regexp_match")
    compiled = compile_pattern(pattern, flags)
    found = compiled.find(compiled.prepare(text), 0)
    return None if found is None else _list_captures(text, compiled, found)


def regexp_matches(text: str, pattern: str, options: str = "") -> list[list[str | None]]:
    """The groups captured by the first match, or with `g` by every match."""
    flags, is_global = read_options(options)
    compiled = compile_pattern(pattern, flags)
    matches = islice(_find_all(compiled, text, 0), None if is_global else 1)
    return [_list_captures(text, compiled, found) for found in matches]


def regexp_count(text: str, pattern: str, start: int = 1, options: str = "") -> int:
    """The number of matches, searching from a position on."""
    _check("start", start, start > 0)
    compiled = compile_pattern(pattern, _read_single_options(options, "regexp_count"), False)
    return sum(1 for _ in _find_all(compiled, text, start - 1))


def regexp_instr(text: str, pattern: str, *rest: Any) -> int:
    """The position of a match or of its group; with end option 1, the position after it.

    The rest: start, number, end option, options, group.
    """
    rest += INSTR_DEFAULTS[len(rest) :]
    span = _find_span("regexp_instr", text, pattern, rest)
    return 0 if span is None else span[rest[2]] + 1


def regexp_substr(text: str, pattern: str, *rest: Any) -> str | None:
    """The text of a match or of its group. The rest: start, number, options, group."""
    start, number, options, group = rest + SUBSTR_DEFAULTS[len(rest) :]
    span = _find_span("regexp_substr", text, pattern, (start, number, 0, options, group))
    return None if span is None else text[slice(*span)]


def regexp_split(function: str, text: str, pattern: str, options: str = "") -> list[str]:
    """The parts of the text between the matches."""
    compiled = compile_pattern(pattern, _read_single_options(options, function), False)
    parts: list[str] = []
    previous_end = done = 0
    for found in _find_all(compiled, text, 0):
        start, end = found[0]
        # An empty match at either end of the text or directly after a match separates nothing.
        if start < len(text) and end > previous_end:
            parts.append(text[done:start])
            done = end
        previous_end = end
    return [*parts, text[done:]]


def substring_matching(text: str, pattern: str) -> str | None:
    """`substring(text from pattern)`: the first group, or the whole match if there are no groups."""
    found = regexp_match(text, pattern)
    return None if found is None else found[0]


def regexp_replace(text: str, pattern: str, replacement: str, options: str = "") -> str:
    """Replace the first match, or with `g` every match."""
    if options[:1] in tuple("0123456789"):
        raise ValueError(f'invalid regular expression option: "{options[0]}"')
    flags, is_global = read_options(options)
    return _replace(text, (pattern, flags), read_replacement(replacement), (0, 0 if is_global else 1))


def regexp_replace_from(text: str, pattern: str, replacement: str, start: int, *rest: int | str) -> str:
    """Replace the nth match, or all for 0, searching from a position on."""
    _check("start", start, start > 0)
    number = rest[0] if rest else 1
    assert isinstance(number, int)
    _check("n", number, number >= 0)
    flags, _ = read_options(str(rest[1]) if len(rest) > 1 else "")
    return _replace(text, (pattern, flags), read_replacement(replacement), (start - 1, number))


class Replacement(NamedTuple):
    """A replacement: literal strings and group numbers, in order."""

    parts: tuple[str | int, ...]
    has_groups: bool  # beyond the whole match

    def write(self, text: str, found: Spans) -> Iterator[str]:
        """Fill in the captures of a match."""
        for part in self.parts:
            if isinstance(part, str):
                yield part
            elif part in found:
                yield text[slice(*found[part])]


@lru_cache(512)
def read_replacement(written: str) -> Replacement:
    """Parse a replacement; a backslash before anything else is literal."""
    parts: list[str | int] = [*REFERENCE.split(written)]
    for place, mark in enumerate(parts[1::2]):
        parts[2 * place + 1] = "\\" if mark == "\\" else 0 if mark == "&" else int(mark)
    return Replacement(tuple(parts), any(isinstance(part, int) and part > 0 for part in parts))


def _replace(text: str, pattern: tuple[str, Flag], parts: Replacement, which: tuple[int, int]) -> str:
    start, number = which
    compiled = compile_pattern(*pattern, parts.has_groups)
    pieces: list[str] = []
    done = 0
    for count, found in enumerate(_find_all(compiled, text, start), 1):
        if number in (0, count):
            pieces += (text[done : found[0][0]], *parts.write(text, found))
            done = found[0][1]
        if number == count:
            break
    return "".join((*pieces, text[done:]))


def _find_all(compiled: Pattern, text: str, start: int) -> Iterator[Spans]:
    if start > len(text):
        return
    prepared = compiled.prepare(text)
    while start <= len(text):
        found = compiled.find(prepared, start)
        if found is None:
            return
        yield found
        begin, end = found[0]
        start = end + 1 if begin == end else end


def _find_span(function: str, text: str, pattern: str, rest: tuple[Any, ...]) -> tuple[int, int] | None:
    start, number, end_option, options, group = rest
    _check("start", start, start > 0)
    _check("n", number, number > 0)
    _check("endoption", end_option, end_option in (0, 1))
    _check("subexpr", group, group >= 0)
    compiled = compile_pattern(pattern, _read_single_options(options, function), group > 0)
    found = next(islice(_find_all(compiled, text, start - 1), number - 1, None), {})
    # If the pattern has no groups, the whole match counts as the first.
    return found.get(0 if group == 1 and not compiled.groups else group)


def _list_captures(text: str, compiled: Pattern, found: Spans) -> list[str | None]:
    groups = range(1, compiled.groups + 1) if compiled.groups else range(1)
    return [text[slice(*found[group])] if group in found else None for group in groups]


def _read_single_options(options: str, function: str) -> Flag:
    flags, is_global = read_options(options)
    if is_global:
        raise ValueError(f'{function}() does not support the "global" option')
    return flags


def _check(name: str, value: int, is_allowed: bool) -> None:
    if not is_allowed:
        raise ValueError(f'invalid value for parameter "{name}": {value}')


_matches_caseless = partial(matches, flags=Flag.ADVANCED | Flag.IGNORE_CASE)
SPLIT_ARRAY, SPLIT_TABLE = "regexp_split_to_array", "regexp_split_to_table"

SIGNATURES: Calls = {
    "~(text, text) -> boolean": matches,
    "!~(text, text) -> boolean": negated(matches),
    "~*(text, text) -> boolean": _matches_caseless,
    "!~*(text, text) -> boolean": negated(_matches_caseless),
    "regexp_like(text, text, text?) -> boolean": regexp_like,
    "regexp_match(text, text, text?) -> text[]": regexp_match,
    "regexp_matches(text, text, text?) -> setof text[]": regexp_matches,
    "regexp_split_to_array(text, text, text?) -> text[]": partial(regexp_split, SPLIT_ARRAY),
    "regexp_split_to_table(text, text, text?) -> setof text": partial(regexp_split, SPLIT_TABLE),
    "substring(text, text) -> text": substring_matching,
    "regexp_replace(text, text, text, text?) -> text": regexp_replace,
    "regexp_replace(text, text, text, integer, integer?, text?) -> text": regexp_replace_from,
    "regexp_count(text, text, integer?, text?) -> integer": regexp_count,
    "regexp_instr(text, text, integer?, integer?, integer?, text?, integer?) -> integer": regexp_instr,
    "regexp_substr(text, text, integer?, integer?, text?, integer?) -> text": regexp_substr,
}
