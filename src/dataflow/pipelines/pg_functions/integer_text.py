"""Parses and formats integers in decimal, hexadecimal, octal and binary."""

from __future__ import annotations

import re

from dataflow.pipelines.pg_functions.signatures import Signature

BITS = {"smallint": 16, "integer": 32, "bigint": 64}
SPACE = " \t\n\v\f\r"
# The longest prefix that is a number; what follows decides whether the whole is one.
NUMBER = re.compile(
    r"[ \t-\r]*([-+]?)"
    r"(?:0[xX]((?:_?[0-9a-fA-F])+)|0[oO]((?:_?[0-7])+)|0[bB]((?:_?[01])+)|([0-9]+(?:_[0-9]+)*))"
)
BASES = (16, 8, 2, 10)  # of the groups after the sign


def read_integer(text: str, kind: str) -> int:
    """Parse a `smallint`, `integer` or `bigint`."""
    found = NUMBER.match(text)
    if found is None:
        raise ValueError(f'invalid input syntax for type {kind}: "{text}"')
    sign, *written = found.groups()
    base, digits = next((base, part) for base, part in zip(BASES, written, strict=True) if part is not None)
    beyond = 1 << (BITS[kind] - 1)
    number = 0
    for digit in digits.replace("_", ""):
        if number > beyond // base:  # detected before any later error
            raise ValueError(f'value "{text}" is out of range for type {kind}')
        number = number * base + int(digit, 16)
    if text[found.end() :].strip(SPACE):
        raise ValueError(f'invalid input syntax for type {kind}: "{text}"')
    if number > beyond or (number == beyond and sign != "-"):
        raise ValueError(f'value "{text}" is out of range for type {kind}')
    return -number if sign == "-" else number


def smallint_in(text: str) -> int:
    """Parse a smallint."""
    return read_integer(text, "smallint")


def integer_in(text: str) -> int:
    """Parse an integer."""
    return read_integer(text, "integer")


def bigint_in(text: str) -> int:
    """Parse a bigint."""
    return read_integer(text, "bigint")


def to_hex(number: int) -> str:
    """An integer in hexadecimal; a negative one as its 32 bits."""
    return f"{number & 0xFFFFFFFF:x}"


def bigint_to_hex(number: int) -> str:
    """A bigint in hexadecimal; a negative one as its 64 bits."""
    return f"{number & 0xFFFFFFFFFFFFFFFF:x}"


def to_oct(number: int) -> str:
    """An integer in octal."""
    return f"{number & 0xFFFFFFFF:o}"


def bigint_to_oct(number: int) -> str:
    """A bigint in octal."""
    return f"{number & 0xFFFFFFFFFFFFFFFF:o}"


def to_bin(number: int) -> str:
    """An integer in binary."""
    return f"{number & 0xFFFFFFFF:b}"


def bigint_to_bin(number: int) -> str:
    """A bigint in binary."""
    return f"{number & 0xFFFFFFFFFFFFFFFF:b}"


SIGNATURES: tuple[Signature, ...] = (
    Signature("cast", ("text",), "smallint", smallint_in),
    Signature("cast", ("text",), "integer", integer_in),
    Signature("cast", ("text",), "bigint", bigint_in),
    *(Signature("cast", (kind,), "text", str) for kind in BITS),
    *(Signature("output", (kind,), "text", str) for kind in BITS),
    Signature("to_hex", ("integer",), "text", to_hex),
    Signature("to_hex", ("bigint",), "text", bigint_to_hex),
    Signature("to_oct", ("integer",), "text", to_oct),
    Signature("to_oct", ("bigint",), "text", bigint_to_oct),
    Signature("to_bin", ("integer",), "text", to_bin),
    Signature("to_bin", ("bigint",), "text", bigint_to_bin),
)
