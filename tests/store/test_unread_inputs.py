"""Inputs that a run has not read: it was forced without them, or they were added after its claim."""

from __future__ import annotations

from dataflow.model.status import RunOutcome, WorkState
from tests.store.races import check, race
from tests.store.world import World


def make_two(world: World) -> None:
    """A job whose second input is added while its run is live."""
    world.chain("left", "both")
    world.dataset("right")
    world.ready("left", "1")


def test_an_input_added_during_a_run_is_read_by_another_run(world: World) -> None:
    make_two(world)
    world.ready("right", "1")
    run = world.take("to_both")
    world.job("to_both", ["left", "right"], ["both"])
    assert world.finish(run) is WorkState.CLAIMABLE
    assert (world.status("both", "1"), world.version("both", "1")) == ("STALE", 1)
    assert len(world.take("to_both").pins) == 2


def test_an_added_input_that_arrives_after_the_run_is_read_by_another_run(world: World) -> None:
    make_two(world)
    run = world.take("to_both")
    world.job("to_both", ["left", "right"], ["both"])
    assert world.finish(run) is WorkState.DONE
    world.ready("right", "1")
    assert (world.state("to_both", "1"), world.status("both", "1")) == ("CLAIMABLE", "STALE")


def test_an_input_that_replaces_another_is_read(world: World) -> None:
    make_two(world)
    world.ready("right", "1")
    run = world.take("to_both")
    world.job("to_both", ["right"], ["both"])
    assert world.finish(run) is WorkState.CLAIMABLE


def test_an_input_whose_mapping_was_changed_is_read_again(world: World) -> None:
    world.chain("days", "sums", grain="daily")
    world.ready("days", "2026-08-01", "2026-08-02")
    world.do("to_sums", "2026-08-01")
    run = world.take("to_sums", "2026-08-02")
    world.job("to_sums", ["days:previous"], ["sums"])
    assert world.finish(run) is WorkState.CLAIMABLE


def test_an_input_that_first_arrives_after_a_forced_run_is_read_by_another_run(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.finish(world.force("to_clean", "1"))
    assert world.status("clean", "1") == "READY"
    world.ready("raw", "1")
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("CLAIMABLE", "STALE")
    assert world.drain("to_clean") == ["1"]
    assert (world.status("clean", "1"), world.version("clean", "1")) == ("READY", 2)


def test_an_input_that_first_arrives_during_a_forced_run_is_read_by_another_run(world: World) -> None:
    world.chain("raw", "clean")
    run = world.force("to_clean", "1")
    world.ready("raw", "1")
    assert world.finish(run) is WorkState.CLAIMABLE


def test_an_input_that_first_arrives_after_a_failed_forced_run_is_tried(world: World) -> None:
    world.chain("raw", "clean")
    world.finish(world.force("to_clean", "1"), RunOutcome.FAILED)
    world.ready("raw", "1")
    world.take("to_clean", "1")


def test_an_output_that_is_published_for_the_first_time_is_read_too(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.finish(world.force("to_report", "1"))
    world.ready("raw", "1")
    world.do("to_clean")
    world.take("to_report", "1")


def test_an_input_that_arrives_while_a_forced_run_finishes_is_not_lost(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    run = world.force("to_clean", "1")
    race(world, lambda w: w.finish(run), lambda w: w.ready("raw", "1"))
    assert world.state("to_clean", "1") == "CLAIMABLE"
    other = world.take("to_clean")
    world.finish(other)
    check(world)


def test_a_forced_run_that_finishes_while_an_input_arrives_does_not_miss_it(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    run = world.force("to_clean", "1")
    race(world, lambda w: w.ready("raw", "1"), lambda w: w.finish(run))
    assert world.state("to_clean", "1") == "CLAIMABLE"
    check(world)


def test_work_marked_done_before_its_inputs_were_ready_stays_done_when_they_arrive(world: World) -> None:
    for name in ("raw", "rates", "clean"):
        world.dataset(name)
    world.job("to_clean", ["raw", "rates"], ["clean"])
    world.ready("raw", "1")
    world.mark("to_clean", "1", WorkState.DONE)
    world.ready("rates", "1")
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("DONE", "READY")
