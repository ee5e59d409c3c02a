"""Intervals behave as in PostgreSQL, including errors."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from dataflow.pipelines.pg_functions import datetime_parts, interval_text, intervals
from dataflow.pipelines.pg_functions.signatures import Signature, list_overloads
from tests.pipelines.pg_functions.comparison import list_differences, make_cases, random_value
from tests.pipelines.pg_functions.reference import Reference

UNITS = [
    "c",
    "cent",
    "century",
    "centuries",
    "d",
    "day",
    "days",
    "dec",
    "decade",
    "h",
    "hour",
    "hrs",
    "m",
    "min",
    "mins",
    "minute",
    "minutes",
    "microseconds",
    "milliseconds",
    "ms",
    "us",
    "usec",
    "mon",
    "mons",
    "month",
    "months",
    "qtr",
    "quarter",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "w",
    "week",
    "weeks",
    "y",
    "year",
    "yr",
    "years",
    "millennium",
    "mil",
    "mils",
    "millenniums",
    "timezone",
]
FIELDS = [*UNITS, "epoch", "epoch", "dow", "isoyear", "julian", "foo", "ago", "CENTURY", "Milliseconds"]


def random_number(random: Random) -> str:
    whole = random.choice([random.randrange(200), random.randrange(200), 2**31 - 1, 2**31, 99999999999])
    fraction = f".{random.randrange(10 ** random.randrange(1, 8))}"
    return random.choice(["", "", "", "-", "+", "- "]) + random.choice(
        [str(whole), f"{whole}{fraction}", fraction]
    )


def random_clock(random: Random) -> str:
    text = f"{random.randrange(50)}:{random.randrange(62):02d}"
    text += random.choice(["", f":{random.randrange(62):02d}"])
    return random.choice(["", "", "-", "+"]) + text + random.choice(["", f".{random.randrange(10**7)}"])


def random_iso(random: Random) -> str:
    def number() -> str:
        sign, fraction = random.choice(["", "", "-"]), random.choice(["", "", f".{random.randrange(1000)}"])
        return f"{sign}{random.randrange(100)}{fraction}"

    if random.random() < 0.3:
        date = random.choice(["P{:04d}-{:02d}-{:02d}", "P{:04d}{:02d}{:02d}"])
        time = random.choice(["", "T{:02d}:{:02d}:{:02d}", "T{:02d}{:02d}{:02d}"])
        return date.format(*random.choices(range(20), k=3)) + time.format(*random.choices(range(70), k=3))
    parts = [number() + unit if random.random() < 0.5 else "" for unit in "YMWDHMS"]
    return "P" + "".join(parts[:4]) + ("T" + "".join(parts[4:]) if any(parts[4:]) else "")


def random_text(random: Random) -> str:
    if random.random() < 0.2:
        return random_iso(random)
    parts = []
    for _ in range(random.choice([1, 1, 2, 2, 3, 4])):
        year_month = f"{random.randrange(20)}-{random.randrange(14)}"
        counted = random_number(random) + random.choice(["", " "]) + random.choice([*UNITS, ""])
        parts.append(random.choice([counted, counted, counted, random_clock(random), year_month]))
    return random.choice(["", "", "", "@ "]) + " ".join(parts) + random.choice(["", "", "", " ago"])


def choose(signature: Signature, random: Random) -> Sequence[Any] | None:
    return [
        random.choice(FIELDS)
        if kind == "text" and signature.name != "cast"
        else random_argument(kind, random)
        for kind in signature.takes
    ]


def random_argument(kind: str, random: Random) -> Any:
    if kind == "text":
        return random_text(random)
    if kind == "double":
        return random.choice([0.0, 1.0, -1.0, 0.5, 1 / 3, 2.0, 1e6, 1e12, random.uniform(-10, 10)])
    return random_value(kind, random)


@pytest.mark.parametrize(("module", "count"), [(intervals, 200), (datetime_parts, 200), (interval_text, 800)])
def test_interval_functions_match_postgresql(reference: Reference, module: Any, count: int) -> None:
    others = {"date", "timestamp", "timestamptz"}
    signatures = [one for one in list_overloads(module.SIGNATURES) if not others & set(one.takes)]
    assert list_differences(reference, make_cases(signatures, choose, count=count)) == []


def test_an_infinite_interval_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite intervals are not supported"):
        interval_text.parse("infinity")
