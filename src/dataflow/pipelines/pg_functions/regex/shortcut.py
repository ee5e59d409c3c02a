"""Translates a pattern to Python's `re` if there is only one way to match it.

That is the case if each quantifier repeats one character that nothing after it can match. Then there is at
most one match from a given start, so the longest, the first and the greedy match are the same. Only
characters below U+10000 are translated, because large sets beyond them are slow in `re`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dataflow.pipelines.pg_functions.letters import CodePoints, list_ranges, overlap, unite
from dataflow.pipelines.pg_functions.regex.parts import (
    Characters,
    Choice,
    Edge,
    Expression,
    Node,
    Repeat,
    Sequence,
    Shape,
    Trait,
)

LAST_CODE = 0xFFFF
NEVER = "[^\\x00-\\uffff]"


class _Item(NamedTuple):
    """One repeated character."""

    points: CodePoints
    least: int
    most: int | None

    def is_fixed(self) -> bool:
        return self.least == self.most


class _NotSimpleError(Exception):
    """The pattern can match in several ways."""


def make_shortcut(root: Node) -> re.Pattern[str] | None:
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
        self._parts: list[str | _Item | Edge] = []

    def add_node(self, node: Node) -> None:
        if node.traits & Trait.SHORTER or node.shape not in (Shape.WHOLE, Shape.PAIR, Shape.CAPTURE):
            raise _NotSimpleError
        if node.group:
            self._parts.append(f"(?P<g{node.group}>")
        if node.shape is Shape.WHOLE:
            self._add_expression(node.expression)
        for child in node.children:
            self.add_node(child)
        if node.group:
            self._parts.append(")")

    def _add_expression(self, expression: Expression) -> None:
        match expression:
            case Sequence(parts):
                for part in parts:
                    self._add_expression(part)
            case Repeat(part, least, most):
                self._parts.append(_Item(_get_points(part), least, most))
            case Edge():
                self._parts.append(expression)
            case _:
                self._parts.append(_Item(_get_points(expression), 1, 1))

    def compile(self) -> re.Pattern[str]:
        """Translate the whole pattern, if it is simple."""
        items = [part for part in self._parts if not isinstance(part, str)]
        for place, item in enumerate(items):
            if isinstance(item, Edge):
                others = items[:place] if item.is_start else items[place + 1 :]
                if any(isinstance(other, _Item) for other in others):
                    raise _NotSimpleError
            elif not item.is_fixed():
                _check_followers(item, items[place + 1 :])
        return re.compile("".join(map(_write, self._parts)), re.DOTALL)


def _get_points(expression: Expression) -> CodePoints:
    if isinstance(expression, Characters):
        return expression.points
    if isinstance(expression, Choice) and expression.parts:
        return unite(*map(_get_points, expression.parts))
    raise _NotSimpleError


def _check_followers(item: _Item, followers: list[_Item | Edge]) -> None:
    for follower in followers:
        if isinstance(follower, Edge):
            continue
        if overlap(item.points, follower.points):
            raise _NotSimpleError
        if follower.least > 0:
            return


def _write(part: str | _Item | Edge) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Edge):
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
