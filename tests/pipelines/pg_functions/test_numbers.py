"""Numbers of every type match PostgreSQL to the last digit, including errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial
from random import Random
from typing import Any

import pytest

from dataflow.pipelines.pg_functions import (
    floats,
    integers,
    intervals,
    numeric,
    numeric_powers,
    ranges,
    trigonometry,
)
from dataflow.pipelines.pg_functions.signatures import Signature, list_overloads
from tests.pipelines.pg_functions.comparison import (
    SQL_TYPES,
    Case,
    list_differences,
    literal,
    make_cases,
    random_numeric,
    random_value,
)
from tests.pipelines.pg_functions.reference import Reference

NUMBERS = [" 1.5", "1e5", "1E-5 ", "-.5", "5.", ".", "", "+3", "1e", "--1", " - 1", "0e10", "0e-5", "-0.00"]
NUMBERS += ["1e-16383", "1e-16384", "1e131071", "1e131072", "abc", "1 2", "\t7\n", "00012.500", "0e-20000"]
KEYS: dict[str, Callable[[Any], Any]] = {
    "interval": intervals.sort_key,
    "double": floats.sort_key,
    "real": floats.sort_key,
}
SMALL = {"scale": (0, 30), "<<": (0, 70), ">>": (0, 70), "round": (-40, 40), "trunc": (-40, 40)}


def choose(signature: Signature, random: Random) -> Sequence[Any] | None:
    if signature.takes == ("text",):
        return [random.choice(NUMBERS)]
    found = [random_value(kind, random) for kind in signature.takes]
    if signature.name == "cast":
        is_special = isinstance(found[0], float) and not abs(found[0]) < float("inf")
        return None if len(found) > 1 or (signature.gives == "numeric" and is_special) else found
    if signature.name in SMALL and len(found) == 2:
        found[1] = random.randrange(*SMALL[signature.name])
    if signature.name == "factorial":
        found[0] = random.randrange(-2, 60)
    if signature.takes[0:1] == ("numeric",):
        return within_reach(signature.name, found, random)
    return found


def within_reach(name: str, found: list[Any], random: Random) -> list[Any]:
    """Powers that mostly fit in a numeric."""
    if name in ("exp", "power", "pow", "^"):
        limits = (4,) if name == "exp" else (5, 3)
        return [
            numeric.rescaled(value.scaleb(-max(0, value.adjusted() - random.randrange(-3, limit))), 9)
            for value, limit in zip(found, limits, strict=True)
        ]
    if name in ("ln", "log", "log10", "sqrt") and random.random() < 0.9:
        return [abs(value) for value in found]
    return found


@pytest.mark.parametrize("module", [numeric, numeric_powers, floats, trigonometry])
def test_number_functions_match_postgresql(reference: Reference, module: Any) -> None:
    cases = make_cases(list_overloads(module.SIGNATURES), choose, count=40)
    assert list_differences(reference, cases) == []


def test_integer_functions_match_postgresql(reference: Reference) -> None:
    signatures = [signature for signature in list_overloads(integers.SIGNATURES) if signature.name != "cast"]
    assert list_differences(reference, make_cases(signatures, choose, count=40)) == []


def test_numeric_is_parsed_and_formatted_as_in_postgresql(reference: Reference) -> None:
    cases = make_cases(
        [each for each in list_overloads(numeric.SIGNATURES) if each.name == "cast"], choose, count=100
    )
    assert list_differences(reference, cases) == []


LIMITS = [
    "0 1 -1 2 0.5 4.5 -4.5 1e3 1e15 1e131071 9.5e131071 -1e131071 1e-16383 -9e-1000 1e-1000 1e5000 1e8000",
    "6000 5999.99 -5999 -6000 1e-20 1.0000000000000000000000001 0.99999999999999 32768 2147483648 2147483647",
    "-2147483648 -2147483649 123456789012345678901234567890.123",
]
LONG_SCALES = [0, 1, 5, -3, 20_000, 131_073, -131_071, -131_072, -131_073, 2**31 - 1, -(2**31)]


def choose_limit(signature: Signature, random: Random) -> Sequence[Any] | None:
    values = [numeric.parse(text) for text in " ".join(LIMITS).split()]
    found = [random.choice(values if kind == "numeric" else LONG_SCALES) for kind in signature.takes]
    # Finding divisors of numbers this long takes minutes.
    return None if signature.name in ("gcd", "lcm", "factorial") else found


def test_numbers_at_their_limits_match_postgresql(reference: Reference) -> None:
    functions = [each for each in list_overloads(numeric.SIGNATURES) if each.name != "cast"]
    cases = make_cases((*functions, *list_overloads(numeric_powers.SIGNATURES)), choose_limit, count=12)
    assert list_differences(reference, cases) == []


def test_powers_near_a_tie_are_rounded_as_in_postgresql(reference: Reference) -> None:
    cases: list[Case] = []
    for places in range(20):
        for digit in (1, 2, 5, -1, -2, -5):
            value = Decimal(digit).scaleb(-places)
            near_one = Decimal(1) + value
            cases.append((f"exp({value:f}::numeric)", partial(numeric_powers.exponential, value)))
            if near_one > 0:
                cases.append(
                    (f"ln({near_one:f}::numeric)", partial(numeric_powers.natural_logarithm, near_one))
                )
    assert list_differences(reference, cases) == []


def test_a_numeric_is_rounded_to_its_precision_as_in_postgresql(reference: Reference) -> None:
    random = Random(7)
    cases: list[Case] = []
    for _ in range(300):
        value, precision, scale = random_numeric(random), random.randrange(1, 30), random.randrange(-3, 30)

        def cast(value: Decimal = value, precision: int = precision, scale: int = scale) -> Decimal:
            try:
                return numeric.fit_precision(value, precision, scale)
            except ValueError as error:
                raise ValueError(str(error).split(": A field")[0]) from None

        cases.append((f"'{value:f}'::numeric({precision}, {scale})", cast))
    assert list_differences(reference, cases) == []


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-inf"])
def test_nan_and_infinite_numerics_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="NaN and infinity are not supported"):
        numeric.parse(text)
    with pytest.raises(ValueError, match="NaN and infinity are not supported"):
        numeric.from_double(float(text))


@pytest.mark.parametrize("text", ["1_000", "0x1F", "0b1", "0o7"])
def test_numbers_that_postgresql_15_rejects_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="invalid input syntax for type numeric"):
        numeric.parse(text)


def test_width_bucket_matches_postgresql(reference: Reference) -> None:
    random = Random(7)
    buckets = [
        signature for signature in list_overloads(ranges.SIGNATURES) if signature.name == "width_bucket"
    ]
    between_bounds = [signature for signature in buckets if len(signature.takes) == 4]
    cases = make_cases(between_bounds, choose, count=40)
    for signature in buckets[: -len(between_bounds)]:
        kind = signature.takes[0]
        for _ in range(20 if kind != "text" else 0):
            thresholds = [random_value(kind, random) for _ in range(random.randrange(5))]
            thresholds.sort(key=KEYS.get(kind, lambda value: value))
            operand = random.choice([random_value(kind, random), *thresholds])
            items = ", ".join(literal(value, kind) for value in thresholds)
            array = f"array[{items}]::{SQL_TYPES.get(kind, kind)}[]"
            call = partial(signature.call, operand, thresholds)
            cases.append((f"width_bucket({literal(operand, kind)}, {array})", call))
    assert list_differences(reference, cases) == []
