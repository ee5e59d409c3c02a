"""The newest chunk changes during other transactions on PostgreSQL, each order forced."""

from __future__ import annotations

import pytest

from dataflow.model.status import WorkState
from tests.store.races import Doing, race
from tests.store.races import check as check_others
from tests.store.test_interleavings import both_orders, first
from tests.store.test_latest import check, make_view
from tests.store.world import World

__all__ = ["first"]


def prepare(world: World) -> World:
    """A month that is not covered, and a snapshot of the month before."""
    make_view(world)
    world.ready("months", "2017-10")
    world.ready("snap", "2017-10-31")
    return world


def agree(world: World) -> None:
    check(world)
    check_others(world)


def test_new_work_and_the_chunk_that_covers_it_find_each_other(postgres_world: World, first: int) -> None:
    world = prepare(postgres_world)
    both_orders(world, lambda w: w.ready("months", "2017-11"), lambda w: w.ready("snap", "2017-11-30"), first)
    agree(world)
    assert world.state("to_view", "2017-11") == "CLAIMABLE"


def test_new_work_waits_when_its_chunk_is_withdrawn_at_the_same_time(
    postgres_world: World, first: int
) -> None:
    world = prepare(postgres_world)
    world.ready("snap", "2017-11-30")
    withdraw: Doing = lambda w: w.withdraw("snap", "2017-11-30")  # noqa: E731
    both_orders(world, lambda w: w.ready("months", "2017-11"), withdraw, first)
    agree(world)
    assert world.state("to_view", "2017-11") == "WAITING"


def test_forced_work_and_the_chunk_that_covers_it_find_each_other(postgres_world: World, first: int) -> None:
    world = prepare(postgres_world)
    both_orders(
        world, lambda w: w.force("to_view", "2017-11"), lambda w: w.ready("snap", "2017-11-30"), first
    )
    agree(world)
    assert world.present("to_view", "2017-11") == [(1, 0), (1, 1)]


def test_the_later_of_two_chunks_published_at_once_is_the_newest(postgres_world: World, first: int) -> None:
    world = prepare(postgres_world)
    world.ready("months", "2017-11", "2017-12")
    both_orders(
        world, lambda w: w.ready("snap", "2017-11-30"), lambda w: w.ready("snap", "2017-12-31"), first
    )
    agree(world)
    assert world.present("to_view", "2017-12") == [(1, 1), (1, 1)]


def test_neither_of_two_chunks_withdrawn_at_once_is_the_newest(postgres_world: World, first: int) -> None:
    world = prepare(postgres_world)
    world.ready("months", "2017-11")
    world.ready("snap", "2017-11-30", "2017-12-31")
    withdraw: Doing = lambda w: w.withdraw("snap", "2017-12-31")  # noqa: E731
    both_orders(world, lambda w: w.withdraw("snap", "2017-11-30"), withdraw, first)
    agree(world)
    assert world.state("to_view", "2017-11") == "WAITING"


def test_a_withdrawn_chunk_is_replaced_by_an_older_one_published_at_the_same_time(
    postgres_world: World, first: int
) -> None:
    world = prepare(postgres_world)
    world.ready("months", "2017-11")
    world.ready("snap", "2017-12-31")
    withdraw: Doing = lambda w: w.withdraw("snap", "2017-12-31")  # noqa: E731
    both_orders(world, lambda w: w.ready("snap", "2017-11-30"), withdraw, first)
    agree(world)
    assert world.state("to_view", "2017-11") == "CLAIMABLE"


def test_a_job_that_gets_a_latest_input_while_its_chunk_is_published_finds_it(
    postgres_world: World, first: int
) -> None:
    world = prepare(postgres_world)
    world.job("to_view", ["months"], ["view"])
    world.ready("months", "2017-11")
    change: Doing = lambda w: w.job("to_view", ["months", "snap:latest"], ["view"])  # noqa: E731
    both_orders(world, change, lambda w: w.ready("snap", "2017-11-30"), first)
    agree(world)
    assert world.present("to_view", "2017-11") == [(1, 1), (1, 1)]


def test_a_claim_during_the_withdrawal_of_its_chunk_does_not_publish_from_it(
    postgres_world: World, first: int
) -> None:
    world = prepare(postgres_world)
    runs, _ = both_orders(
        world, lambda w: w.claim("to_view"), lambda w: w.withdraw("snap", "2017-10-31"), first
    )
    agree(world)
    for run in runs if isinstance(runs, tuple) else ():
        assert world.finish(run) is WorkState.WAITING
        assert world.status("view", "2017-10") != "READY"


def test_a_new_version_published_during_a_finish_is_noticed(postgres_world: World, first: int) -> None:
    world = prepare(postgres_world)
    run = world.take("to_view")
    renew: Doing = lambda w: w.ready("snap", "2017-10-31", again=True)  # noqa: E731
    both_orders(world, lambda w: w.finish(run), renew, first)
    agree(world)
    assert (world.state("to_view", "2017-10"), world.status("view", "2017-10")) == ("CLAIMABLE", "STALE")


def test_work_done_from_another_chunk_stays_done_when_the_old_one_gets_a_new_version(
    postgres_world: World,
) -> None:
    world = prepare(postgres_world)
    world.do("to_view")
    world.ready("snap", "2017-11-01")
    world.resubmit("to_view", "2017-10")
    run = world.take("to_view")
    raced = race(
        world, lambda w: w.finish(run), lambda w: w.ready("snap", "2017-10-31", again=True), after=""
    )
    assert raced.waited
    agree(world)
    assert (world.state("to_view", "2017-10"), world.status("view", "2017-10")) == ("DONE", "READY")


@pytest.mark.parametrize("after", ["publish.insert_work", "cover.reaches"])
def test_a_chunk_published_while_work_is_being_created_waits_for_it(
    postgres_world: World, after: str
) -> None:
    world = prepare(postgres_world)
    race(world, lambda w: w.ready("months", "2017-11"), lambda w: w.ready("snap", "2017-11-30"), after=after)
    agree(world)
    assert world.state("to_view", "2017-11") == "CLAIMABLE"
