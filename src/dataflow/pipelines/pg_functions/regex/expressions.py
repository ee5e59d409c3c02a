"""What a part of a pattern can match, without captures, back references and preferences."""

from __future__ import annotations

from functools import cache

from dataflow.model.record import record
from dataflow.pipelines.pg_functions.code_points import CodePoints, complement


@record
class Characters:
    """One character from a set."""

    points: CodePoints


@record
class Sequence:
    """The parts in sequence; without parts it matches the empty string."""

    parts: tuple[Expression, ...]


@record
class Choice:
    """Any one of the parts; without parts it matches nothing."""

    parts: tuple[Expression, ...]


@record
class Repeat:
    """A repeated part; `most` is None if there is no limit."""

    part: Expression
    least: int
    most: int | None


@record
class Edge:
    """The start or the end of the text."""

    is_start: bool


@record
class Neighbor:
    """The character before or after this position is in a set."""

    points: CodePoints
    is_ahead: bool


@record
class LookAround:
    """The text before or after this position matches, or does not."""

    part: Expression
    is_ahead: bool
    is_wanted: bool


Constraint = Edge | Neighbor | LookAround
Expression = Characters | Sequence | Choice | Repeat | Constraint

EMPTY = Sequence(())
START, END = Edge(True), Edge(False)


def in_sequence(*parts: Expression) -> Expression:
    """The parts in sequence."""
    return parts[0] if len(parts) == 1 else Sequence(parts)


def repeat(part: Expression, least: int, most: int | None) -> Expression:
    """The part repeated."""
    if most == 0:
        return EMPTY
    return part if least == most == 1 else Repeat(part, least, most)


def look_around(part: Expression, is_ahead: bool, is_wanted: bool) -> Expression:
    """A lookaround constraint; a check of the adjacent character if it is about one character."""
    if not isinstance(part, Characters):
        return LookAround(part, is_ahead, is_wanted)
    if is_wanted:
        return Neighbor(part.points, is_ahead)
    return Choice((Neighbor(complement(part.points), is_ahead), Edge(not is_ahead)))


def word_edge(word: CodePoints, before: bool, after: bool) -> Expression:
    """A position with or without a word character before it and after it."""
    return Sequence((_beside(word, False, before), _beside(word, True, after)))


def _beside(word: CodePoints, is_ahead: bool, is_wanted: bool) -> Expression:
    return look_around(Characters(word), is_ahead, is_wanted)


@cache
def drop_constraints(expression: Expression) -> Expression:
    """The expression with all its constraints assumed to hold."""
    match expression:
        case Sequence(parts):
            return Sequence(tuple(drop_constraints(part) for part in parts))
        case Choice(parts):
            return Choice(tuple(drop_constraints(part) for part in parts))
        case Repeat(part, least, most):
            return Repeat(drop_constraints(part), least, most)
        case Characters():
            return expression
    return EMPTY
