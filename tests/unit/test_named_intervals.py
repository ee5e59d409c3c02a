"""The interval that a dataid names is the one that the schedule adds, through every change of the clocks."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest

from dataflow.errors import BadInput
from dataflow.model.cron import has_some_days
from dataflow.model.record import replace
from dataflow.model.schedule import Interval, Schedule, due_intervals, named_interval
from dataflow.pipelines.declare import bases
from dataflow.pipelines.declare.attributes import Attributes
from dataflow.pipelines.declare.loader import Found
from dataflow.pipelines.declare.timing import Timing, read_timing
from dataflow.pipelines.register.spans import interval_of
from tests.unit.test_airflow_schedules import CASES, MUCH_LATER, epoch, from_pipeline

ZONES = [
    "Europe/London",
    "America/Nuuk",  # the clocks skip the last hour of a Saturday, and repeat it
    "Australia/Lord_Howe",  # by half an hour
    "Pacific/Apia",  # skipped a whole day
    "Africa/Cairo",  # skips and repeats midnight
    "America/St_Johns",  # repeated the minute after midnight
    "Antarctica/Troll",  # by two hours
    "Asia/Tehran",
]
EXPRESSIONS = [
    "@hourly",
    "@daily",
    "@weekly",
    "@monthly",
    "30 23 * * *",
    "30 0 * * *",
    "30 2 * * 6,0",
    pytest.param("*/40 1-3 * * *", marks=pytest.mark.full),
    pytest.param("*/40 * * * *", marks=pytest.mark.full),
]
YEARS = (1986, 2026)
AROUND = timedelta(days=2)


def clock_changes(zone: str) -> Iterator[datetime]:
    """The days of 40 years on which the zone's offset changes."""
    tz, day = ZoneInfo(zone), datetime(YEARS[0], 1, 1, tzinfo=UTC)
    while day.year < YEARS[1]:
        following = day + timedelta(days=1)
        if day.astimezone(tz).utcoffset() != following.astimezone(tz).utcoffset():
            yield day
        day = following


def make_timing(expression: str, zone: str) -> Timing:
    attributes = SimpleNamespace(schedule_interval=expression, timezone=zone, start_date=datetime(1986, 1, 1))
    found = Found("dataset", "Orders", attributes, "pipelines/orders.py", 1)
    return read_timing(Attributes(found, bases.DatasetPipeline))


def list_around(schedule: Schedule, change: datetime) -> list[Interval]:
    """The intervals that a schedule adds from two days before a change of the clocks to two days after."""
    since, until = (change - AROUND).timestamp(), (change + AROUND).timestamp()
    return due_intervals(schedule, since, until, 1000)[0]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_dataid_names_the_interval_that_the_schedule_adds(zone: str, expression: str) -> None:
    timing = make_timing(expression, zone)
    for by_day in {False, has_some_days(expression)}:
        schedule = replace(timing.parsed, catchup=True, by_day=by_day)
        for change in clock_changes(zone):
            for interval in list_around(schedule, change):
                assert named_interval(schedule, interval.dataid) == interval
                span = interval_of(timing, interval.dataid, by_day=by_day)
                assert (span.start.timestamp(), span.end.timestamp()) == (interval.start_at, interval.end_at)


@pytest.mark.parametrize("expression", ["@daily", "30 23 * * *", "0 6 * * 4-6"])
def test_a_day_that_the_zone_skips_names_no_interval(expression: str) -> None:
    timing = make_timing(expression, "Pacific/Apia")
    by_day = has_some_days(expression)
    assert named_interval(replace(timing.parsed, by_day=by_day), "2011-12-30") is None
    with pytest.raises(BadInput, match="is not an interval of the schedule"):
        interval_of(timing, "2011-12-30")


def test_the_intervals_compared_with_airflow_are_found_by_their_dataids() -> None:
    for case in CASES:
        schedule, now = from_pipeline(case), epoch(case.get("now", MUCH_LATER))
        assert now is not None
        for interval in due_intervals(schedule, epoch(case.get("cursor")), now, case["limit"])[0]:
            assert interval.dataid == "once" or named_interval(schedule, interval.dataid) == interval, case
