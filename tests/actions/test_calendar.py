"""Calendars: intervals that have ended become chunks, each once, however many processes add them."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime, timedelta

from dataflow.actions import calendar
from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.register import add_dataset, add_job
from dataflow.model.records import Dataset, Job, JobInput
from tests.store.world import World

DAY = 86400.0


def days_ago(world: World, days: int) -> str:
    now = world.clock.seconds if world.clock else time.time()
    return (datetime.fromtimestamp(now, UTC) - timedelta(days=days)).date().isoformat()


def dataids(world: World, dataset: str) -> list[str]:
    return [chunk.dataid for chunk in world.chunks(dataset)]


def test_catch_up_adds_every_interval_that_has_ended_and_only_once(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 3), catchup=True))
    plan = world.plan("load")
    assert world.ask("load").again == "calendar"
    assert add_due_intervals(world.store, plan) == 3
    assert add_due_intervals(world.store, plan) == 0
    assert dataids(world, "load.calendar") == [days_ago(world, days) for days in (3, 2, 1)]
    assert world.drain("load") == [days_ago(world, days) for days in (3, 2, 1)]


def test_without_catch_up_only_the_latest_interval_is_added(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 30)))
    assert add_due_intervals(world.store, world.plan("load")) == 1
    assert dataids(world, "load.calendar") == [days_ago(world, 1)]


def test_the_next_interval_comes_when_it_has_ended(sqlite_world: World) -> None:
    world = sqlite_world
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 1), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 1
    assert world.drain("load") == [days_ago(world, 1)]
    world.advance(DAY)
    assert world.ask("load").again == "calendar"
    assert add_due_intervals(world.store, world.plan("load")) == 1
    assert world.drain("load") == [days_ago(world, 1)]


def test_a_long_catch_up_is_added_in_bounded_parts(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 1500), catchup=True))
    plan = world.plan("load")
    assert add_due_intervals(world.store, plan) == calendar.MOST_INTERVALS
    assert world.ask("load").again == "calendar"
    assert add_due_intervals(world.store, plan) == 1500 - calendar.MOST_INTERVALS
    assert world.ask("load").again == ""
    assert len(world.journal("ready")) == 2


def test_a_schedule_that_is_over_is_never_due_again(world: World) -> None:
    add_job(
        world.store,
        Job("load", schedule="@daily", start=days_ago(world, 9), end=days_ago(world, 8), catchup=True),
    )
    assert add_due_intervals(world.store, world.plan("load")) == 2
    world.advance(DAY)
    assert world.ask("load").again == ""


def test_a_once_schedule_is_due_once(world: World) -> None:
    add_job(world.store, Job("load", schedule="@once"))
    assert add_due_intervals(world.store, world.plan("load")) == 1
    assert world.drain("load") == ["once"]


def test_a_calendar_and_another_input_must_both_be_ready(world: World) -> None:
    add_dataset(world.store, Dataset("days", grain="daily"))
    add_job(
        world.store,
        Job("load", (JobInput("days"),), schedule="@daily", start=days_ago(world, 2), catchup=True),
    )
    add_due_intervals(world.store, world.plan("load"))
    assert world.claim("load") == ()
    world.ready("days", days_ago(world, 1))
    assert world.drain("load") == [days_ago(world, 1)]


def test_today_is_ready_from_the_first_moment_of_the_day(sqlite_world: World) -> None:
    world = sqlite_world
    assert world.clock is not None
    world.clock.seconds = datetime(2026, 8, 20, 23, 59, 59, tzinfo=UTC).timestamp()
    add_job(world.store, Job("report", (JobInput("today"),)))
    plan = world.plan("report")
    assert add_due_intervals(world.store, plan) == 1
    assert world.drain("report") == ["2026-08-20"]
    world.clock.seconds += 1
    assert world.ask("report").again == "calendar"
    add_due_intervals(world.store, plan)
    assert world.drain("report") == ["2026-08-21"]


def test_today_is_the_day_of_its_own_zone(sqlite_world: World) -> None:
    world = sqlite_world
    assert world.clock is not None
    world.clock.seconds = datetime(2026, 8, 20, 15, 30, tzinfo=UTC).timestamp()
    add_job(world.store, Job("report", (JobInput("today"),), timezone="Asia/Tokyo"))
    add_due_intervals(world.store, world.plan("report"))
    assert dataids(world, "today") == ["2026-08-21"]


def test_today_works_by_the_clock_of_each_store(world: World) -> None:
    add_job(world.store, Job("report", (JobInput("today"),)))
    assert add_due_intervals(world.store, world.plan("report")) == 1
    assert add_due_intervals(world.store, world.plan("report")) == 0
    assert len(world.drain("report")) == 1


def test_a_changed_schedule_continues_from_where_it_was(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 3), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 3
    add_job(world.store, Job("load", schedule="0 0 * * *", start=days_ago(world, 3), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 0
    assert len(dataids(world, "load.calendar")) == 3


def test_processes_that_add_the_same_intervals_concurrently_add_them_once(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 50), catchup=True))
    plan = world.plan("load")
    barrier = threading.Barrier(4)
    added: list[int] = []

    def add() -> None:
        store = world.store.separate(30.0)
        barrier.wait()
        added.append(add_due_intervals(store, plan))
        store.close()

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(added) == [0, 0, 0, 50]
    assert {chunk.version for chunk in world.chunks("load.calendar")} == {1}
    assert len(world.journal("ready")) == 1


def test_catching_up_from_an_earlier_start_adds_the_earlier_intervals(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 2), catchup=True))
    add_due_intervals(world.store, world.plan("load"))
    world.drain("load")
    world.withdraw("load.calendar", days_ago(world, 2))
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 4), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 2
    assert add_due_intervals(world.store, world.plan("load")) == 0
    assert world.drain("load") == [days_ago(world, days) for days in (4, 3)]
    assert world.status("load.calendar", days_ago(world, 2)) == "PENDING"


def test_a_schedule_that_gets_catch_up_later_catches_up(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 3)))
    add_due_intervals(world.store, world.plan("load"))
    assert world.drain("load") == [days_ago(world, 1)]
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 3), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 2
    assert world.drain("load") == [days_ago(world, days) for days in (3, 2)]


def test_a_start_that_moves_with_the_clock_skips_no_interval(sqlite_world: World) -> None:
    world = sqlite_world
    for _ in range(3):  # as a pipeline whose start_date is today registers itself, once a day
        add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 0)))
        add_due_intervals(world.store, world.plan("load"))
        world.advance(DAY)
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 0)))
    add_due_intervals(world.store, world.plan("load"))
    assert dataids(world, "load.calendar") == [days_ago(world, days) for days in (3, 2, 1)]
    assert world.plan("load").job.start == days_ago(world, 0)


def test_a_moving_start_of_fixed_steps_does_not_move_their_beginnings(sqlite_world: World) -> None:
    world = sqlite_world
    first = days_ago(world, 0)
    for _ in range(3):
        add_job(world.store, Job("load", schedule="every 7 hours", start=days_ago(world, 0)))
        add_due_intervals(world.store, world.plan("load"))
        world.advance(DAY)
    starts = [datetime.fromisoformat(dataid) for dataid in dataids(world, "load.calendar")]
    assert starts
    anchor = datetime.fromisoformat(first).replace(tzinfo=UTC)
    assert all((start - anchor) % timedelta(hours=7) == timedelta() for start in starts)


def test_a_start_in_the_future_is_a_pause(sqlite_world: World) -> None:
    world = sqlite_world
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 5)))
    assert add_due_intervals(world.store, world.plan("load")) == 1
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, -10)))
    world.advance(3 * DAY)
    assert add_due_intervals(world.store, world.plan("load")) == 0


def test_a_calendar_of_an_earlier_release_keeps_its_intervals(world: World) -> None:
    # An earlier release included the month of the start: 2026-01, which a start inside January does not now.
    add_job(world.store, Job("load", schedule="@monthly", start="2026-01", end="2026-03-01", catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 3
    assert world.drain("load") == ["2026-01", "2026-02", "2026-03"]
    later = Job("load", schedule="@monthly", start="2026-01-15", end="2026-03-01", catchup=True)
    add_job(world.store, later)
    assert world.plan("load").job.start == "2026-02"
    assert add_due_intervals(world.store, world.plan("load")) == 0
    assert dataids(world, "load.calendar") == ["2026-01", "2026-02", "2026-03"]
    assert world.drain("load") == []


def test_a_calendar_on_demand_has_the_grain_of_its_jobs_datasets(world: World) -> None:
    add_dataset(world.store, Dataset("orders", grain="hourly", timezone="Europe/Berlin"))
    add_dataset(world.store, Dataset("shards"))
    add_job(world.store, Job("load", outputs=("orders",), schedule="None"))
    add_job(world.store, Job("copy", (JobInput("orders", "latest"),), ("shards",), schedule="@none"))
    load, copy = world.plan("load"), world.plan("copy")
    assert (load.job.schedule, load.grain, load.timezone) == ("none", "hourly", "Europe/Berlin")
    assert (copy.job.schedule, copy.grain) == ("none", "text")
    assert add_due_intervals(world.store, load) == 0
    assert world.ask("load").again == ""
