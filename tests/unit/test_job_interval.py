"""The interval that one work of a job covers."""

from __future__ import annotations

import pytest

from dataflow.model.job_dataid import find_interval
from dataflow.model.records import Job, Plan

ROME = "Europe/Rome"


@pytest.mark.parametrize(
    ("grain", "timezone", "schedule", "dataid", "begins", "ends"),
    [
        ("daily", "UTC", "", "2026-08-20", "2026-08-20T00:00:00+00:00", "2026-08-21T00:00:00+00:00"),
        ("daily", ROME, "", "2026-03-29", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"),
        (
            "hourly",
            "UTC",
            "",
            "2026-08-20T13+00:00",
            "2026-08-20T13:00:00+00:00",
            "2026-08-20T14:00:00+00:00",
        ),
        ("monthly", "UTC", "@monthly", "2026-02", "2026-02-01T00:00:00+00:00", "2026-03-01T00:00:00+00:00"),
        ("daily", ROME, "0 6 * * *", "2026-03-28", "2026-03-28T06:00:00+01:00", "2026-03-29T06:00:00+02:00"),
        *(
            ("daily", ROME, f"{time} * * 1-5", day, f"{day}T{begins}", ends)
            for time, day, begins, ends in (
                ("0 6", "2026-08-22", "06:00:00+02:00", "2026-08-23T06:00:00+02:00"),
                ("0 6", "2026-08-23", "06:00:00+02:00", "2026-08-24T06:00:00+02:00"),
                ("0 0", "2026-08-22", "00:00:00+02:00", "2026-08-23T00:00:00+02:00"),
                ("30 23", "2026-08-22", "23:30:00+02:00", "2026-08-23T23:30:00+02:00"),
                ("30 2", "2026-03-29", "03:30:00+02:00", "2026-03-30T02:30:00+02:00"),
            )
        ),
        (
            *("text", ROME, "0 6 * * 1-5", "2026-08-21T04:00+00:00"),
            *("2026-08-21T06:00:00+02:00", "2026-08-24T06:00:00+02:00"),
        ),
        (
            *("text", "UTC", "every 6 hours", "2026-08-20T07:00+00:00"),
            *("2026-08-20T07:00:00+00:00", "2026-08-20T13:00:00+00:00"),
        ),
    ],
)
def test_a_schedule_or_the_grain_gives_the_interval(
    grain: str, timezone: str, schedule: str, dataid: str, begins: str, ends: str
) -> None:
    start = "2026-08-20T01:00" if schedule.startswith("every") else ""
    found = find_interval(dataid, make_plan(grain, timezone, schedule, start))
    assert found is not None
    assert [moment.isoformat() for moment in found] == [begins, ends]


@pytest.mark.parametrize(
    ("grain", "schedule", "dataid"),
    [
        *(
            ("text", "", "1.0"),
            ("sequence", "", "7"),
            ("text", "@once", "once"),
            ("text", "none", "2026-08-20"),
        ),
        *(("text", "0 6 * * 1-5", "sunday"), ("text", "0 6 * * 1-5", "2026-08-21T05:00+00:00")),
    ],
)
def test_a_dataid_that_is_not_a_time_of_the_job_has_no_interval(
    grain: str, schedule: str, dataid: str
) -> None:
    assert find_interval(dataid, make_plan(grain, "UTC", schedule, "")) is None


def make_plan(grain: str, timezone: str, schedule: str, start: str) -> Plan:
    job = Job("load", schedule=schedule, timezone=timezone, start=start)
    return Plan(1, job, 1, grain, timezone, "", "", (), ())
