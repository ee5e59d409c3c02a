"""Sets of characters, stored as the code points at which membership changes."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

CodePoints = tuple[int, ...]  # in ascending order: the first member, the first nonmember after it, and so on

FIRST, BEYOND = 0, 0x80000000  # escapes can name code points beyond Unicode


def contains(points: CodePoints, code: int) -> bool:
    """Whether the character with this code is in the set."""
    return bisect_right(points, code) % 2 == 1


def from_ranges(ranges: Iterable[tuple[int, int]]) -> CodePoints:
    """The set of all characters in the given inclusive ranges."""
    bounds: list[int] = []
    for first, last in sorted(ranges):
        if bounds and first <= bounds[-1]:
            bounds[-1] = max(bounds[-1], last + 1)
        else:
            bounds += (first, last + 1)
    return tuple(bounds)


def list_ranges(points: CodePoints) -> Iterator[tuple[int, int]]:
    """The set as inclusive ranges."""
    for start in range(0, len(points), 2):
        yield points[start], points[start + 1] - 1


def unite(*sets: CodePoints) -> CodePoints:
    """The union of the sets."""
    return from_ranges(item for points in sets for item in list_ranges(points))


def complement(points: CodePoints) -> CodePoints:
    """The complement of the set."""
    inside = points[1:] if points[:1] == (FIRST,) else (FIRST, *points)
    return inside[:-1] if inside[-1:] == (BEYOND,) else (*inside, BEYOND)


def overlap(one: CodePoints, other: CodePoints) -> bool:
    """Whether the sets have a character in common."""
    if len(one) > len(other):
        one, other = other, one
    return any(
        contains(other, first) or bisect_right(other, first) != bisect_right(other, last)
        for first, last in list_ranges(one)
    )
