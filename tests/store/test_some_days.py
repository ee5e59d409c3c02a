"""Jobs with daily dataids whose schedule has only some days: chunks of other days call for no work."""

from __future__ import annotations

import pytest

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.register import add_dataset, add_job
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.status import RunOutcome, WorkState
from dataflow.model.wording import utc_text
from tests.store.races import Doing
from tests.store.test_interleavings import both_orders, first
from tests.store.world import World

__all__ = ["first"]

FRIDAY, SATURDAY = "2026-08-21", "2026-08-22"
FLAWS = {"withdrawn": "withdrawn = TRUE", "stale": "stale = TRUE", "being overwritten": "dirty_run_id = 1"}


def add_digest(world: World, schedule: str = "0 6 * * 1-5") -> None:
    world.dataset("sales", grain="daily")
    world.dataset("digests", grain="daily")
    world.job("digest", ["sales"], ["digests"], schedule=schedule)


def test_a_chunk_of_a_day_that_is_left_out_calls_for_no_work(world: World) -> None:
    add_digest(world)
    world.ready("sales", FRIDAY, SATURDAY)
    assert world.states("digest") == {FRIDAY: "CLAIMABLE"}


def test_chunks_that_were_ready_before_the_job_call_only_for_its_days(world: World) -> None:
    world.dataset("sales", grain="daily")
    world.ready("sales", FRIDAY, SATURDAY)
    add_digest(world)
    assert world.states("digest") == {FRIDAY: "CLAIMABLE"}


def test_forced_work_of_a_day_that_is_left_out_counts_its_chunk(world: World) -> None:
    add_digest(world)
    world.ready("sales", SATURDAY)
    world.finish(world.force("digest", SATURDAY))
    assert world.present("digest", SATURDAY) == [(1, 1)]
    world.withdraw("sales", SATURDAY)
    assert world.present("digest", SATURDAY) == [(1, 0)]
    world.ready("sales", SATURDAY)
    assert world.present("digest", SATURDAY) == [(1, 1)]
    assert world.state("digest", SATURDAY) == "CLAIMABLE"


@pytest.mark.parametrize("flaw", FLAWS)
def test_forced_work_does_not_count_a_chunk_that_is_not_ready(world: World, flaw: str) -> None:
    add_digest(world)
    world.ready("sales", SATURDAY)
    world.poke(f"UPDATE chunk SET {FLAWS[flaw]}")
    world.force("digest", SATURDAY)
    assert world.present("digest", SATURDAY) == [(1, 0)]


def test_forced_work_does_not_count_the_chunk_of_another_day(world: World) -> None:
    add_digest(world)
    world.ready("sales", FRIDAY)
    world.force("digest", SATURDAY)
    assert world.present("digest", SATURDAY) == [(1, 0)]


def test_a_schedule_that_leaves_a_day_out_deletes_its_untouched_work(world: World) -> None:
    add_digest(world, "")
    world.ready("sales", FRIDAY, SATURDAY)
    add_digest(world)
    assert world.states("digest") == {FRIDAY: "CLAIMABLE"}


@pytest.mark.parametrize("touched", ["marked", "held", "tried"])
def test_a_schedule_that_leaves_a_day_out_keeps_what_was_marked_held_or_tried(
    world: World, touched: str
) -> None:
    add_digest(world, "")
    world.ready("sales", SATURDAY)
    if touched == "held":
        world.store.hold(world.plan("digest"), world.pairs("sales", [SATURDAY]), True, "")
    elif touched == "marked":
        world.mark("digest", SATURDAY, WorkState.FAILED)
    else:
        world.do("digest", SATURDAY, RunOutcome.RETURNED)
    add_digest(world)
    assert list(world.states("digest")) == [SATURDAY]
    assert world.present("digest", SATURDAY) == [(1, 1)]


def test_work_forced_on_a_day_that_is_left_out_and_its_chunk_find_each_other(
    postgres_world: World, first: int
) -> None:
    add_digest(postgres_world)
    force: Doing = lambda world: world.claim("digest", dataid=SATURDAY, force=True)  # noqa: E731
    both_orders(postgres_world, force, lambda world: world.ready("sales", SATURDAY), first)
    assert postgres_world.present("digest", SATURDAY) == [(1, 1)]


def test_work_forced_on_a_day_that_is_left_out_beside_a_withdrawal_counts_nothing(
    postgres_world: World, first: int
) -> None:
    add_digest(postgres_world)
    postgres_world.ready("sales", SATURDAY)
    force: Doing = lambda world: world.claim("digest", dataid=SATURDAY, force=True)  # noqa: E731
    both_orders(postgres_world, force, lambda world: world.withdraw("sales", SATURDAY), first)
    assert postgres_world.present("digest", SATURDAY) == [(1, 0)]


@pytest.mark.parametrize("touched", ["tried", "marked"])
def test_an_interval_that_is_added_keeps_the_age_of_work_that_was_tried_or_marked(
    world: World, touched: str
) -> None:
    day = utc_text(world.store.read.get_now() - 86400)[:10]
    add_dataset(world.store, Dataset("sales", grain="daily"))
    add_job(world.store, Job("digest", (JobInput("sales"),), schedule="@daily", start=day, catchup=True))
    world.ready("sales", day)
    if touched == "tried":
        world.finish(world.force("digest", day), RunOutcome.FAILED)
        world.resubmit("digest", day)
        assert world.states("digest")[day] == "WAITING"
    else:
        world.mark("digest", day, WorkState.FAILED)
    world.poke("UPDATE work SET called_at = '2020-01-01T00:00:00.000Z'")
    assert add_due_intervals(world.store, world.plan("digest")) == 1
    assert world.select("SELECT count(*) FROM work WHERE called_at < '2021-01-01'") == [(1,)]
