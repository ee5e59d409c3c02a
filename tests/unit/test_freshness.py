"""When a chunk was due and which one, over changes of the clocks."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model.dataid import interval_of, next_dataid
from dataflow.model.freshness import find_due_times, find_last_ended, parse_due_by
from dataflow.model.grain import Grain

ZONES = ["UTC", "Asia/Kolkata", "Australia/Lord_Howe", "America/Sao_Paulo", "Europe/London"]
TIMED = [grain for grain in Grain if grain not in (Grain.TEXT, Grain.SEQUENCE)]
MOMENTS = st.integers(0, 2_500_000_000)


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


@pytest.mark.parametrize(("text", "found"), [("06:00", "06:00"), ("6:05", "06:05"), ("23:59", "23:59")])
def test_a_time_of_day_is_hours_and_minutes(text: str, found: str) -> None:
    assert parse_due_by(text) == found


@pytest.mark.parametrize("text", ["24:00", "6", "06:60", "06:00:00", "six", "-1:00", "06.00"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadInput, match="such as 06:00"):
        parse_due_by(text)


@pytest.mark.parametrize(
    ("grain", "moment", "dataid"),
    [
        (Grain.DAILY, "2026-11-18T06:00", "2026-11-17"),
        (Grain.DAILY, "2026-11-18T00:00", "2026-11-17"),
        (Grain.HOURLY, "2026-11-18T06:00", "2026-11-18T05+00:00"),
        (Grain.HOURLY, "2026-11-18T06:30", "2026-11-18T05+00:00"),
        (Grain.WEEKLY, "2026-11-18T06:00", "2026-11-08"),
        (Grain.MONTHLY, "2026-11-18T06:00", "2026-10"),
        (Grain.QUARTERLY, "2026-11-18T06:00", "2026-Q3"),
        (Grain.YEARLY, "2026-11-18T06:00", "2025"),
    ],
)
def test_the_last_ended_interval_is_due(grain: Grain, moment: str, dataid: str) -> None:
    assert find_last_ended(at(moment), grain, "UTC", "") == dataid


def test_a_job_of_weekdays_owes_fridays_chunk_on_monday() -> None:
    assert find_last_ended(at("2026-11-16T06:00"), Grain.DAILY, "UTC", "* * 1-5") == "2026-11-13"


def test_the_time_of_day_is_that_of_the_zone_through_changes_of_its_clocks() -> None:
    zone = "Europe/London"
    noon = at("2026-03-29T12:00", zone)  # the clocks went from 01:00 to 02:00 that night
    assert find_due_times(noon, "06:00", zone) == (
        at("2026-03-29T06:00", zone),
        at("2026-03-30T06:00", zone),
    )
    assert find_due_times(at("2026-03-29T05:59", zone), "06:00", zone)[0] == at("2026-03-28T06:00", zone)


@given(MOMENTS, st.sampled_from(ZONES), st.integers(0, 23), st.integers(0, 59))
def test_one_due_time_has_passed_and_the_next_comes_within_two_days(
    now: int, zone: str, hour: int, minute: int
) -> None:
    last, following = find_due_times(now, f"{hour:02d}:{minute:02d}", zone)
    assert last <= now < following
    assert following - last <= 49 * 3600


@given(MOMENTS, st.sampled_from(TIMED), st.sampled_from(ZONES))
def test_the_interval_that_is_due_has_ended_and_the_one_after_it_has_not(
    now: int, grain: Grain, zone: str
) -> None:
    dataid = find_last_ended(now, grain, zone, "")
    assert dataid is not None
    interval = interval_of(dataid, grain, zone)
    assert interval is not None
    assert interval[1].timestamp() <= now
    following = next_dataid(dataid, grain, zone)
    assert following is not None
    after = interval_of(following, grain, zone)
    assert after is not None
    assert after[1].timestamp() > now
