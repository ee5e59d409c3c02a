"""`character(n)` and `character varying(n)`. A `character` value is its text, padded with blanks to n."""

from __future__ import annotations

from dataflow.pipelines.pg_functions.signatures import Signature

BLANK = " "


def to_character(text: str, size: int, is_explicit: bool) -> str:
    """Pad with blanks. An explicit cast truncates a longer value; other conversions truncate only blanks."""
    if len(text) <= size:
        return text.ljust(size)
    if not is_explicit and text[size:].strip(BLANK):
        raise ValueError(f"value too long for type character({size})")
    return text[:size]


def to_varchar(text: str, size: int, is_explicit: bool) -> str:
    """Truncate a longer value; without an explicit cast only blanks."""
    if len(text) > size and not is_explicit and text[size:].strip(BLANK):
        raise ValueError(f"value too long for type character varying({size})")
    return text[:size]


def strip_blanks(value: str) -> str:
    """A `character` cast to text."""
    return value.rstrip(BLANK)


def character_length(value: str) -> int:
    """The length without trailing blanks."""
    return len(strip_blanks(value))


def is_equal(one: str, other: str) -> bool:
    """`one = other`"""
    return strip_blanks(one) == strip_blanks(other)


def is_unequal(one: str, other: str) -> bool:
    """`one <> other`"""
    return not is_equal(one, other)


def is_less(one: str, other: str) -> bool:
    """`one < other`"""
    return strip_blanks(one) < strip_blanks(other)


def is_less_or_equal(one: str, other: str) -> bool:
    """`one <= other`"""
    return strip_blanks(one) <= strip_blanks(other)


def is_greater(one: str, other: str) -> bool:
    """`one > other`"""
    return is_less(other, one)


def is_greater_or_equal(one: str, other: str) -> bool:
    """`one >= other`"""
    return is_less_or_equal(other, one)


PAIR = ("character", "character")

SIGNATURES: tuple[Signature, ...] = (
    Signature("bpchar", ("text", "integer", "boolean"), "character", to_character),
    Signature("varchar", ("text", "integer", "boolean"), "text", to_varchar),
    Signature("cast", ("character",), "text", strip_blanks),
    Signature("output", ("character",), "text", str),
    *(Signature(n, ("character",), "integer", character_length) for n in ("length", "char_length")),
    Signature("=", PAIR, "boolean", is_equal),
    Signature("<>", PAIR, "boolean", is_unequal),
    Signature("<", PAIR, "boolean", is_less),
    Signature("<=", PAIR, "boolean", is_less_or_equal),
    Signature(">", PAIR, "boolean", is_greater),
    Signature(">=", PAIR, "boolean", is_greater_or_equal),
)
