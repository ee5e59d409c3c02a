"""Which chunk covers which work, and the two ways to ask for it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.model.coverage import (
    EVERYTHING,
    NOTHING,
    Kind,
    covers,
    find_dataid_bounds,
    find_first_covering,
    find_reach,
)
from dataflow.model.dataid import dataid_range, interval_of, sort_key
from dataflow.model.grain import Grain

MONTHS, DAYS = Kind(Grain.MONTHLY, "UTC"), Kind(Grain.DAILY, "UTC")
NUMBERS, WORDS = Kind(Grain.SEQUENCE, "UTC"), Kind(Grain.TEXT, "UTC")
EXAMPLES = {
    Grain.HOURLY: "2017-10-29T01+00:00",
    Grain.DAILY: "2017-11-30",
    Grain.WEEKLY: "2017-11-26",
    Grain.MONTHLY: "2017-11",
    Grain.QUARTERLY: "2017-Q4",
    Grain.YEARLY: "2017",
}

zones = st.sampled_from(["UTC", "Europe/London", "America/New_York", "Asia/Kolkata", "Pacific/Apia"])
grains = st.sampled_from(list(EXAMPLES))


@pytest.mark.parametrize(
    ("chunk", "answer"), [("2017-11-29", False), ("2017-11-30", True), ("2018-02-03", True)]
)
def test_a_month_is_covered_by_its_last_day(chunk: str, answer: bool) -> None:
    assert covers(chunk, DAYS, "2017-11", MONTHS) is answer


def test_moments_are_compared_each_in_its_own_time_zone() -> None:
    new_york, auckland = Kind(Grain.MONTHLY, "America/New_York"), Kind(Grain.MONTHLY, "Pacific/Auckland")
    assert not covers("2017-11-30", DAYS, "2017-11", new_york)
    assert covers("2017-12-01", DAYS, "2017-11", new_york)
    assert covers("2017-11-30", DAYS, "2017-11", auckland)
    assert not covers("2017-11-29", DAYS, "2017-11", auckland)


def test_numbers_are_compared_with_numbers() -> None:
    assert covers("10", NUMBERS, "9", NUMBERS)
    assert not covers("9", NUMBERS, "10", NUMBERS)
    assert find_reach("10", NUMBERS, NUMBERS) == sort_key("10", Grain.SEQUENCE)


@pytest.mark.parametrize(
    ("chunk", "source", "dataid", "job"),
    [
        ("a", WORDS, "2017-11", MONTHS),
        ("2017-01-01", DAYS, "once", WORDS),
        ("3", NUMBERS, "2017-11", MONTHS),
        ("2017-01-01", DAYS, "4", NUMBERS),
        ("a", WORDS, "b", WORDS),
    ],
)
def test_a_dataid_without_a_time_covers_everything(chunk: str, source: Kind, dataid: str, job: Kind) -> None:
    assert covers(chunk, source, dataid, job)
    assert find_reach(chunk, source, job) == EVERYTHING
    assert find_first_covering(dataid, job, source) is None


@given(grains, zones, grains, zones, st.integers(1, 40_000), st.integers(1, 40_000))
def test_the_reach_of_a_chunk_is_the_last_work_that_it_covers(
    source_grain: Grain, source_zone: str, job_grain: Grain, job_zone: str, one: int, other: int
) -> None:
    source, job = Kind(source_grain, source_zone), Kind(job_grain, job_zone)
    chunk, dataid = make_dataid(source, one), make_dataid(job, other)
    assert covers(chunk, source, dataid, job) == (
        sort_key(dataid, job_grain) <= find_reach(chunk, source, job)
    )


@given(grains, zones, grains, zones, st.integers(1, 40_000))
def test_the_first_covering_dataid_covers_and_the_one_before_does_not(
    source_grain: Grain, source_zone: str, job_grain: Grain, job_zone: str, number: int
) -> None:
    source, job = Kind(source_grain, source_zone), Kind(job_grain, job_zone)
    dataid = make_dataid(job, number)
    found = find_first_covering(dataid, job, source)
    assert found is not None
    chunk, ends = found
    assert covers(chunk, source, dataid, job)
    time = interval_of(chunk, source_grain, source_zone)
    assert time is not None
    assert ends is not None
    assert time[0] < ends


def make_dataid(kind: Kind, number: int) -> str:
    """A dataid of a kind some way into the years 1995 to 2104."""
    from datetime import UTC, datetime, timedelta

    from dataflow.model.coverage import _dataid_at

    moment = datetime(1995, 1, 1, tzinfo=UTC) + timedelta(days=number, hours=number % 24)
    return _dataid_at(moment.timestamp(), kind)


def test_beyond_the_calendar_there_is_nothing_or_everything() -> None:
    assert find_reach("0001-01-01", DAYS, MONTHS) == NOTHING
    assert find_reach("9999-12-31", DAYS, Kind(Grain.MONTHLY, "Asia/Tokyo")) == EVERYTHING
    assert find_first_covering("9999", Kind(Grain.YEARLY, "UTC"), Kind(Grain.DAILY, "Asia/Tokyo")) is None


@pytest.mark.parametrize(
    ("grain", "first", "last"),
    [
        (Grain.DAILY, "2017-09-29", "2017-10-02"),
        (Grain.MONTHLY, "2017-09", "2018-02"),
        (Grain.QUARTERLY, "2017-Q3", "2018-Q2"),
        (Grain.YEARLY, "2017", "2019"),
        (Grain.SEQUENCE, "10", "25"),
        (Grain.SEQUENCE, "8", "12"),
        (Grain.SEQUENCE, "999999998", "1000000001"),
        (Grain.HOURLY, "2017-10-29T00+01:00", "2017-10-29T03+00:00"),
        (Grain.TEXT, "9", "11"),
    ],
)
def test_dataid_bounds_omit_nothing(grain: Grain, first: str, last: str) -> None:
    after, until = sort_key(first, grain), sort_key(last, grain)
    low, high = find_dataid_bounds(after, until, grain)
    for dataid in dataid_range(first, last, grain, "Europe/London"):
        assert low <= dataid <= high
    assert find_dataid_bounds(NOTHING, EVERYTHING, grain) == (NOTHING, EVERYTHING)
