"""Sets of characters, and the classes and one-to-one case mapping of PostgreSQL's builtin locale C.UTF-8.

A set is stored as the code points at which membership changes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import accumulate, chain, repeat
from pkgutil import get_data

from dataflow.pipelines.pg_functions.signatures import Calls

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


_RANGES = {
    "ascii": [(0, 0x7F)],
    "blank": [(9, 9), (32, 32)],
    "cntrl": [(0, 0x1F), (0x7F, 0x9F)],
    "digit": [(48, 57)],
    "xdigit": [(48, 57), (65, 70), (97, 102)],
    "low line": [(95, 95)],
    "separator": [
        (code, code) for code in (32, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x202F, 0x205F, 0x3000)
    ],
}
_PARTS = {
    "alpha": ("upper", "lower", "other_alpha"),
    "alnum": ("alpha", "digit"),
    "word": ("alnum", "low line"),
    "graph": ("alnum", "punct", "other_graph"),
    "print": ("graph", "separator"),
}
CLASS_NAMES = {"lower", "punct", "space", "upper", *_RANGES, *_PARTS} - {"low line", "separator"}


@cache
def _tables() -> dict[str, str]:
    """The tables of letter_tables.txt; executors may have the package as a zip file."""
    lines = (get_data(__package__, "letter_tables.txt") or b"").decode().splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


@cache
def get_class(name: str) -> CodePoints:
    """The characters of one of the classes in CLASS_NAMES, or of a part of one."""
    if name in _RANGES:
        return from_ranges(_RANGES[name])
    if name in _PARTS:
        return unite(*map(get_class, _PARTS[name]))
    points = _read_set(_tables()[name])
    if name not in ("lower", "upper"):
        return points
    changing = get_mapping("upper" if name == "lower" else "lower")
    return tuple(sorted({*points} ^ {*from_ranges((code, code) for code in changing)}))


@cache
def get_mapping(name: str) -> dict[int, int]:
    """The code points that `lower` or `upper` changes, and their new values."""
    lowered = dict(_read_runs(_tables()["to_lower"]))
    if name == "lower":
        return lowered
    del lowered[0x1E9E]  # ß stays ß in upper case
    inverse = {new: code for code, new in reversed(lowered.items())}  # the first of several letters
    return inverse | dict(_read_runs(_tables()["only_to_upper"]))


def _read_runs(written: str) -> Iterator[tuple[int, int]]:
    start = 0
    for run in written.split():
        distance, count, shift = run.split(".")
        step = 2 if count.endswith("/") else 1
        start += int(distance, 36)
        for code in range(start, start + int(count.rstrip("/"), 36) * step, step):
            yield code, code + int(shift, 36)


def lower(text: str) -> str:
    """Every letter in lower case."""
    return text.lower() if text.isascii() else text.translate(get_mapping("lower"))


def upper(text: str) -> str:
    """Every letter in upper case."""
    return text.upper() if text.isascii() else text.translate(get_mapping("upper"))


def initcap(text: str) -> str:
    """The first character of each word in upper case, the rest in lower case."""
    alnum, raised, lowered = get_class("alnum"), upper(text), lower(text)
    mapped: list[str] = []
    before: bool | None = None
    for place, character in enumerate(text):
        now = contains(alnum, ord(character))
        mapped.append(lowered[place] if now == before else raised[place])
        before = now
    return "".join(mapped)


def _read_set(written: str) -> CodePoints:
    steps = (step.partition("*") for step in written.split())
    distances = (repeat(int(distance, 36), int(times or "1", 36)) for distance, _, times in steps)
    return tuple(accumulate(chain.from_iterable(distances)))


SIGNATURES: Calls = {
    "lower(text) -> text": lower,
    "upper(text) -> text": upper,
    "initcap(text) -> text": initcap,
}
