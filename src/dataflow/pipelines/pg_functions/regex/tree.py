"""The parts of a pattern whose bounds in the text matter, because they capture or prefer a length."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum, IntFlag, auto

from dataflow.pipelines.pg_functions.regex.expressions import Expression


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
