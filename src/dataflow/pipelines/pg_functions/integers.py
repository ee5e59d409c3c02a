"""PostgreSQL's smallint, integer and bigint: parsing, formatting, bits and divisors, with its errors."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from dataflow.pipelines.pg_functions.signatures import Calls, for_each

BITS = {"smallint": 16, "integer": 32, "bigint": 64}
SPACE = " \t\n\v\f\r"
# The longest prefix that is a number; what follows decides whether the whole is one.
NUMBER = re.compile(
    r"[ \t-\r]*([-+]?)"
    r"(?:0[xX]((?:_?[0-9a-fA-F])+)|0[oO]((?:_?[0-7])+)|0[bB]((?:_?[01])+)|([0-9]+(?:_[0-9]+)*))"
)
MOST_DIGITS = 70  # more than any type has in base 2
BASES = (16, 8, 2, 10)  # of the groups after the sign


def read_integer(kind: str, text: str) -> int:
    """Parse a `smallint`, `integer` or `bigint`."""
    found = NUMBER.match(text)
    if found is None:
        raise ValueError(f'invalid input syntax for type {kind}: "{text}"')
    sign, *written = found.groups()
    base, digits = next((base, part) for base, part in zip(BASES, written, strict=True) if part is not None)
    beyond = 1 << (BITS[kind] - 1)
    number = int(digits.replace("_", "").lstrip("0")[:MOST_DIGITS] or "0", base)
    # A number that is out of range before its last digit is refused before anything after it.
    if number // base <= beyond // base and text[found.end() :].strip(SPACE):
        raise ValueError(f'invalid input syntax for type {kind}: "{text}"')
    if number > beyond or (number == beyond and sign != "-"):
        raise ValueError(f'value "{text}" is out of range for type {kind}')
    return -number if sign == "-" else number


def _write_in_base(style: str, kind: str, number: int) -> str:
    """A negative number is written as its bits."""
    return f"{number & ((1 << BITS[kind]) - 1):{style}}"


def fit(value: int, kind: str) -> int:
    """Return the value; ValueError if it does not fit in the type."""
    limit = 1 << (BITS[kind] - 1)
    if -limit <= value < limit:
        return value
    raise ValueError(f"{kind} out of range")


def cut(left: int, right: int) -> int:
    """The quotient truncated toward zero."""
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def modulo(left: int, right: int) -> int:
    """The remainder, with the sign of the dividend."""
    if right == 0:
        raise ValueError("division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def wrap(value: int, kind: str) -> int:
    """The value as an integer that overflows silently."""
    limit = 1 << (BITS[kind] - 1)
    return (value + limit) % (2 * limit) - limit


def _mask(kind: str) -> int:
    """Processors use only the low bits of a shift count; a smallint is shifted as an integer."""
    return 63 if kind == "bigint" else 31


def _fitted(call: Callable[[int, int], int], kind: str, left: int, right: int) -> int:
    return fit(call(left, right), kind)


def _by_kind(call: Callable[..., Any], *kinds: str) -> dict[str, Callable[..., Any]]:
    """The function for each kind, which is its first argument."""
    return {kind: partial(call, kind) for kind in kinds}


_WIDE = ("integer", "bigint")

SIGNATURES: Calls = {
    **for_each("cast(text) -> {}", _by_kind(read_integer, *BITS)),
    **for_each("mod({}, {}) -> {}", dict.fromkeys(BITS, modulo)),
    **for_each("&({}, {}) -> {}", dict.fromkeys(BITS, operator.and_)),
    **for_each("|({}, {}) -> {}", dict.fromkeys(BITS, operator.or_)),
    **for_each("#({}, {}) -> {}", dict.fromkeys(BITS, operator.xor)),
    **for_each("~({}) -> {}", dict.fromkeys(BITS, operator.invert)),
    **for_each(
        "<<({}, integer) -> {}",
        _by_kind(lambda kind, value, places: wrap(value << (places & _mask(kind)), kind), *BITS),
    ),
    **for_each(
        ">>({}, integer) -> {}", _by_kind(lambda kind, value, places: value >> (places & _mask(kind)), *BITS)
    ),
    **for_each("gcd({}, {}) -> {}", _by_kind(partial(_fitted, math.gcd), *_WIDE)),
    **for_each("lcm({}, {}) -> {}", _by_kind(partial(_fitted, math.lcm), *_WIDE)),
    **for_each("to_hex({}) -> text", _by_kind(partial(_write_in_base, "x"), *_WIDE)),
    **for_each("to_oct({}) -> text", _by_kind(partial(_write_in_base, "o"), *_WIDE)),
    **for_each("to_bin({}) -> text", _by_kind(partial(_write_in_base, "b"), *_WIDE)),
}
