"""Translates a pattern to Python's `re` if there is only one way to match it.

That is the case if each quantifier repeats one character that nothing after it can match. Then there is at
most one match from a given start, so the longest, the first and the greedy match are the same. Only
characters below U+10000 are translated, because large sets beyond them are slow in `re`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dataflow.pipelines.pg_functions.letters import CodePoints, list_ranges, overlap, unite
from dataflow.pipelines.pg_functions.regex import parts

LAST_CODE = 0xFFFF
NEVER = "[^\\x00-\\uffff]"


class _Item(NamedTuple):
    """One repeated character."""

    points: CodePoints
    least: int
    most: int | None


class _NotSimpleError(Exception):
    """The pattern can match in several ways."""


def make_shortcut(root: parts.Node) -> re.Pattern[str] | None:
    """The pattern for `re`, with groups named g1 and so on; None if it is not simple."""
    translation = _Translation()
    try:
        translation.add_node(root)
        return translation.compile()
    except _NotSimpleError:
        return None


def is_basic(text: str) -> bool:
    """Whether a text contains only characters that a shortcut supports."""
    return text.isascii() or max(text) <= "\uffff"


class _Translation:
    def __init__(self) -> None:
        self._parts: list[str | _Item | parts.Edge] = []

    def add_node(self, node: parts.Node) -> None:
        if node.traits & parts.Trait.SHORTER or node.shape not in (
            parts.Shape.WHOLE,
            parts.Shape.PAIR,
            parts.Shape.CAPTURE,
        ):
            raise _NotSimpleError
        if node.group:
            self._parts.append(f"(?P<g{node.group}>")
        if node.shape is parts.Shape.WHOLE:
            self._add_expression(node.expression)
        for child in node.children:
            self.add_node(child)
        if node.group:
            self._parts.append(")")

    def _add_expression(self, expression: parts.Expression) -> None:
        match expression:
            case parts.Sequence(items):
                for part in items:
                    self._add_expression(part)
            case parts.Repeat(part, least, most):
                self._parts.append(_Item(_get_points(part), least, most))
            case parts.Edge():
                self._parts.append(expression)
            case _:
                self._parts.append(_Item(_get_points(expression), 1, 1))

    def compile(self) -> re.Pattern[str]:
        """Translate the whole pattern, if it is simple."""
        items = [part for part in self._parts if not isinstance(part, str)]
        for place, item in enumerate(items):
            if isinstance(item, parts.Edge):
                others = items[:place] if item.is_start else items[place + 1 :]
                if any(isinstance(other, _Item) for other in others):
                    raise _NotSimpleError
            elif item.least != item.most:
                _check_followers(item, items[place + 1 :])
        return re.compile("".join(map(_write, self._parts)), re.DOTALL)


def _get_points(expression: parts.Expression) -> CodePoints:
    if isinstance(expression, parts.Characters):
        return expression.points
    if isinstance(expression, parts.Choice) and expression.parts:
        return unite(*map(_get_points, expression.parts))
    raise _NotSimpleError


def _check_followers(item: _Item, followers: list[_Item | parts.Edge]) -> None:
    for follower in followers:
        if isinstance(follower, parts.Edge):
            continue
        if overlap(item.points, follower.points):
            raise _NotSimpleError
        if follower.least > 0:
            return


def _write(part: str | _Item | parts.Edge) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, parts.Edge):
        return r"\A" if part.is_start else r"\Z"
    count = f"{{{part.least},{'' if part.most is None else part.most}}}"
    # Possessive: what follows could not match anything given back.
    return _write_set(part.points) + ("" if part.least == part.most == 1 else f"{count}+")


def _write_set(points: CodePoints) -> str:
    ranges = [(first, min(last, LAST_CODE)) for first, last in list_ranges(points) if first <= LAST_CODE]
    if not ranges:
        return NEVER
    if ranges == [(0, LAST_CODE)]:
        return "."
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return re.escape(chr(ranges[0][0]))
    written = [
        f"\\u{first:04x}" if first == last else f"\\u{first:04x}-\\u{last:04x}" for first, last in ranges
    ]
    return f"[{''.join(written)}]"
