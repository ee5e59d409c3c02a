"""The parts of a pattern.

An expression is what a part can match, without captures, back references and preferences. Nodes are the parts
whose bounds in the text matter, because they capture or prefer a length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, IntFlag, auto
from functools import cache

from dataflow.model.record import record
from dataflow.pipelines.pg_functions.letters import CodePoints, complement


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


class Trait(IntFlag):
    """A property of a part that affects how it is matched."""

    NONE = 0
    LONGER = 1  # prefers the longest match
    SHORTER = 2
    MIXED = 4  # its parts prefer different lengths
    CAPTURES = 8
    REFERS = 16  # contains a back reference
    REFERRED = 32  # a back reference refers to it


PREFERENCE = Trait.LONGER | Trait.SHORTER
INHERITED = Trait.MIXED | Trait.CAPTURES | Trait.REFERS


def inherit(traits: Trait) -> Trait:
    """The traits that a whole inherits from its parts."""
    mixed = Trait.MIXED if traits & PREFERENCE == PREFERENCE else Trait.NONE
    return (traits & INHERITED) | mixed


def combine(first: Trait, second: Trait) -> Trait:
    """The traits of two parts together; the first preference wins."""
    return inherit(first | second) | ((first & PREFERENCE) or (second & PREFERENCE))


def is_complex(traits: Trait) -> bool:
    """Whether a part with these traits must be split."""
    return bool(traits & INHERITED)


class Shape(Enum):
    """How a node is split."""

    WHOLE = auto()  # not at all
    REFERENCE = auto()
    CHOICE = auto()
    PAIR = auto()  # a sequence of two
    REPEAT = auto()
    CAPTURE = auto()  # captures what its only child, which also captures, matches


@dataclass(eq=False)
class Node:
    """One part; `group` and `reference` are 0 if it does not capture or refer."""

    shape: Shape
    traits: Trait
    expression: Expression
    children: list[Node] = field(default_factory=list)
    group: int = 0
    reference: int = 0
    least: int = 1
    most: int | None = 1

    def list_groups(self) -> Iterator[int]:
        """The groups captured inside."""
        if self.group:
            yield self.group
        for child in self.children:
            yield from child.list_groups()


def drop_captures(node: Node) -> None:
    """Keep only the captures that back references need."""
    if not node.traits & Trait.REFERRED:
        node.group = 0
        node.traits &= ~Trait.CAPTURES
    for child in node.children:
        drop_captures(child)
        node.traits |= child.traits & Trait.CAPTURES
    if not node.traits & (Trait.CAPTURES | Trait.REFERS):
        node.children = []
        node.shape = Shape.WHOLE
        node.traits &= ~Trait.MIXED
