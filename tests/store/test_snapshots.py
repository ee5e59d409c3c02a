"""Snapshots that are written over each other: an older dataid never comes after a newer one."""

from __future__ import annotations

import pytest

from dataflow.model.records import Ending, Run
from dataflow.model.status import RunOutcome, WorkState
from tests.store.faults import LostAnswer
from tests.store.races import race
from tests.store.world import STAGED, World


def make_two_runs(world: World, location: str = "") -> tuple[Run, Run]:
    """Live runs of an older and a newer snapshot of one table."""
    world.chain("raw", "table", retries=3)
    world.dataset("table", location=location)
    world.ready("raw", "9", "10")
    older, newer = world.claim("to_table", 2)
    # Behind the store's back: a claim gives one at a time, and this is the line of defence behind it.
    world.poke("UPDATE dataset SET mode = 'snapshot' WHERE name = 'table'")
    assert (older.dataid, newer.dataid) == ("9", "10")
    return older, newer


@pytest.mark.parametrize("location", ["", "/data/table"])
def test_an_older_snapshot_is_not_published_after_a_newer_one(world: World, location: str) -> None:
    older, newer = make_two_runs(world, location)
    world.finish(newer)
    assert world.finish(older) is WorkState.FAILED
    reason = "table already holds the newer snapshot 10"
    assert (world.work("to_table", "9").reason, world.version("table", "9")) == (reason, 0)
    assert (world.outcome(older), world.journal("finish")[-1]["why"]) == ("FAILED", reason)


def test_snapshots_in_order_are_published(world: World) -> None:
    older, newer = make_two_runs(world)
    assert (world.finish(older), world.finish(newer)) == (WorkState.DONE, WorkState.DONE)


def test_a_newer_snapshot_that_was_withdrawn_is_no_hindrance(world: World) -> None:
    older, newer = make_two_runs(world)
    world.finish(newer)
    world.withdraw("table", "10")
    assert world.finish(older) is WorkState.DONE


@pytest.mark.parametrize("location", [STAGED, "/data/table/{dataid}"])
def test_snapshots_with_a_place_of_their_own_are_published_in_any_order(world: World, location: str) -> None:
    older, newer = make_two_runs(world, location)
    assert (world.finish(newer), world.finish(older)) == (WorkState.DONE, WorkState.DONE)


def test_a_refused_snapshot_whose_answer_was_lost_is_refused_once(world: World) -> None:
    older, newer = make_two_runs(world)
    world.finish(newer)
    deaf = world.beside(LostAnswer(world.store.database))
    assert deaf.store.finish(world.plan("to_table"), Ending(older, RunOutcome.DONE)) is None
    assert world.state("to_table", "9") == "FAILED"


def test_of_two_snapshots_that_finish_at_once_the_older_does_not_come_last(postgres_world: World) -> None:
    world = postgres_world
    older, newer = make_two_runs(world)
    raced = race(world, lambda w: w.finish(newer), lambda w: w.finish(older))
    assert raced == (WorkState.DONE, WorkState.FAILED, True)
    assert world.version("table", "9") == 0
