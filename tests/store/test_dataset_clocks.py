"""Datasets that the clock makes stale or overdue."""

from __future__ import annotations

import contextlib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dataflow.model.freshness import Lateness
from dataflow.store import dataset_clocks
from tests.store.races import race
from tests.store.test_incidents import events, incidents, kinds
from tests.store.world import World

DAY = 86400.0


def day(world: World, back: int) -> str:
    """The date so many days ago by the store's clock."""
    now = datetime.fromtimestamp(world.store.read.get_now(), UTC)
    return (now - timedelta(days=back)).date().isoformat()


def a_moment_ago(world: World) -> str:
    """A time of day that has passed today by at least a minute; the store of a test has its own clock."""
    now = datetime.fromtimestamp(world.store.read.get_now(), UTC)
    return "00:00" if now.hour == 0 else f"{now.hour - 1:02d}:{now.minute:02d}"


def late(world: World) -> list[tuple[str, str]]:
    found: list[Lateness] = world.store.watching.list_late()
    return [(one.dataset, one.kind) for one in found]


def watch(world: World, **limits: Any) -> None:
    world.dataset("orders", **{"grain": "daily"} | limits)


def look(world: World) -> None:
    """Look as if a minute had passed since somebody looked."""
    world.poke("UPDATE dataset_watch SET check_at = 0")
    world.store.watching.look_at_clocks()


def test_a_dataset_is_stale_while_its_newest_interval_ended_too_long_ago(world: World) -> None:
    watch(world, fresh_within_seconds=2 * DAY)
    world.ready("orders", day(world, 4), day(world, 2))
    assert late(world) == []
    world.withdraw("orders", day(world, 2))
    assert late(world) == [("orders", "stale")]
    look(world)
    assert kinds(world) == [("stale", "orders", 1)]
    look(world)
    assert [event for _, event in events(world)] == ["opened"]
    world.ready("orders", day(world, 1))
    look(world)
    assert kinds(world) == []
    assert [event for _, event in events(world)] == ["opened", "recovered"]


def test_a_stale_incident_names_the_newest_chunk(world: World) -> None:
    watch(world, fresh_within_seconds=26 * 3600)
    world.ready("orders", day(world, 9))
    look(world)
    (found,) = incidents(world)
    assert found.dataid == day(world, 9)
    assert found.reason == f"the interval of the newest chunk, {day(world, 9)}, ended more than 1d2h ago"


def test_a_sequence_is_stale_when_nothing_was_published_for_too_long(world: World) -> None:
    watch(world, grain="sequence", fresh_within_seconds=60.0)
    world.ready("orders", "7")
    assert late(world) == []
    age(world, 61)
    assert late(world) == [("orders", "stale")]
    world.ready("orders", "3")
    assert late(world) == []


def age(world: World, seconds: float) -> None:
    if world.clock is not None:
        world.advance(seconds)
    else:
        world.poke(f"UPDATE chunk SET modified_at = modified_at - interval '{seconds} seconds'")
        world.poke(f"UPDATE dataset_watch SET since_at = since_at - {seconds}")


