"""Casts between PostgreSQL's integers, floats, numeric and boolean."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal

from dataflow.pipelines.pg_functions.floats import INFINITY, OVERFLOW, UNDERFLOW, nearest_real, round_even
from dataflow.pipelines.pg_functions.integers import BITS, fit
from dataflow.pipelines.pg_functions.numeric import rescaled
from dataflow.pipelines.pg_functions.numeric_text import show
from dataflow.pipelines.pg_functions.signatures import Signature


def numeric_to_integer(value: Decimal, kind: str) -> int:
    """Cast with rounding half away from zero."""
    # Rounding a number with thousands of digits would be slow, and it would be out of range anyway.
    if value and value.adjusted() > 20:
        raise ValueError(f"{kind} out of range")
    return fit(int(rescaled(value, 0)), kind)


def float_to_integer(value: float, kind: str) -> int:
    """Cast with rounding half to even."""
    if not math.isfinite(value):
        raise ValueError(f"{kind} out of range")
    return fit(int(round_even(value)), kind)


def numeric_to_double(value: Decimal) -> float:
    found = float(value)
    if math.isinf(found) or (found == 0 and value):
        raise ValueError(f'"{show(value)}" is out of range for type double precision')
    return found


def numeric_to_real(value: Decimal) -> float:
    found = _round_once(float(value), value)
    if math.isinf(found) or (found == 0 and value):
        raise ValueError(f'"{show(value)}" is out of range for type real')
    return found


def integer_to_real(value: int) -> float:
    return _round_once(float(value), Decimal(value))


def double_to_real(value: float) -> float:
    found = nearest_real(value)
    if math.isinf(found) and not math.isinf(value):
        raise ValueError(OVERFLOW)
    if found == 0 and value != 0:
        raise ValueError(UNDERFLOW)
    return found


def _round_once(double: float, exact: Decimal) -> float:
    """The real nearest to the exact value; its nearest double may be halfway between two reals."""
    found = nearest_real(double)
    if math.isfinite(double) and Decimal(double) != exact:
        towards = nearest_real(math.nextafter(double, INFINITY if exact > Decimal(double) else -INFINITY))
        if abs(Decimal(double) - Decimal(found)) != abs(Decimal(double) - Decimal(towards)):
            return found
        return towards
    return found


def _to_kind(kind: str, call: Callable[..., int]) -> Callable[..., int]:
    def cast(value: object) -> int:
        return call(value, kind)

    return cast


def _list_signatures() -> Iterator[Signature]:
    for kind in BITS:
        yield Signature("cast", ("numeric",), kind, _to_kind(kind, numeric_to_integer))
        yield Signature("cast", ("double",), kind, _to_kind(kind, float_to_integer))
        yield Signature("cast", ("real",), kind, _to_kind(kind, float_to_integer))
        for other in BITS:
            if other != kind:
                yield Signature("cast", (other,), kind, _to_kind(kind, fit))
        yield Signature("cast", (kind,), "numeric", Decimal)
        yield Signature("cast", (kind,), "double", float)
        yield Signature("cast", (kind,), "real", integer_to_real)
    yield Signature("cast", ("numeric",), "double", numeric_to_double)
    yield Signature("cast", ("numeric",), "real", numeric_to_real)
    yield Signature("cast", ("double",), "real", double_to_real)
    yield Signature("cast", ("real",), "double", float)
    yield Signature("cast", ("boolean",), "integer", int)
    yield Signature("cast", ("integer",), "boolean", bool)


SIGNATURES: tuple[Signature, ...] = tuple(_list_signatures())
