"""The final step of aggregates matches PostgreSQL, from sums for numeric and lists for doubles."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from decimal import Decimal
from random import Random

from dataflow.pipelines.pg_functions import aggregates, floats, integers, numeric
from tests.pipelines.pg_functions.comparison import (
    Case,
    list_differences,
    literal,
    random_numeric,
)
from tests.pipelines.pg_functions.reference import Reference

GROUPS = 60
SIZES = [0, 1, 2, 2, 3, 5, 9]


def aggregate(call: str, values: Sequence[object], kind: str, order: str = "") -> str:
    """An aggregate over an array in SQL."""
    items = ", ".join(literal(value, kind) for value in values)
    sql_kind = "float8" if kind == "double" else kind
    return f"(select {call.format('v')}{order} from unnest(array[{items}]::{sql_kind}[]) v)"


def random_doubles(random: Random, size: int) -> list[float]:
    edges = [0.0, 1.0, -1.0, 2.5, 1e200, 1e-200, -1e308, math.inf, math.nan]
    choices = random.choice([edges, [0.0, 1.0, 2.0], [random.uniform(-100, 100) for _ in range(9)]])
    return [random.choice(choices) for _ in range(size)]


def test_numeric_aggregates_are_computed_from_sums(reference: Reference) -> None:
    random = Random(7)
    cases: list[Case] = []
    finishers = (
        ("var_samp", aggregates.variance, True),
        ("var_pop", aggregates.variance, False),
        ("stddev", aggregates.deviation, True),
        ("stddev_pop", aggregates.deviation, False),
    )
    for _ in range(GROUPS):
        values = [random_numeric(random) for _ in range(random.choice(SIZES))]
        squares = [numeric.EXACT.multiply(value, value) for value in values]
        total, square = (
            functools.reduce(numeric.EXACT.add, items, Decimal(0)) for items in (values, squares)
        )
        for name, finish, is_sample in finishers:
            sql = aggregate(name + "({})", values, "numeric")
            cases.append((sql, functools.partial(finish, len(values), total, square, is_sample)))
    assert list_differences(reference, cases) == []


def test_sums_of_limbs_equal_sums_of_numeric(reference: Reference) -> None:
    random = Random(7)
    cases: list[Case] = []
    for _ in range(GROUPS):
        values = [numeric.round_to(random_numeric(random), 20) for _ in range(random.randrange(1, 9))]
        wholes = [numeric.truncate_to(value) for value in values]
        rests = [int((value - whole).scaleb(56)) for value, whole in zip(values, wholes, strict=True)]
        first = sum(integers.cut(rest, 10**28) for rest in rests)
        second = sum(rests) - first * 10**28
        limbs = (functools.reduce(numeric.EXACT.add, wholes), Decimal(first), Decimal(second))
        scale = max(map(numeric.scale_of, values))
        total = functools.partial(aggregates.sum_of_limbs, *limbs, scale)
        cases.append((aggregate("sum({})", values, "numeric"), total))
    assert list_differences(reference, cases) == []


def test_double_aggregates_are_computed_from_lists(reference: Reference) -> None:
    random = Random(7)
    cases: list[Case] = []
    for _ in range(GROUPS):
        values = random_doubles(random, random.choice(SIZES))
        for name, call in (
            ("var_samp", aggregates.variance_doubles),
            ("var_pop", lambda values: aggregates.variance_doubles(values, False)),
            ("stddev", aggregates.deviation_doubles),
            ("stddev_pop", lambda values: aggregates.deviation_doubles(values, False)),
        ):
            cases.append((aggregate(name + "({})", values, "double"), functools.partial(call, values)))
    assert list_differences(reference, cases) == []


def test_aggregates_of_pairs_are_computed_from_lists(reference: Reference) -> None:
    random = Random(7)
    cases: list[Case] = []
    for _ in range(GROUPS):
        size = random.choice(SIZES)
        ys, xs = random_doubles(random, size), random_doubles(random, size)
        arrays = (
            f"array[{', '.join(literal(v, 'double') for v in values)}]::float8[]" for values in (ys, xs)
        )
        source = f"unnest({', '.join(arrays)}) as t(y, x)"
        for name in aggregates.PAIR_AGGREGATES:
            call = functools.partial(aggregates.aggregate_pairs, name, ys, xs)
            cases.append((f"(select {name}(y, x) from {source})", call))
    assert list_differences(reference, cases) == []


def test_percentiles_and_modes_are_computed_from_sorted_lists(reference: Reference) -> None:
    random = Random(7)
    cases: list[Case] = []
    order = " within group (order by v)"
    for _ in range(GROUPS):
        values = sorted(random_doubles(random, random.choice(SIZES)), key=floats.sort_key)
        part = random.choice([0.0, 0.5, 1.0, 0.25, 1 / 3, random.random(), 1.5, -0.1, math.nan])
        cont = functools.partial(aggregates.percentile_cont, part, values)
        disc = functools.partial(aggregates.percentile_disc, part, values)
        cases.append((aggregate(f"percentile_cont('{part}'::float8)", values, "double", order), cont))
        cases.append((aggregate(f"percentile_disc('{part}'::float8)", values, "double", order), disc))
        mode = functools.partial(aggregates.mode, values)
        cases.append((aggregate("mode()", values, "double", order), mode))
    assert list_differences(reference, cases) == []
