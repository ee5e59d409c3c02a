"""The schedule of a pipeline's class: what is accepted, what is refused, and what its dates mean."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from dataflow.errors import BadInput
from dataflow.pipelines.declare import bases
from dataflow.pipelines.declare.attributes import Attributes
from dataflow.pipelines.declare.loader import Found
from dataflow.pipelines.declare.timing import Timing, read_job_timing, read_timing
from dataflow.pipelines.handover.published_table import interval_table
from dataflow.pipelines.register.spans import find_start_before, interval_of, list_samples, written_dataid

BERLIN = ZoneInfo("Europe/Berlin")


def attributes(base: type = bases.DatasetPipeline, **given: Any) -> Attributes:
    return Attributes(Found("dataset", "Orders", SimpleNamespace(**given), "pipelines/orders.py", 3), base)


def timing(**given: Any) -> Timing:
    return read_timing(attributes(**given))


@pytest.mark.parametrize(
    ("given", "schedule"),
    [
        ("@Quarterly", "@quarterly"),
        (None, "none"),
        ("None", "none"),
        (timedelta(hours=6), "every 6 hours"),
        (timedelta(days=1), "every day"),
        (timedelta(minutes=90), "every 90 minutes"),
        (timedelta(seconds=90), "every 90 seconds"),
        ("every 1h 30 min", "every 90 minutes"),
        ("Every  Week", "every 7 days"),
    ],
)
def test_a_schedule_has_one_canonical_form(given: Any, schedule: str) -> None:
    assert timing(schedule_interval=given).schedule == schedule


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("@continuous", "has no intervals"),
        ([SimpleNamespace(uri="s3://orders")], "datasets are not a schedule"),
        (SimpleNamespace(uri="s3://orders"), "datasets are not a schedule"),
        (relativedelta(months=1), "length varies"),
        (7, "a timedelta, or None"),
        (timedelta(seconds=1), "1 minute to 36500 days"),
        (timedelta(seconds=60.5), "whole seconds"),
        ("every so often", "Write it like: every 6 hours"),
        ("every", "Write it like: every 6 hours"),
    ],
)
def test_an_invalid_schedule_is_refused_with_the_reason(given: Any, reason: str) -> None:
    with pytest.raises(BadInput, match=r"pipelines/orders\.py:3: .*schedule_interval") as error:
        timing(schedule_interval=given)
    assert reason in str(error.value)


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (datetime(2024, 1, 15, 10, 30, 5, 123), "2024-01-15"),
        (datetime(2024, 1, 15, 23, 30, 5, 123, tzinfo=UTC), "2024-01-16"),
        (datetime(2024, 1, 15, 10, 30), "2024-01-15T10:30"),
        (datetime(2024, 1, 15, 10, 30, 5), "2024-01-15T10:30:05"),
        (datetime(2024, 10, 27, 2, 30), "2024-10-27T02:30"),
        (datetime(2024, 10, 27, 1, 30, tzinfo=UTC), "2024-10-27T02:30:00+01:00"),
    ],
)
def test_a_start_computed_from_now_is_its_day(start: datetime, text: str) -> None:
    found = timing(start_date=start, timezone="Europe/Berlin")
    assert (found.start, found.parsed.start) == (text, text)


def test_the_time_zone_is_that_of_the_start_date() -> None:
    start = datetime(2024, 1, 1, tzinfo=BERLIN)
    assert timing(start_date=start).timezone == "Europe/Berlin"
    assert timing(start_date=start, timezone="Asia/Tokyo").timezone == "Asia/Tokyo"
    assert timing(start_date=start.replace(tzinfo=UTC)).timezone == "UTC"
    assert timing(start_date=start.replace(tzinfo=None)).timezone == "UTC"
    fixed = start.replace(tzinfo=timezone(timedelta(hours=1)))
    with pytest.raises(BadInput, match=r"fixed offset \+0100.*timezone = "):
        timing(start_date=fixed)
    assert timing(start_date=fixed, schedule_interval=timedelta(hours=6)).timezone == "UTC"


def test_a_pipeline_without_an_interval_from_start_to_end_is_over() -> None:
    dates = {"start_date": datetime(2024, 1, 2), "end_date": datetime(2024, 1, 31)}
    assert timing(schedule_interval="@monthly", **dates).is_over
    assert not timing(schedule_interval="@daily", **dates).is_over
    assert not timing(schedule_interval=None, **dates).is_over


def test_a_python_job_without_inputs_is_on_demand_with_none() -> None:
    get = attributes(bases.Job, schedule=None)
    assert read_job_timing(get, has_callers=False).schedule == "none"
    assert read_job_timing(get, has_callers=True).schedule == ""
    assert read_job_timing(attributes(bases.Job), has_callers=False).schedule == ""


def test_an_interval_of_fixed_length_counts_elapsed_time() -> None:
    steps = timing(schedule_interval=timedelta(days=1), timezone="Europe/Berlin")
    span = interval_of(steps, "2024-03-30T11:00+00:00")
    assert span.start == datetime(2024, 3, 30, 12, tzinfo=BERLIN)
    assert span.end.isoformat() == "2024-03-31T13:00:00+02:00"
    before = find_start_before(steps, span)
    assert before == datetime(2024, 3, 29, 12, tzinfo=BERLIN)
    assert written_dataid(steps, "2024-03-30T12:00") == "2024-03-30T11:00+00:00"
    assert [sample.end - sample.start for sample in list_samples(steps)] == [timedelta(days=1)] * 2


def test_an_interval_of_some_days_is_named_by_its_day_or_its_moment() -> None:
    weekdays = timing(schedule_interval="0 6 * * 1-5", timezone="Europe/Berlin")
    friday = interval_of(weekdays, "2026-08-21")
    assert list(friday) == [datetime(2026, 8, day, 6, tzinfo=BERLIN) for day in (21, 24)]
    assert interval_of(weekdays, "2026-08-21T04:00+00:00") == friday
    with pytest.raises(BadInput, match="nearest is 2026-08-21"):
        interval_of(weekdays, "2026-08-22")
    with pytest.raises(BadInput, match="is not an interval of the schedule"):
        interval_of(weekdays, "2026-08-21", by_day=False)


def test_a_run_on_demand_is_for_a_day_or_a_moment() -> None:
    asked = timing(schedule_interval=None, timezone="Europe/Berlin")
    assert written_dataid(asked, "2024-02-01") == "2024-02-01"
    assert written_dataid(asked, "2024-02-01T13:00+02:00") == "2024-02-01T11:00+00:00"
    assert list(interval_of(asked, "2024-02-01")) == [datetime(2024, 2, 1, tzinfo=BERLIN)] * 2
    assert find_start_before(asked, interval_of(asked, "2024-02-01")) is None
    with pytest.raises(
        BadInput, match=r'"shard-1" is not a dataid of a pipeline without a schedule.*--dataid 20'
    ):
        written_dataid(asked, "shard-1")


def test_each_dataid_has_its_own_table_named_after_its_first_day() -> None:
    assert interval_table("totals", "2026-Q3") == "totals_2026_07_01"
    assert interval_table("totals", "2026-08-20") == "totals_2026_08_20"
    assert interval_table("totals", "2026-08-20T06:00+00:00") == "totals_2026_08_20T06_00_00_00"
