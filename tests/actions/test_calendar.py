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


def test_once_comes_once(world: World) -> None:
    add_job(world.store, Job("load", schedule="@once"))
    assert add_due_intervals(world.store, world.plan("load")) == 1
    assert world.drain("load") == ["once"]


def test_a_calendar_and_another_input_must_both_be_there(world: World) -> None:
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


def test_a_changed_schedule_goes_on_from_where_it_was(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 3), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 3
    add_job(world.store, Job("load", schedule="0 0 * * *", start=days_ago(world, 3), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 0
    assert len(dataids(world, "load.calendar")) == 3


def test_processes_that_add_the_same_intervals_at_once_add_them_once(world: World) -> None:
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


def test_a_schedule_that_is_to_catch_up_from_an_earlier_start_adds_what_is_before(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 2), catchup=True))
    add_due_intervals(world.store, world.plan("load"))
    world.drain("load")
    world.withdraw("load.calendar", days_ago(world, 2))
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 4), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 2
    assert add_due_intervals(world.store, world.plan("load")) == 0
    assert world.drain("load") == [days_ago(world, days) for days in (4, 3)]
    assert world.status("load.calendar", days_ago(world, 2)) == "PENDING"


def test_a_schedule_that_is_told_later_to_catch_up_does(world: World) -> None:
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 3)))
    add_due_intervals(world.store, world.plan("load"))
    assert world.drain("load") == [days_ago(world, 1)]
    add_job(world.store, Job("load", schedule="@daily", start=days_ago(world, 3), catchup=True))
    assert add_due_intervals(world.store, world.plan("load")) == 2
    assert world.drain("load") == [days_ago(world, days) for days in (3, 2)]
