"""Edge cases that random values rarely reach."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from functools import partial

from dataflow.pipelines.pg_functions import (
    datetime_parts,
    formatted_numbers,
    interval_text,
    intervals,
    numeric,
    timestamps,
)
from dataflow.pipelines.pg_functions.datetime_text import parse_timestamp
from tests.pipelines.pg_functions.comparison import Case, list_differences
from tests.pipelines.pg_functions.reference import Reference


def test_a_product_keeps_as_many_digits_as_numeric_allows(reference: Reference) -> None:
    cases: list[Case] = []
    for exponent in (383, 384, 10_000):
        left, right = (numeric.parse(text) for text in ("5e-16000", f"1e-{exponent}"))
        cases.append((f"5e-16000::numeric * 1e-{exponent}::numeric", partial(numeric.multiply, left, right)))
    assert list_differences(reference, cases) == []


def test_a_numeric_halfway_between_two_reals_is_rounded_once(reference: Reference) -> None:
    halfway = "1.000000059604644775390625"
    cases: list[Case] = []
    for text in (halfway, halfway + "00000001", "1.00000005960464477539062499999999", f"-{halfway}00000001"):
        cases.append((f"{text}::numeric::real::float8", partial(numeric.to_real, Decimal(text))))
    assert list_differences(reference, cases) == []


def test_a_sum_that_equals_the_value_for_infinity_is_refused(reference: Reference) -> None:
    largest = "2147483647 months 2147483647 days 9223372036854775806 us"

    def add() -> str:
        return intervals.show(intervals.add(interval_text.parse(largest), interval_text.parse("1 us")))

    assert list_differences(reference, [(f"'{largest}'::interval + '1 us'::interval", add)]) == []


def test_intervals_with_misplaced_words_are_refused(reference: Reference) -> None:
    texts = [
        "1 day ago 2 hours",
        "ago 1 day",
        "1 day day",
        "-2147483648 years ago",
        "1 02:03 04:05",
        "1:02 ago",
    ]
    cases: list[Case] = [(f"'{text}'::interval", partial(interval_text.parse, text)) for text in texts]
    assert list_differences(reference, cases) == []


def shown(call: Callable[..., int], *arguments: object) -> Callable[[], str]:
    return lambda: timestamps.show_timestamp(call(*arguments))


def test_timestamps_round_away_from_the_year_2000(reference: Reference) -> None:
    cases: list[Case] = []
    for text in (
        "1999-12-31 23:59:58.5",
        "2000-01-01 00:00:00.5",
        "1999-12-31 23:59:59.5",
        "1970-01-01 00:00:00.5",
    ):
        call = shown(timestamps.to_precision, parse_timestamp(text), 0)
        cases.append((f"'{text}'::timestamp::timestamp(0)", call))
    assert list_differences(reference, cases) == []


def test_every_step_of_adding_an_interval_must_be_a_valid_timestamp(reference: Reference) -> None:
    cases: list[Case] = []
    for start, span in (
        ("294276-12-31", "1 month -31 days"),
        ("294276-12-31", "1 day -24 hours"),
        ("4714-11-24 BC", "-1 month 31 days"),
        ("2024-01-31", "1 month -1 day"),
    ):
        call = shown(timestamps.add_interval, parse_timestamp(start), interval_text.parse(span))
        cases.append((f"'{start}'::timestamp + '{span}'::interval", call))
    assert list_differences(reference, cases) == []


def test_date_trunc_uses_the_whole_zone_of_an_abbreviation(reference: Reference) -> None:
    micros = parse_timestamp("1960-01-12 22:49:43")
    call = partial(datetime_parts.truncate_timestamptz, "century", micros, "msk")
    sql = "date_trunc('century', '1960-01-12 22:49:43Z'::timestamptz, 'msk')"
    assert list_differences(reference, [(sql, lambda: timestamps.show_timestamptz(call()))]) == []


def test_nonstandard_roman_numerals_are_refused(reference: Reference) -> None:
    texts = [
        "MCMXCIX",
        "IC",
        "IIX",
        "VX",
        "XXXX",
        "MCCM",
        "IXI",
        "DD",
        "LC",
        "CMC",
        "MMMCMXCIX",
        "ivx",
        "",
        "x1",
    ]
    cases: list[Case] = [
        (f"to_number('{text}', 'RN')", partial(formatted_numbers.read_number, text, "RN")) for text in texts
    ]
    assert list_differences(reference, cases) == []