def test_a_late_dataset_is_judged_without_holding_up_writers(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(world, grain="sequence", fresh_within_seconds=60.0)
    age(world, 61)
    look(world)
    assert kinds(world) == [("stale", "orders", 1)]
    judge = dataset_clocks.judge

    def judge_beside_a_writer(*given: Any) -> list[Lateness]:
        with contextlib.closing(world.beside()) as other:  # fails while a transaction of SQLite writes
            other.poke("UPDATE dataset SET name = name")
        return judge(*given)

    monkeypatch.setattr(dataset_clocks, "judge", judge_beside_a_writer)
    look(world)
    assert kinds(world) == [("stale", "orders", 1)]


def test_becoming_stale_is_not_publishing(world: World) -> None:
    watch(world, grain="sequence", fresh_within_seconds=60.0)
    world.ready("orders", "7")
    age(world, 61)
    now = "now_at()" if world.clock else "now()"
    world.poke(f"UPDATE chunk SET stale = TRUE, modified_at = {now}")
    assert late(world) == [("orders", "stale")]


def test_an_empty_dataset_is_stale_only_after_it_was_watched_for_so_long(world: World) -> None:
    watch(world, fresh_within_seconds=60.0)
    assert late(world) == []
    age(world, 61)
    assert late(world) == [("orders", "stale")]


def test_a_dataset_is_overdue_until_the_chunk_of_the_last_ended_interval_is_published(world: World) -> None:
    watch(world, due_by=a_moment_ago(world))
    world.ready("orders", day(world, 2))
    look(world)
    (found,) = incidents(world)
    assert (found.kind, found.dataid) == ("overdue", day(world, 1))
    assert found.reason == f"{day(world, 1)} was due by {a_moment_ago(world)} (UTC) and is not published"
    world.ready("orders", day(world, 1))
    look(world)
    assert kinds(world) == []


def test_a_withdrawn_chunk_is_not_published(world: World) -> None:
    watch(world, due_by=a_moment_ago(world))
    world.ready("orders", day(world, 1))
    assert late(world) == []
    world.withdraw("orders", day(world, 1))
    world.ready("orders", day(world, 2))
    assert late(world) == [("orders", "overdue")]


def test_an_empty_dataset_is_due_from_the_first_time_after_it_was_registered(world: World) -> None:
    watch(world, due_by=a_moment_ago(world))
    assert late(world) == []
    age(world, 2 * DAY)
    assert late(world) == [("orders", "overdue")]


def test_a_dataset_that_is_not_late_is_not_looked_at_before_it_can_be(world: World) -> None:
    watch(world, fresh_within_seconds=5 * DAY)
    world.ready("orders", day(world, 1))
    assert world.store.watching.look_at_clocks() == 1
    assert world.store.watching.look_at_clocks() == 0


def test_changed_limits_are_looked_at_at_once(world: World) -> None:
    watch(world, fresh_within_seconds=9 * DAY)
    world.ready("orders", day(world, 4))
    world.store.watching.look_at_clocks()
    assert kinds(world) == []
    watch(world, fresh_within_seconds=2 * DAY)
    world.store.watching.look_at_clocks()
    assert kinds(world) == [("stale", "orders", 1)]


def test_a_dataset_without_limits_closes_its_incidents_and_tells_nobody(world: World) -> None:
    watch(world, fresh_within_seconds=2 * DAY)
    world.ready("orders", day(world, 9))
    look(world)
    watch(world)
    assert kinds(world) == []
    assert late(world) == []
    assert [event for _, event in events(world)] == ["opened"]
    assert world.select("SELECT * FROM dataset_watch") == []


def test_a_removed_dataset_is_no_longer_watched(world: World) -> None:
    watch(world, fresh_within_seconds=2 * DAY)
    world.ready("orders", day(world, 9))
    look(world)
    world.remove_dataset("orders")
    assert kinds(world) == []
    assert world.store.watching.look_at_clocks() == 0


def test_a_clock_that_was_set_back_does_not_stop_the_watch(world: World) -> None:
    watch(world, fresh_within_seconds=2 * DAY)
    world.ready("orders", day(world, 9))
    world.poke("UPDATE dataset_watch SET check_at = 1e12")
    world.store.watching.look_at_clocks()
    assert kinds(world) == [("stale", "orders", 1)]


def test_of_two_processes_that_look_at_once_one_opens_the_incident(postgres_world: World) -> None:
    world = postgres_world
    watch(world, fresh_within_seconds=2 * DAY)
    world.ready("orders", day(world, 9))
    raced = race(
        world,
        lambda one: one.store.watching.look_at_clocks(),
        lambda one: one.store.watching.look_at_clocks(),
    )
    assert not raced.waited
    assert [event for _, event in events(world)] == ["opened"]
