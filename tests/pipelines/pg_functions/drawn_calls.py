"""Calls declared functions with random arguments, here and in PostgreSQL."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from dataflow.pipelines.pg_functions.arrays import array_out
from dataflow.pipelines.pg_functions.float_text import double_out, real_out
from dataflow.pipelines.pg_functions.floats import nearest_real
from dataflow.pipelines.pg_functions.signatures import ANY, Signature
from dataflow.pipelines.pg_functions.value_text import boolean_out, bytea_out
from tests.pipelines.pg_functions.reference import Reference

Draw = Callable[[random.Random], Any]

LETTERS = "aabbcAB1, .-_%\\'\"{}é😀ßİ\n[]:"
WORDS = (
    "",
    "a",
    "ab",
    "abc",
    "null",
    "NULL",
    "true",
    " x ",
    "é😀",
    "a,b,,c",
    "12",
    "-7.50",
    "a b",
    "{}",
    "%s",
)
OPERATORS = frozenset("~!@#^&|`?+-*/%<>=")


def draw_text(chosen: random.Random) -> str:
    if chosen.random() < 0.4:
        return chosen.choice(WORDS)
    return "".join(chosen.choices(LETTERS, k=chosen.randint(0, 7)))


def draw_integer(chosen: random.Random) -> int:
    if chosen.random() < 0.1:
        return chosen.choice((2**31 - 1, -(2**31), 2**31 - 2, 65536, 100))
    return chosen.randint(-4, 8)


def draw_double(chosen: random.Random) -> float:
    pool = (
        0.0,
        -0.0,
        1.5,
        0.1,
        1e15,
        1e16,
        123456789012345.6,
        1e-5,
        1e300,
        float("nan"),
        float("inf"),
        5e-324,
    )
    return (
        chosen.choice(pool)
        if chosen.random() < 0.5
        else chosen.uniform(-1, 1) * 10.0 ** chosen.randint(-20, 20)
    )


def draw_real(chosen: random.Random) -> float:
    return nearest_real(min(max(draw_double(chosen), -3e38), 3e38)) if chosen.random() < 0.9 else float("inf")


def draw_numeric(chosen: random.Random) -> Decimal:
    return Decimal(chosen.randint(-(10**6), 10**6)).scaleb(-chosen.randint(0, 4))


def draw_bytes(chosen: random.Random) -> bytes:
    return bytes(chosen.choices((0, 1, 65, 92, 128, 255, 10), k=chosen.randint(0, 6)))


def draw_uuid(chosen: random.Random) -> str:
    digits = f"{chosen.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def draw_micros(chosen: random.Random) -> int:
    unit = chosen.choice((1, 10, 1000, 10**6))
    return chosen.randint(-(10**16), 10**17) // unit * unit


def write_timestamp(micros: int) -> str:
    return str(datetime(1970, 1, 1) + timedelta(microseconds=micros))


DRAWS: dict[str, Draw] = {
    "text": draw_text,
    "smallint": lambda chosen: chosen.randint(-4, 8),
    "integer": draw_integer,
    "bigint": draw_integer,
    "double": draw_double,
    "real": draw_real,
    "numeric": draw_numeric,
    "boolean": lambda chosen: chosen.random() < 0.5,
    "bytea": draw_bytes,
    "uuid": draw_uuid,
    "date": lambda chosen: chosen.randint(-200_000, 200_000),
    "timestamp": draw_micros,
    "timestamptz": draw_micros,
}
WRITERS: dict[str, Callable[[Any], str]] = {
    "boolean": boolean_out,
    "double": double_out,
    "real": real_out,
    "bytea": bytea_out,
    "numeric": lambda value: f"{value:f}",
    "date": lambda days: write_timestamp(days * 86_400_000_000)[:10],
    "timestamp": write_timestamp,
    "timestamptz": write_timestamp,
}
SQL_TYPES = {"double": "double precision"}


def draw(kind: str, chosen: random.Random, draws: dict[str, Draw]) -> Any:
    """A value of a type, sometimes NULL; a list for an array type."""
    if chosen.random() < 0.08:
        return None
    if kind in draws:
        return draws[kind](chosen)
    if kind.endswith("[]"):
        return [draw(kind[:-2], chosen, draws) for _ in range(chosen.randint(0, 4))]
    return DRAWS[kind](chosen)


def write(value: Any, kind: str) -> str:
    """A value as text; a row's fields as an array."""
    if kind.startswith("record"):
        return array_out(list(value))
    if kind.endswith("[]"):
        return array_out([None if item is None else write(item, kind[:-2]) for item in value])
    return WRITERS.get(kind, str)(value)


