"""`status` counts jobs and datasets, finds gaps by counting, and says what waits, fails and is late."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.register import add_dataset, add_job
from dataflow.actions.status import DatasetStatus, JobStatus, find_span, first_missing, get_status
from dataflow.model.dataid import dataid_range, sort_key
from dataflow.model.grain import Grain
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.status import RunOutcome
from dataflow.model.wording import utc_text
from tests.store.world import World

NONE = {"WAITING": 0, "CLAIMABLE": 0, "RUNNING": 0, "DONE": 0, "FAILED": 0, "INVALID": 0, "HOLD": 0}


def job(world: World, name: str) -> JobStatus:
    return next(found for found in get_status(world.store).jobs if found.job == name)


def dataset(world: World, name: str) -> DatasetStatus:
    return next(found for found in get_status(world.store).datasets if found.dataset == name)


def test_an_empty_store_has_an_empty_status(world: World) -> None:
    found = get_status(world.store)
    assert (found.jobs, found.failures, found.count_failed(), found.list_late(0)) == ((), (), 0, [])


def test_every_state_is_counted_and_held_work_counts_as_hold_only(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", *"123456789")
    world.do("to_clean", "1")
    world.do("to_clean", "2", RunOutcome.FAILED, reason="x")
    world.do("to_clean", "3", RunOutcome.INVALID, reason="y")
    world.take("to_clean", "4")
    world.withdraw("raw", "5")
    world.hold("to_clean", "6", "7")
    counted = {"WAITING": 1, "CLAIMABLE": 2, "RUNNING": 1, "DONE": 1, "FAILED": 1, "INVALID": 1, "HOLD": 2}
    assert job(world, "to_clean").counts == counted
    world.hold("to_clean")
    counts = job(world, "to_clean").counts
    assert counts == counted | {"WAITING": 0, "CLAIMABLE": 0, "HOLD": 5}
    assert sum(counts.values()) == 9


def test_a_job_without_work_is_listed(world: World) -> None:
    world.chain("raw", "clean")
    assert (job(world, "to_clean").counts, job(world, "to_clean").oldest) == (NONE, None)


def test_the_oldest_open_work_is_named_with_its_age(sqlite_world: World) -> None:
    world = sqlite_world
    world.chain("raw", "clean")
    world.ready("raw", "5")
    world.advance(100)
    world.ready("raw", "1")
    world.advance(50)
    oldest = job(world, "to_clean").oldest
    assert oldest is not None
    assert (oldest.dataid, oldest.state, round(oldest.age_seconds)) == ("5", "CLAIMABLE", 150)


def test_retried_work_keeps_its_age(world: World) -> None:
    world.chain("raw", "clean", retries=9)
    world.ready("raw", "1")
    world.poke("UPDATE work SET called_at = '2020-01-01T00:00:00.000Z'")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    assert [found.job for found in get_status(world.store).list_late(3600)] == ["to_clean"]
    world.resubmit("to_clean", "1")
    assert get_status(world.store).list_late(3600) == []


def test_work_is_late_after_a_while_unless_it_is_on_hold(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    assert [found.job for found in get_status(world.store).list_late(-1)] == ["to_clean"]
    assert get_status(world.store).list_late(3600) == []
    world.hold("to_clean")
    assert get_status(world.store).list_late(-1) == []


def test_failures_come_with_their_reason_and_the_next_command(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "a b")
    run = world.do("to_clean", "1", RunOutcome.FAILED, reason="exited with 3")
    world.do("to_clean", "a b", RunOutcome.INVALID, reason="the check said no")
    failed, invalid = get_status(world.store).failures
    assert (failed.job, failed.dataid, failed.state, failed.run_id) == ("to_clean", "1", "FAILED", run.run_id)
    assert (failed.reason, failed.next) == ("exited with 3", "dataflow resubmit to_clean 1")
    assert (invalid.state, invalid.next) == ("INVALID", "dataflow resubmit to_clean 'a b'")
    assert get_status(world.store).count_failed() == 2


def test_a_dataset_counts_chunks_and_those_that_are_not_ready(world: World) -> None:
    world.dataset("raw")
    world.ready("raw", "1.0", "2.0", "10.0")
    world.withdraw("raw", "2.0")
    found = dataset(world, "raw")
    assert (found.chunks, found.not_ready, found.first, found.last) == (3, 1, "1.0", "10.0")
    assert (found.gaps, found.missing) == (None, ())


def test_gaps_lie_between_the_first_and_the_last(world: World) -> None:
    world.dataset("raw", grain="sequence")
    world.ready("raw", "8", "9", "10", "12", "15", "100")
    found = dataset(world, "raw")
    assert (found.first, found.last, found.gaps) == ("8", "100", 87)
    assert found.missing == ("11", "13", "14", "16", "17")


def test_gaps_of_dates_follow_the_calendar(world: World) -> None:
    world.dataset("raw", grain="daily")
    world.ready("raw", "2024-02-28", "2024-03-02")
    assert dataset(world, "raw").missing == ("2024-02-29", "2024-03-01")


def test_a_complete_dataset_has_no_gaps(world: World) -> None:
    world.dataset("raw", grain="monthly")
    world.ready("raw", "2025-12", "2026-01", "2026-02")
    assert (dataset(world, "raw").gaps, dataset(world, "raw").missing) == (0, ())


def test_a_dataset_without_chunks_has_no_gaps(world: World) -> None:
    world.dataset("raw", grain="daily")
    assert (dataset(world, "raw").chunks, dataset(world, "raw").gaps) == (0, None)


def test_an_interval_that_a_calendar_skipped_is_not_a_gap(world: World) -> None:
    add_dataset(world.store, Dataset("out", grain="daily"))
    add_job(world.store, Job("nightly", (), ("out",), schedule="@daily"))
    world.ready("nightly.calendar", "2026-01-01", "2026-02-01")
    assert dataset(world, "nightly.calendar").gaps is None


@pytest.mark.parametrize(
    ("grain", "first", "last", "timezone"),
    [
        (Grain.SEQUENCE, "7", "131", "UTC"),
        (Grain.DAILY, "2023-12-20", "2024-03-10", "UTC"),
        (Grain.WEEKLY, "2024-01-07", "2025-01-05", "UTC"),
        (Grain.MONTHLY, "2019-11", "2024-03", "UTC"),
        (Grain.YEARLY, "1999", "2031", "UTC"),
        (Grain.HOURLY, "2024-10-26T22+01:00", "2024-10-28T03+00:00", "Europe/London"),
        (Grain.HOURLY, "2024-04-06T20+11:00", "2024-04-07T20+10:30", "Australia/Lord_Howe"),
    ],
)
@given(data=st.data())
def test_counting_finds_the_same_gaps_as_listing(
    grain: Grain, first: str, last: str, timezone: str, data: st.DataObject
) -> None:
    everything = list(dataid_range(first, last, grain, timezone))
    inner = everything[1:-1]
    absent = set(data.draw(st.lists(st.sampled_from(inner), unique=True)))
    keys = sorted(sort_key(dataid, grain) for dataid in everything if dataid not in absent)
    span = find_span(first, last, grain, timezone)
    assert span is not None
    assert span.size == len(everything)

    def count_between(low: str, high: str) -> int:
        return sum(1 for key in keys if low <= key <= high)

    found = first_missing(span, len(keys), 5, count_between)
    assert list(found) == [dataid for dataid in inner if dataid in absent][:5]


def test_free_text_and_centuries_of_hours_are_not_counted() -> None:
    assert find_span("a", "b", Grain.TEXT, "UTC") is None
    assert find_span("1900-01-01T00+00:00", "2024-01-01T00+00:00", Grain.HOURLY, "UTC") is None


def test_a_gap_far_away_is_found_with_few_counts() -> None:
    span = find_span("0", "999999", Grain.SEQUENCE, "UTC")
    assert span is not None
    asked = []

    def count_between(low: str, high: str) -> int:
        first, last = int(low[len(low) - int(low[0]) :]), int(high[len(high) - int(high[0]) :])
        asked.append(last - first)
        return last - first + 1 - (first <= 999_900 <= last)

    assert list(first_missing(span, 999_999, 5, count_between)) == ["999900"]
    assert len(asked) < 50


def test_the_next_day_of_a_job_that_reads_its_own_output_is_not_late(world: World) -> None:
    for name in ("raw", "sums", "rates"):
        world.dataset(name, grain="daily")
    world.job("cumulate", ["raw", "rates", "sums:previous"], ["sums"], start="2026-08-20")
    world.ready("raw", "2026-08-20")
    world.ready("rates", "2026-08-20")
    world.do("cumulate", "2026-08-20")
    found = job(world, "cumulate")
    assert (found.counts["WAITING"], found.oldest, found.is_late(-1)) == (1, None, False)
    world.ready("raw", "2026-08-21")  # announced, and rates are missing
    found = job(world, "cumulate")
    assert found.oldest is not None
    assert (found.oldest.dataid, found.is_late(-1)) == ("2026-08-21", True)


def test_intervals_that_are_not_yet_added_make_a_job_late(world: World) -> None:
    add_dataset(world.store, Dataset("out", grain="daily"))
    now = world.store.read.get_now()
    start = utc_text(now - 46 * 86400)[:10]
    add_job(world.store, Job("daily", (), ("out",), schedule="@daily", start=start, catchup=True))
    overdue = job(world, "daily").overdue
    assert overdue is not None
    assert (overdue.dataset, overdue.intervals) == ("daily.calendar", 46)
    assert utc_text(overdue.since_at)[:10] == utc_text(now - 45 * 86400)[:10]
    assert [found.job for found in get_status(world.store).list_late(44 * 86400)] == ["daily"]
    assert get_status(world.store).list_late(46 * 86400) == []
    world.hold("daily")
    assert get_status(world.store).list_late(44 * 86400) == []


def test_without_catchup_the_next_interval_is_overdue_since_it_ended(world: World) -> None:
    add_dataset(world.store, Dataset("out", grain="daily"))
    add_job(world.store, Job("daily", (), ("out",), schedule="@daily"))
    assert add_due_intervals(world.store, world.plan("daily")) == 1
    assert job(world, "daily").overdue is None
    due_at = world.store.read.get_now() - 46 * 86400
    world.poke(f"UPDATE calendar SET due_at = {due_at}, cursor_at = {due_at - 86400}")
    overdue = job(world, "daily").overdue
    assert overdue is not None
    assert (overdue.intervals, round(overdue.age_seconds / 86400)) == (1, 46)


def test_a_schedule_that_has_not_begun_is_not_overdue(world: World) -> None:
    add_dataset(world.store, Dataset("out", grain="daily"))
    start = utc_text(world.store.read.get_now() + 10 * 86400)[:10]
    add_job(world.store, Job("daily", (), ("out",), schedule="@daily", start=start))
    assert job(world, "daily").overdue is None


def test_work_whose_interval_has_not_ended_is_not_late(world: World) -> None:
    now = world.store.read.get_now()
    days = [utc_text(now + day * 86400)[:10] for day in (-3, -1, 0)]
    for name in ("sales", "rates"):
        add_dataset(world.store, Dataset(name, grain="daily"))
    inputs = (JobInput("sales"), JobInput("rates"))
    add_job(world.store, Job("digest", inputs, schedule="@daily", start=days[1], catchup=True))
    world.ready("sales", *days)
    world.poke("UPDATE work SET called_at = '2020-01-01T00:00:00.000Z'")
    found = job(world, "digest")
    assert (found.counts["WAITING"], found.oldest) == (3, None)  # before the start, overdue, not ended
    assert found.overdue is not None
    assert found.overdue.intervals == 1
    assert add_due_intervals(world.store, world.plan("digest")) == 1
    oldest = job(world, "digest").oldest
    assert oldest is not None
    assert (oldest.dataid, oldest.state, oldest.age_seconds < 3600) == (days[1], "WAITING", True)
    world.ready("rates", *days)
    oldest = job(world, "digest").oldest
    assert oldest is not None
    assert (oldest.dataid, oldest.state, oldest.age_seconds < 3600) == (days[1], "CLAIMABLE", True)
    world.do("digest", days[1])
    assert job(world, "digest").oldest is None


def test_a_day_that_its_hours_call_for_waits_from_its_end_on(world: World) -> None:
    now = world.store.read.get_now()
    days = [utc_text(now + day * 86400)[:10] for day in (-2, -1, 0)]
    world.dataset("hours", grain="hourly")
    world.job("sum", ["hours:within"], [], grain="daily")
    for day in reversed(days):
        world.ready("hours", f"{day}T00+00:00")
    world.poke("UPDATE work SET called_at = '2020-01-01T00:00:00.000Z'")
    since = now // 86400 * 86400
    oldest = job(world, "sum").oldest
    assert oldest is not None
    assert (oldest.dataid, oldest.since_at) == (days[0], utc_text(since - 86400))
    assert abs(oldest.age_seconds - (now - since + 86400)) < 60
    world.hold("sum", days[0])
    world.poke(f"UPDATE work SET called_at = '{utc_text(now - 1)}' WHERE dataid = '{days[1]}'")
    oldest = job(world, "sum").oldest
    assert oldest is not None
    assert (oldest.dataid, oldest.age_seconds < 60) == (days[1], True)
    world.hold("sum", days[1])
    assert job(world, "sum").oldest is None


def test_work_downstream_of_a_schedule_is_not_late_before_the_interval_has_ended(world: World) -> None:
    now = world.store.read.get_now()
    skipped, yesterday, today = (utc_text(now + day * 86400)[:10] for day in (-3, -1, 0))
    for name in ("raw", "clean", "rates", "sums"):
        add_dataset(world.store, Dataset(name, grain="daily"))
    add_job(world.store, Job("load", (), ("raw",), schedule="@daily"))
    add_job(world.store, Job("tidy", (JobInput("raw"), JobInput("rates")), ("clean",)))
    add_job(world.store, Job("sum", (JobInput("clean"), JobInput("rates")), ("sums",)))
    age = "UPDATE work SET called_at = '2020-01-01T00:00:00.000Z' WHERE state = 'WAITING'"

    def late() -> list[str]:
        world.poke(age)
        jobs = get_status(world.store).jobs
        return [found.job for found in jobs if found.oldest and found.oldest.state == "WAITING"]

    world.ready("rates", today)
    assert late() == []  # no interval has been added yet
    assert add_due_intervals(world.store, world.plan("load")) == 1
    assert late() == []
    world.ready("rates", yesterday)
    assert late() == ["sum", "tidy"]  # load has not done what has ended
    world.do("load", yesterday)
    assert late() == ["sum"]  # what tidy waited for has just arrived
    world.do("tidy", yesterday)
    world.do("sum", yesterday)
    assert late() == []
    world.ready("rates", skipped)  # never comes
    assert late() == ["sum", "tidy"]


def test_a_run_is_late_when_it_takes_much_longer_than_usual(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    world.do("to_clean", "1")
    run = world.take("to_clean", "2", lease_seconds=1e6)
    now = world.store.read.get_now()

    def last(seconds: float, usual: float) -> list[str]:
        world.poke(f"UPDATE run SET started_at = '{utc_text(now - seconds)}' WHERE run_id = {run.run_id}")
        ended = f"started_at = '{utc_text(now - 9e4 - usual)}', ended_at = '{utc_text(now - 9e4)}'"
        world.poke(f"UPDATE run SET {ended} WHERE outcome = 'DONE'")
        return [found.job for found in get_status(world.store).list_late(3600)]

    assert last(4000, 60) == ["to_clean"]
    assert last(3500, 60) == []  # not longer than --late-after
    assert last(4000, 1400) == []  # not three times as long as usual
    assert last(4300, 1400) == ["to_clean"]
    longest = job(world, "to_clean").longest
    assert longest is not None
    assert (longest.run_id, longest.dataid, round(longest.usual_seconds or 0)) == (run.run_id, "2", 1400)


def test_a_first_run_is_late_after_the_span_alone(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.take("to_clean", "1", lease_seconds=1e6)
    assert get_status(world.store).list_late(3600) == []
    world.poke(f"UPDATE run SET started_at = '{utc_text(world.store.read.get_now() - 4000)}'")
    assert [found.job for found in get_status(world.store).list_late(3600)] == ["to_clean"]
