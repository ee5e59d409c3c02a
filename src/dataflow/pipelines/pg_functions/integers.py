"""Arithmetic of PostgreSQL's smallint, integer and bigint, with its overflow errors."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator

from dataflow.pipelines.pg_functions.signatures import Signature

BITS = {"smallint": 16, "integer": 32, "bigint": 64}


def fit(value: int, kind: str) -> int:
    """Return the value; ValueError if it does not fit in the type."""
    limit = 1 << (BITS[kind] - 1)
    if -limit <= value < limit:
        return value
    raise ValueError(f"{kind} out of range")


def divide(left: int, right: int) -> int:
    """The quotient truncated toward zero."""
    if right == 0:
        raise ValueError("division by zero")
    quotient = abs(left) // abs(right)
    return quotient if (left < 0) == (right < 0) else -quotient


def modulo(left: int, right: int) -> int:
    """The remainder, with the sign of the dividend."""
    if right == 0:
        raise ValueError("division by zero")
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def shift_left(kind: str) -> Callable[[int, int], int]:
    def shift(value: int, places: int) -> int:
        return _wrapped(value << (places & _mask(kind)), kind)

    return shift


def shift_right(kind: str) -> Callable[[int, int], int]:
    def shift(value: int, places: int) -> int:
        return value >> (places & _mask(kind))

    return shift


def fitting(kind: str, call: Callable[..., int]) -> Callable[..., int]:
    """Wrap a function to refuse a result that does not fit in the type."""

    def fitted(*values: int) -> int:
        return fit(call(*values), kind)

    return fitted


def _mask(kind: str) -> int:
    """Processors use only the low bits of a shift count; a smallint is shifted as an integer."""
    return 63 if kind == "bigint" else 31


def _wrapped(value: int, kind: str) -> int:
    bits = BITS[kind]
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


_CHECKED = (("+", operator.add), ("-", operator.sub), ("*", operator.mul), ("/", divide))
_BITWISE = (("&", operator.and_), ("|", operator.or_), ("#", operator.xor))
_UNARY = (("-", operator.neg), ("+", operator.pos), ("abs", abs), ("@", abs))


def _list_signatures() -> Iterator[Signature]:
    kinds = list(BITS)
    for left in kinds:
        for right in kinds:
            wider = max(left, right, key=kinds.index)
            for name, call in _CHECKED:
                yield Signature(name, (left, right), wider, fitting(wider, call))
    for kind in kinds:
        pair = (kind, kind)
        for name, call in (("%", modulo), ("mod", modulo), *_BITWISE):
            yield Signature(name, pair, kind, call)
        for name, unary in _UNARY:
            yield Signature(name, (kind,), kind, fitting(kind, unary))
        yield Signature("~", (kind,), kind, operator.invert)
        yield Signature("<<", (kind, "integer"), kind, shift_left(kind))
        yield Signature(">>", (kind, "integer"), kind, shift_right(kind))
    for kind in ("integer", "bigint"):
        yield Signature("gcd", (kind, kind), kind, fitting(kind, math.gcd))
        yield Signature("lcm", (kind, kind), kind, fitting(kind, math.lcm))


SIGNATURES: tuple[Signature, ...] = tuple(_list_signatures())
