"""Compares signatures with PostgreSQL: random arguments as SQL literals, results and errors as text."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from random import Random
from typing import Any

from dataflow.pipelines.pg_functions import intervals, timestamps
from dataflow.pipelines.pg_functions.civil import END_DATE, END_TIMESTAMP, MIN_DAY
from dataflow.pipelines.pg_functions.floats import nearest_real
from dataflow.pipelines.pg_functions.integers import BITS
from dataflow.pipelines.pg_functions.signatures import Interval, Signature
from tests.pipelines.pg_functions.reference import Reference

Case = tuple[str, Callable[[], object]]  # an expression, and what computes it here
SQL_TYPES = {"double": "double precision"}
SHOWN: dict[str, Callable[[int], str]] = {
    "date": timestamps.show_date,
    "timestamp": timestamps.show_timestamp,
    "timestamptz": timestamps.show_timestamptz,
}


def list_differences(reference: Reference, cases: Sequence[Case]) -> list[str]:
    """The calls for which PostgreSQL and our functions differ."""
    wanted = reference.ask([expression for expression, _ in cases])
    found = []
    for (expression, call), want in zip(cases, wanted, strict=True):
        got = attempt(call)
        if not is_same(got, want):
            found.append(f"{expression}: PostgreSQL {want!r}, here {got!r}")
    return found


def attempt(call: Callable[[], object]) -> object:
    try:
        return call()
    except ValueError as error:
        return f"error: {error}"


def is_same(got: object, want: str | None) -> bool:
    if isinstance(got, float) and want is not None and not want.startswith("error"):
        value = float(want)
        return (math.isnan(value) and math.isnan(got)) or (
            value == got and math.copysign(1, value) == math.copysign(1, got)
        )
    return shown(got) == want


def shown(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Interval):
        return intervals.show(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    return str(value)


def literal(value: Any, kind: str) -> str:
    """A value as an SQL expression of its type."""
    if value is None:
        return f"null::{SQL_TYPES.get(kind, kind)}"
    if kind in SHOWN:
        value = SHOWN[kind](value)
    if isinstance(value, Interval):
        return (
            f"(make_interval(months => {value.months}, days => {value.days}) + '{value.micros} us'::interval)"
        )
    if isinstance(value, Decimal):
        text = format(value, "f")
    else:
        text = str(value).replace("'", "''")
    return f"'{text}'" if kind == "text" else f"('{text}'::{SQL_TYPES.get(kind, kind)})"


def expression_of(signature: Signature, arguments: Sequence[Any]) -> str:
    """The call in SQL."""
    literals = [literal(value, kind) for value, kind in zip(arguments, signature.takes, strict=True)]
    if signature.name == "cast":
        written = f"{literals[0]}::{SQL_TYPES.get(signature.gives, signature.gives)}"
    elif signature.name == "extract":
        written = f"extract({literals[0]} from {literals[1]})"
    elif signature.name == "overlaps":
        written = "({}, {}) overlaps ({}, {})".format(*literals)
    elif signature.is_set:
        written = f"array(select {signature.name}({', '.join(literals)})::text)"
    elif signature.name[0].isalpha():
        written = f"{signature.name}({', '.join(literals)})"
    elif len(literals) == 1:
        written = f"{signature.name} {literals[0]}"
    else:
        written = f"{literals[0]} {signature.name} {literals[1]}"
    # The shortest text of a real differs from that of the double that stores it here.
    return f"({written})::float8" if signature.gives == "real" else written


def make_cases(
    signatures: Iterable[Signature],
    choose: Callable[[Signature, Random], Sequence[Any] | None],
    *,
    count: int,
    seed: int = 7,
) -> list[Case]:
    """Each signature with `count` argument lists; one is skipped if `choose` returns None."""
    random = Random(seed)
    cases: list[Case] = []
    for signature in signatures:
        for _ in range(count):
            arguments = choose(signature, random)
            if arguments is not None:
                cases.append((expression_of(signature, arguments), call_of(signature, arguments)))
    return cases


def call_of(signature: Signature, arguments: Sequence[Any]) -> Callable[[], object]:
    """The signature's result, with dates and rows as text."""
    show = SHOWN.get(signature.gives, lambda value: value)
    if not signature.is_set:
        return lambda: show(signature.call(*arguments))

    def rows() -> str:
        found = [shown(show(row)) or "" for row in signature.call(*arguments)]
        return "{" + ",".join(f'"{row}"' if " " in row else row for row in found) + "}"

    return rows


def random_value(kind: str, random: Random) -> Any:
    """Small, large and special values of a number type, or an interval."""
    if kind in BITS:
        return random_integer(BITS[kind], random)
    if kind == "boolean":
        return random.random() < 0.5
    if kind == "real":
        return nearest_real(random_double(random) * 10.0 ** random.randrange(-40, 1))
    makers: dict[str, Callable[[Random], Any]] = {
        "double": random_double,
        "numeric": random_numeric,
        "interval": random_interval,
        "date": random_date,
        "timestamp": random_timestamp,
        "timestamptz": random_timestamp,
    }
    return makers[kind](random)


def random_integer(bits: int, random: Random) -> int:
    limit: int = 2 ** (bits - 1)
    edges = [0, 1, -1, 2, -2, 3, 7, limit - 1, -limit, 1 - limit, 2 ** (bits // 2)]
    found: int = random.choice(
        [random.choice(edges), random.randrange(-limit, limit) >> random.randrange(bits)]
    )
    return found


def random_double(random: Random) -> float:
    edges = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 45.0, 90.0, 1e308, 5e-324, 32767.5, 2147483647.5, 2.0**63]
    bits: float = struct.unpack("d", random.randbytes(8))[0]
    numbers = [random.uniform(-2, 2), round(random.uniform(-1000, 1000), random.randrange(6))]
    return random.choice([random.choice([*edges, math.inf, -math.inf, math.nan]), bits, *numbers])


def random_numeric(random: Random) -> Decimal:
    if random.random() < 0.1:
        return Decimal(random.choice(["0", "0.00", "1", "-1", "0.5", "0.1", "9999", "10000", "1.0000000001"]))
    digits = random.randrange(10 ** random.choice([1, 2, 3, 4, 5, 8, 12, 16, 20, 30, 45]))
    scale = random.choice([0, 0, 0, 1, 2, 2, 4, 5, 8, 16, 20, 30])
    is_negative = bool(digits) and random.random() < 0.4
    return Decimal((is_negative, tuple(map(int, str(digits))), -scale))


def random_timestamp(random: Random) -> int:
    """Mostly recent dates, some far away."""
    last = END_TIMESTAMP // intervals.DAY
    near, old = random.randrange(-20_000, 30_000), random.randrange(-721_000, -717_000)
    edges = [MIN_DAY, last - 1, 0, -1, 10_957, 10_956, 11_016, 19_782, -719_528, -719_162]
    day = random.choice([near, near, near, old, random.randrange(MIN_DAY, last), random.choice(edges)])
    time = random.choice([0, random.randrange(86_400) * intervals.SECOND, random.randrange(intervals.DAY)])
    return day * intervals.DAY + time


def random_date(random: Random) -> int:
    if random.random() < 0.1:
        return random.randrange(MIN_DAY, END_DATE)
    return random_timestamp(random) // intervals.DAY


def random_interval(random: Random) -> Interval:
    size = random.choice([1, 5, 10, 40, 2**20, 2**31 - 1])
    micros = random.choice([10 ** random.randrange(1, 16), 100 * 3_600_000_000])
    fields = (random.choice([0, random.randint(-limit, limit)]) for limit in (size, size, micros))
    return Interval(*fields)
