"""Schedules: their grain, their intervals, and which of these are due."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.days import days_of, has_day
from dataflow.model.interval_starts import interval_starts
from dataflow.model.record import replace
from dataflow.model.schedule import (
    Interval,
    Schedule,
    due_intervals,
    find_interval,
    grain_of,
    has_no_interval,
    keeps_start,
    parse_schedule,
    today_interval,
)

LONDON, BERLIN, CAIRO = "Europe/London", "Europe/Berlin", "Africa/Cairo"


def at(text: str) -> float:
    """Return the epoch seconds of an ISO time, in UTC unless it says otherwise."""
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def written(epoch: float | None) -> str | None:
    return None if epoch is None else datetime.fromtimestamp(epoch, UTC).isoformat(timespec="minutes")[:16]


def schedule(
    expression: str,
    start: str | None = None,
    end: str | None = None,
    *,
    timezone: str = "UTC",
    catchup: bool = True,
) -> Schedule:
    return parse_schedule(expression, timezone, start, end, catchup)


def due(of: Schedule, now: str, cursor: str | None = None, limit: int = 1000) -> tuple[list[str], str | None]:
    intervals, next_at = due_intervals(of, None if cursor is None else at(cursor), at(now), limit)
    return [interval.dataid for interval in intervals], written(next_at)


# What is taken.


@pytest.mark.parametrize(
    ("start", "end", "reason"),
    [
        ("2026-02-30", None, '--start "2026-02-30" is not a calendar date'),
        (None, "yesterday", '--end "yesterday" is not a date'),
        ("2026-08-20\n", None, "is not a date"),
        ("2026-08-20T25:00", None, "is not a calendar date"),
        ("0001-01-01", None, "is not within the years 1900 to 8999"),
        ("9999-01-01", None, "is not within the years 1900 to 8999"),
    ],
)
def test_bad_bounds_are_refused(start: str | None, end: str | None, reason: str) -> None:
    with pytest.raises(BadInput) as error:
        schedule("@daily", start, end)
    assert reason in str(error.value)


def test_a_schedule_that_starts_after_its_end_has_no_interval() -> None:
    over = schedule("@daily", "2026-08-20", "2026-08-19")
    assert has_no_interval(over)
    assert due_intervals(over, None, float("inf"), 10) == ([], None)
    assert has_no_interval(schedule("@monthly", "2026-08-02", "2026-08-31"))
    assert not has_no_interval(schedule("@daily", "2026-08-20", "2026-08-20"))


def test_a_bad_zone_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadInput, match='Did you mean "Europe/London"'):
        schedule("@daily", timezone="Europe/Londn")


# Airflow's meaning.


def test_an_interval_is_due_when_it_has_ended() -> None:
    daily = schedule("@daily", "2026-08-20")
    assert due(daily, "2026-08-20T23:59:59") == ([], "2026-08-21T00:00")
    assert due(daily, "2026-08-21T00:00") == (["2026-08-20"], "2026-08-22T00:00")


def test_an_interval_knows_when_it_begins_and_ends() -> None:
    intervals, _ = due_intervals(schedule("@daily", "2026-08-20"), None, at("2026-08-21T05:00"), 10)
    assert intervals == [Interval("2026-08-20", at("2026-08-20"), at("2026-08-21"))]


def test_the_interval_starting_on_the_end_is_the_last() -> None:
    daily = schedule("@daily", "2026-08-18", "2026-08-20")
    assert due(daily, "2026-09-30") == (["2026-08-18", "2026-08-19", "2026-08-20"], None)
    assert due(daily, "2026-08-20T12:00", "2026-08-20") == ([], "2026-08-21T00:00")
    assert due(daily, "2026-08-21", "2026-08-20") == (["2026-08-20"], None)
    assert due(daily, "2026-08-21", "2026-08-21") == ([], None)


def test_catch_up_continues_from_the_cursor_in_bounded_steps() -> None:
    daily = schedule("@daily", "2026-08-01")
    assert due(daily, "2026-08-10", limit=3) == (
        ["2026-08-01", "2026-08-02", "2026-08-03"],
        "2026-08-05T00:00",
    )
    assert due(daily, "2026-08-10", "2026-08-04", limit=2) == (
        ["2026-08-04", "2026-08-05"],
        "2026-08-07T00:00",
    )
    assert due(daily, "2026-08-10", "2026-08-10") == ([], "2026-08-11T00:00")


def test_without_catch_up_only_the_latest_ended_interval_is_due() -> None:
    daily = schedule("@daily", "2026-08-01", catchup=False)
    assert due(daily, "2026-08-10T09:00") == (["2026-08-09"], "2026-08-11T00:00")
    assert due(daily, "2026-08-10T09:00", "2026-08-05") == (["2026-08-09"], "2026-08-11T00:00")
    assert due(daily, "2026-08-10T09:00", "2026-08-10") == ([], "2026-08-11T00:00")


def test_without_catch_up_nothing_is_older_than_the_start_or_the_cursor() -> None:
    daily = schedule("@daily", "2026-08-20", catchup=False)
    assert due(daily, "2026-08-20T09:00") == ([], "2026-08-21T00:00")
    assert due(daily, "2026-08-10T09:00") == ([], "2026-08-21T00:00")
    assert due(daily, "2026-08-25", "2026-08-28") == ([], "2026-08-29T00:00")


def test_without_catch_up_nothing_is_due_once_the_end_is_an_interval_ago() -> None:
    daily = schedule("@daily", "2026-08-01", "2026-08-05", catchup=False)
    assert due(daily, "2026-08-06T23:59") == (["2026-08-05"], None)
    assert due(daily, "2026-08-07") == ([], None)


def test_an_open_start_begins_with_the_latest_ended_interval() -> None:
    daily = schedule("@daily")
    assert due(daily, "2026-08-10T09:00") == (["2026-08-09"], "2026-08-11T00:00")
    assert due(daily, "2026-08-12T09:00", "2026-08-10") == (["2026-08-10", "2026-08-11"], "2026-08-13T00:00")


def test_an_end_of_9999_means_never() -> None:
    assert due(schedule("@daily", end="9999-12-31"), "2026-08-10") == (["2026-08-09"], "2026-08-11T00:00")


@pytest.mark.parametrize(
    ("expression", "first"),
    [
        ("@monthly", "2026-09"),
        ("@quarterly", "2026-Q4"),
        ("@yearly", "2027"),
        ("@weekly", "2026-08-23"),
        ("0 0 * * 1", "2026-08-24T00:00+00:00"),
        ("0 0 29 2 *", "2028-02-29T00:00+00:00"),
        ("30 6 * * *", "2026-08-20"),
        ("every 36 hours", "2026-08-20T00:00+00:00"),
    ],
)
def test_the_first_interval_is_the_first_that_begins_at_the_start_or_later(
    expression: str, first: str
) -> None:
    assert due(schedule(expression, "2026-08-20"), "2050-01-01", limit=1)[0] == [first]


@pytest.mark.parametrize(
    ("expression", "start", "end", "first", "last"),
    [
        ("30 * * * *", "2026-08-20T13", "2026-08-20T15", "2026-08-20T13+00:00", "2026-08-20T14+00:00"),
        ("@hourly", "2026-08-20T13+00:00", "2026-08-20T15Z", "2026-08-20T13+00:00", "2026-08-20T15+00:00"),
        ("@hourly", "2026-08-20T13:30", "2026-08-20 15:00", "2026-08-20T14+00:00", "2026-08-20T15+00:00"),
        ("30 6 * * *", "2026-08-20T06:29", "2026-08-22T06:30", "2026-08-20", "2026-08-22"),
        ("30 6 * * *", "2026-08-20", "2026-08-22", "2026-08-20", "2026-08-21"),
        ("@daily", "2026-07", "2026-08", "2026-07-01", "2026-08-01"),
        ("@monthly", "2025", "2026-02", "2025-01", "2026-02"),
        ("@quarterly", "2025-Q2", "2026", "2025-Q2", "2026-Q1"),
        ("@hourly", "2024-01-01", "2024-01-02", "2024-01-01T00+00:00", "2024-01-02T00+00:00"),
    ],
)
def test_a_part_of_the_calendar_stands_for_its_first_moment(
    expression: str, start: str, end: str, first: str, last: str
) -> None:
    dataids, _ = due(schedule(expression, start, end), "2026-12-31")
    assert (dataids[0], dataids[-1]) == (first, last)


def test_a_fixed_step_is_counted_from_the_start_through_clock_changes() -> None:
    steps = schedule("every 36 hours", "2026-03-27T06:00", timezone=BERLIN)
    assert due(steps, "2026-04-01")[0] == [
        "2026-03-27T05:00+00:00",
        "2026-03-28T17:00+00:00",
        "2026-03-30T05:00+00:00",
    ]
    assert due(schedule("every 6 hours"), "2026-03-27T13:00")[0] == ["2026-03-27T06:00+00:00"]
    assert due(schedule("every 90 seconds", "2026-03-27"), "2026-03-27T00:03")[0] == [
        "2026-03-27T00:00+00:00",
        "2026-03-27T00:01:30+00:00",
    ]


def test_a_schedule_on_demand_has_no_interval_that_is_due() -> None:
    assert due(parse_schedule("none", "UTC", None, None, catchup=False), "2026-08-20") == ([], None)


# A start that moves with the clock.


@pytest.mark.parametrize(
    ("start", "new", "now", "kept"),
    [
        ("2026-08-01", "2026-09-01", "2026-09-01", True),
        ("2026-08-01", "2026-09-01", "2026-08-31T14:00", True),  # on a machine whose clock shows September
        ("2026-08-01", "2026-10-01", "2026-08-31T14:00", False),  # somebody wants a pause
        ("2026-08-01", "2026-07-01", "2026-09-01", False),
        (None, "2026-09-01", "2026-09-01", True),
    ],
)
def test_a_start_that_follows_the_clock_does_not_remove_intervals_that_have_begun(
    start: str | None, new: str, now: str, kept: bool
) -> None:
    before, after = schedule("@monthly", start, catchup=False), schedule("@monthly", new, catchup=False)
    assert keeps_start(before, after, at(now)) is kept


def test_a_later_start_counts_with_catch_up_or_another_schedule() -> None:
    before = schedule("@monthly", "2026-08-01", catchup=False)
    for after in (
        schedule("@monthly", "2026-09-01", catchup=True),
        schedule("@yearly", "2026-09-01", catchup=False),
        schedule("@monthly", "2026-09-01", catchup=False, timezone=BERLIN),
        schedule("@monthly", catchup=False),
    ):
        assert not keeps_start(before, after, at("2026-09-01"))
    once = schedule("@once", "2026-08-01", catchup=False)
    assert not keeps_start(once, schedule("@once", "2026-09-01", catchup=False), at("2026-09-01"))


def test_once_is_due_at_once_and_never_again() -> None:
    once = schedule("@once")
    assert due(once, "2026-08-20T10:00") == (["once"], None)
    assert due(once, "2026-08-20T11:00", "2026-08-20T10:00") == ([], None)


def test_once_waits_for_its_start() -> None:
    once = schedule("@once", "2026-08-20", timezone=LONDON)
    assert due(once, "2026-08-19T22:59") == ([], "2026-08-19T23:00")
    assert due(once, "2026-08-19T23:00") == (["once"], None)


# Clocks that change.


def test_days_are_between_local_midnights_through_a_clock_change() -> None:
    intervals, _ = due_intervals(
        schedule("@daily", "2026-03-28", timezone=LONDON), None, at("2026-03-31"), 10
    )
    assert [(item.dataid, (item.end_at - item.start_at) / 3600) for item in intervals] == [
        ("2026-03-28", 24),
        ("2026-03-29", 23),
        ("2026-03-30", 24),
    ]


def test_hours_continue_through_a_clock_change() -> None:
    hourly = schedule("@hourly", "2026-10-25T00", timezone=LONDON)
    hours = ["2026-10-25T00+01:00", "2026-10-25T01+01:00", "2026-10-25T01+00:00", "2026-10-25T02+00:00"]
    assert due(hourly, "2026-10-25T03:00")[0] == hours


@pytest.mark.parametrize(
    ("expression", "timezone", "first", "days"),
    [
        ("30 2 * * *", BERLIN, "2026-03-27", 5),
        ("30 2 * * *", BERLIN, "2026-10-23", 5),
        ("30 23 * * *", "America/Nuuk", "2026-03-27", 5),
        ("0 0 * * *", CAIRO, "2026-04-22", 5),
        ("0 0 * * *", "America/Havana", "2026-10-30", 5),
    ],
)
def test_a_daily_time_in_a_gap_or_a_fold_comes_once_each_day(
    expression: str, timezone: str, first: str, days: int
) -> None:
    intervals, _ = due_intervals(schedule(expression, first, timezone=timezone), None, at("2027-01-01"), days)
    assert [interval.dataid for interval in intervals] == [
        datetime.fromordinal(datetime.fromisoformat(first).toordinal() + day).date().isoformat()
        for day in range(days)
    ]


@pytest.mark.parametrize("start", ["2026-03-27", "2026-10-23"])
def test_a_named_time_of_irregular_days_comes_once_each_day_too(start: str) -> None:
    intervals, _ = due_intervals(
        schedule("30 2 * * 5-7,1", start, timezone=BERLIN), None, at("2027-01-01"), 4
    )
    days = [datetime.fromtimestamp(item.start_at, ZoneInfo(BERLIN)).day for item in intervals]
    assert days == list(range(days[0], days[0] + 4))


def test_every_quarter_of_an_hour_continues_through_the_repeated_hour() -> None:
    starts = interval_starts("*/15 * * * *", ZoneInfo(BERLIN), at("2026-10-24T23:00"))
    epochs = [start for start, _ in islice(starts, 20)]
    assert {later - earlier for earlier, later in pairwise(epochs)} == {900}


def test_a_day_that_the_time_zone_skipped_is_skipped() -> None:
    daily = schedule("@daily", "2011-12-29", "2011-12-31", timezone="Pacific/Apia")
    assert due(daily, "2012-02-01") == (["2011-12-29", "2011-12-31"], None)


@pytest.mark.parametrize(
    ("expression", "timezone", "start", "now", "days"),
    [
        ("0 6 * * 1-5", BERLIN, "2026-08-20", "2026-08-26", ["2026-08-20", "2026-08-21", "2026-08-24"]),
        ("30 2 * * 6,0", BERLIN, "2026-03-28", "2026-04-06", ["2026-03-28", "2026-03-29"]),
        # The clocks skip from 23:00 to midnight, so Saturday's 23:30 comes on Sunday.
        ("30 23 * * 6,0", "America/Nuuk", "2026-03-28", "2026-04-06", ["2026-03-28", "2026-03-29"]),
        # Friday 2011-12-30 does not exist there.
        ("0 6 * * 4-6", "Pacific/Apia", "2011-12-29", "2012-01-06", ["2011-12-29", "2011-12-31"]),
    ],
)
def test_some_days_may_be_named_by_their_day(
    expression: str, timezone: str, start: str, now: str, days: list[str]
) -> None:
    by_day = replace(schedule(expression, start, timezone=timezone), by_day=True)
    assert due(by_day, now, limit=len(days))[0] == days
    assert all(has_day(days_of(expression), day) for day in days)
    for interval in due_intervals(by_day, None, at(now), len(days))[0]:
        assert find_interval(by_day, interval.dataid) == interval
    by_moment = due_intervals(replace(by_day, by_day=False), None, at(now), len(days))[0]
    assert [find_interval(replace(by_day, by_day=False), item.dataid) for item in by_moment] == by_moment


@pytest.mark.parametrize(
    ("expression", "dataid"),
    [
        ("0 6 * * 1-5", "2026-08-22"),
        ("0 6 * * 1-5", "2026-08-19"),
        ("0 6 * * 1-5", "2026-08-31"),
        ("@daily", "2026-08-19"),
    ],
)
def test_a_day_without_an_interval_is_not_found(expression: str, dataid: str) -> None:
    weekdays = replace(schedule(expression, "2026-08-20", "2026-08-28"), by_day=True)
    assert find_interval(weekdays, dataid) is None


@pytest.mark.parametrize("expression", ["@daily", "30 6 * * *", "@weekly", "0 5 1 * *", "@hourly", "@yearly"])
def test_an_interval_is_found_by_its_dataid(expression: str) -> None:
    found = due_intervals(schedule(expression, "2024-03-30", timezone=BERLIN), None, at("2026-01-01"), 40)[0]
    assert [find_interval(schedule(expression, timezone=BERLIN), item.dataid) for item in found] == found


def test_clocks_that_go_back_over_midnight_do_not_bring_the_old_day_back() -> None:
    twice = at("2010-11-06T23:30-03:30")
    assert today_interval("America/St_Johns", twice).dataid == "2010-11-07"


ZONES = [
    "UTC",
    LONDON,
    BERLIN,
    CAIRO,
    "Australia/Lord_Howe",
    "America/Nuuk",
    "America/Havana",
    "Asia/Kolkata",
]
EXPRESSIONS = [
    "@hourly",
    "@daily",
    "@weekly",
    "@monthly",
    "@quarterly",
    "@yearly",
    "every 7 hours",
    "20 * * * *",
    "30 * * * *",
    "30 2 * * *",
    "30 23 * * 0",
    "0 1 1 * *",
    "*/20 * * * *",
    "30 0-3 * * *",
    "0 */2 * * *",
    "30 2 * * 6,0",
    "15,45 2 * * *",
    "0 2,3 * * *",
]


@settings(max_examples=150, deadline=None)
@given(
    st.sampled_from(EXPRESSIONS),
    st.sampled_from(ZONES),
    st.integers(int(at("2025-01-01")), int(at("2027-12-31"))),
    st.integers(0, 5),
)
@example("30 2 * * 6,0", BERLIN, int(at("2026-10-25T01:30")), 0)
@example("30 * * * *", "Australia/Lord_Howe", int(at("2026-04-04T14:10")), 0)
@example("30 * * * *", "Australia/Lord_Howe", int(at("2026-04-04T15:10")), 0)
@example("30 23 * * *", "America/Nuuk", int(at("2026-03-29T01:10")), 0)
def test_intervals_follow_each_other_from_any_starting_point(
    expression: str, timezone: str, moment: int, steps: int
) -> None:
    tz, grain = ZoneInfo(timezone), grain_of(schedule(expression))
    found = list(islice(interval_starts(expression, tz, moment), 8))
    assert found[0][0] <= moment < found[1][0]
    assert all(earlier[0] < later[0] for earlier, later in pairwise(found))
    assert all(sort_key(earlier[1], grain) < sort_key(later[1], grain) for earlier, later in pairwise(found))
    assert all(canonical_dataid(dataid, grain, timezone) == dataid for _, dataid in found)
    inside = (found[steps][0] + found[steps + 1][0]) // 2
    for look in (found[steps][0], inside, found[steps + 1][0] - 1):
        assert next(interval_starts(expression, tz, look)) == found[steps]


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["@hourly", "@daily", "@weekly", "30 2 * * *", "0 */2 * * *"]),
    st.sampled_from(ZONES),
    st.lists(st.integers(0, 86_400 * 5), min_size=1, max_size=6),
    st.integers(1, 50),
)
def test_asking_often_or_rarely_adds_the_same_intervals(
    expression: str, timezone: str, waits: list[int], limit: int
) -> None:
    of = schedule(expression, "2026-03-25", timezone=timezone)
    now, cursor = at("2026-03-25"), None
    added: list[Interval] = []
    for wait in waits:
        now += wait
        while True:
            intervals, next_at = due_intervals(of, cursor, now, limit)
            added += intervals
            cursor = intervals[-1].end_at if intervals else cursor
            if next_at is None or next_at > now:
                break
    assert added == due_intervals(of, None, now, 10_000)[0]


# Today, and the cost of starting.


@pytest.mark.parametrize(
    ("timezone", "now", "dataid", "start", "end"),
    [
        ("UTC", "2026-08-20T23:59", "2026-08-20", "2026-08-20T00:00", "2026-08-21T00:00"),
        ("Asia/Kolkata", "2026-08-20T18:30", "2026-08-21", "2026-08-20T18:30", "2026-08-21T18:30"),
        (LONDON, "2026-10-25T12:00", "2026-10-25", "2026-10-24T23:00", "2026-10-26T00:00"),
        (CAIRO, "2026-04-24T12:00", "2026-04-24", "2026-04-23T22:00", "2026-04-24T21:00"),
    ],
)
def test_today_is_the_day_in_its_time_zone(
    timezone: str, now: str, dataid: str, start: str, end: str
) -> None:
    interval = today_interval(timezone, at(now))
    assert interval.dataid == dataid
    assert (written(interval.start_at), written(interval.end_at)) == (start, end)


def test_presets_and_plain_calendars_do_not_import_croniter() -> None:
    code = (
        "import sys; from dataflow.model.schedule import Schedule, due_intervals, grain_of\n"
        "for expression in ('@daily', '@hourly', '30 6 * * *'):\n"
        "    schedule = Schedule(expression, 'UTC', '2026-08-20', None, True)\n"
        "    grain_of(schedule), due_intervals(schedule, None, 1.8e9, 5)\n"
        "print('croniter' in sys.modules, 'zoneinfo' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout == "False False\n"