def to_sql_type(kind: str) -> str:
    """The SQL name of a type."""
    plain = kind.removesuffix("[]")
    return SQL_TYPES.get(plain, plain) + kind[len(plain) :]


def to_sql(value: Any, kind: str) -> str:
    """A value as an SQL expression."""
    name = to_sql_type(kind)
    if value is None:
        return f"null::{name}"
    written = write(value, kind).replace("\\", "\\\\").replace("'", "''")
    return f"e'{written}'::{name}"


def to_call(signature: Signature, arguments: Sequence[str]) -> str:
    """The SQL expression for a call with arguments that are already SQL."""
    name = signature.name
    if name == "cast":
        call = f"({arguments[0]})::{to_sql_type(signature.gives)}"
    elif name == "output":
        call = f"case when {arguments[0]} is not null then format('%s', {arguments[0]}) end"
    elif name == "[]":
        call = f"({arguments[0]})[{arguments[1]}]"
    elif name == "[:]":
        call = f"({arguments[0]})[{arguments[1]}:{arguments[2]}]"
    elif name.endswith((" any", " all")):
        call = f"{arguments[0]} {name} ({arguments[1]})"
    elif set(name) <= OPERATORS:
        call = f"{arguments[0]} {name} {arguments[1]}"
    elif name == "position":
        call = f"position({arguments[0]} in {arguments[1]})"
    else:
        call = f"{name}({', '.join(arguments)})"
    if not signature.is_set:
        return call
    row = "array[r.key, r.value::text]" if signature.gives.startswith("record") else "r"
    return f"select array_agg({row}::text) from {call} r"


def call_here(signature: Signature, values: Sequence[Any], gives: str) -> str | None:
    """The result of a call, in the format of `Reference.ask`."""
    if signature.strict and any(value is None for value in values):
        return None
    try:
        result = signature.call(*values)
    except ValueError as refused:
        return f"error: {refused}"
    if signature.is_set:
        rows = [None if row is None else _write_result(row, gives) for row in result]
        return array_out(rows) if rows else None
    return None if result is None else _write_result(result, gives)


def _write_result(result: Any, kind: str) -> str:
    if kind == "boolean":
        return "true" if result else "false"
    return write(result, kind)


def find_differences(
    reference: Reference,
    signatures: Iterable[Signature],
    count: int,
    draws: dict[str, Draw] | None = None,
    element: str = "text",
) -> list[str]:
    """Draw a number of calls for each function; return those that differ from PostgreSQL."""
    chosen = random.Random(7)
    calls: list[tuple[str, Signature, list[Any], str]] = []
    for signature in signatures:
        takes = [kind.replace(ANY, element) for kind in signature.takes]
        gives = signature.gives.replace(ANY, element)
        for _ in range(count):
            kinds = takes + takes[-1:] * (chosen.randint(0, 3) if signature.variadic else 0)
            values = [draw(kind, chosen, draws or {}) for kind in kinds]
            written = [to_sql(value, kind) for value, kind in zip(values, kinds, strict=True)]
            calls.append((to_call(signature, written), signature, values, gives))
    expected = reference.ask([call[0] for call in calls])
    differences = []
    for (sql, signature, values, gives), wanted in zip(calls, expected, strict=True):
        found = call_here(signature, values, gives)
        if found != wanted:
            differences.append(f"{sql} is {wanted!r}, not {found!r}")
    return differences
