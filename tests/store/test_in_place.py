"""Outputs that are overwritten in place: closed to readers from the claim until they are published again."""

from __future__ import annotations

import pytest

from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import LEASE_SECONDS, World


def make_rerun(world: World) -> World:
    """raw → clean (in place) → report, with clean/1 published and its work resubmitted."""
    world.chain("raw", "clean", "report")
    world.dataset("clean", location="/data/clean")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    return world


@pytest.fixture
def rerun(world: World) -> World:
    return make_rerun(world)


def test_a_rerun_in_place_closes_the_chunk_until_it_is_published_again(rerun: World) -> None:
    assert rerun.state("to_report", "1") == "CLAIMABLE"
    run = rerun.take("to_clean")
    assert (rerun.state("to_report", "1"), rerun.status("clean", "1")) == ("WAITING", "RUNNING")
    assert not rerun.claim("to_report")
    rerun.finish(run)
    assert (rerun.status("clean", "1"), rerun.version("clean", "1")) == ("READY", 2)
    assert rerun.present("to_report", "1") == [(1, 1)]
    rerun.take("to_report", "1")


def test_a_rerun_that_is_staged_leaves_the_chunk_open(rerun: World) -> None:
    rerun.dataset("clean", location="/data/clean/{run_id}")
    rerun.take("to_clean")
    rerun.take("to_report", "1")


def test_the_first_run_in_place_has_nothing_to_close(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.dataset("clean", location="/data/clean")
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    assert (world.version("clean", "1"), world.state("to_report", "1")) == (0, "")


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.INVALID, RunOutcome.INTERRUPTED])
def test_a_rerun_that_fails_after_it_began_to_write_leaves_the_chunk_closed(
    rerun: World, outcome: RunOutcome
) -> None:
    rerun.do("to_clean", outcome=outcome)
    assert not rerun.claim("to_report")
    rerun.mark("to_clean", "1", WorkState.FAILED)
    rerun.resubmit("to_clean", "1")
    rerun.do("to_clean")
    rerun.take("to_report", "1")


def test_a_rerun_that_never_started_its_command_opens_the_chunk_again(rerun: World) -> None:
    rerun.do("to_clean", outcome=RunOutcome.RETURNED, delay_seconds=30, untouched=True)
    assert rerun.present("to_report", "1") == [(1, 1)]
    assert rerun.take("to_report", "1").pins[0].version == 1


def test_a_rerun_that_never_started_does_not_open_what_an_earlier_one_began_to_write(rerun: World) -> None:
    rerun.do("to_clean", outcome=RunOutcome.INTERRUPTED)
    rerun.do("to_clean", outcome=RunOutcome.RETURNED, delay_seconds=30, untouched=True)
    assert not rerun.claim("to_report")
    assert rerun.present("to_report", "1") == [(1, 0)]
    rerun.advance(30)
    rerun.do("to_clean")
    assert rerun.present("to_report", "1") == [(1, 1)]


def test_a_rerun_that_dies_leaves_the_chunk_closed(rerun: World) -> None:
    rerun.take("to_clean")
    rerun.advance(LEASE_SECONDS)
    rerun.do("to_clean", outcome=RunOutcome.RETURNED, delay_seconds=30, untouched=True)
    assert not rerun.claim("to_report")
    rerun.advance(30)
    rerun.do("to_clean")
    rerun.take("to_report", "1")


def test_marking_the_chunk_ready_manually_opens_it(rerun: World) -> None:
    rerun.do("to_clean", outcome=RunOutcome.FAILED)
    assert rerun.ready("clean", "1") == 1
    assert rerun.present("to_report", "1") == [(1, 1)]


def test_a_withdrawn_chunk_is_counted_as_lost_once(rerun: World) -> None:
    rerun.withdraw("clean", "1")
    run = rerun.take("to_clean")
    assert rerun.present("to_report", "1") == [(1, 0)]
    rerun.finish(run)
    assert rerun.present("to_report", "1") == [(1, 1)]


def test_a_stale_chunk_is_counted_as_lost_once(rerun: World) -> None:
    rerun.ready("raw", "1", again=True)
    run = rerun.take("to_clean")
    assert rerun.present("to_report", "1") == [(1, 0)]
    rerun.finish(run, RunOutcome.RETURNED, untouched=True)
    assert rerun.present("to_report", "1") == [(1, 0)]
    rerun.do("to_clean")
    assert rerun.present("to_report", "1") == [(1, 1)]


def test_a_chunk_that_becomes_stale_while_it_is_overwritten_is_counted_as_lost_once(rerun: World) -> None:
    run = rerun.take("to_clean")
    rerun.ready("raw", "1", again=True)
    assert rerun.present("to_report", "1") == [(1, 0)]
    rerun.finish(run)
    rerun.do("to_clean")
    assert rerun.present("to_report", "1") == [(1, 1)]


def test_withdrawing_a_chunk_that_is_being_overwritten_counts_once(rerun: World) -> None:
    run = rerun.take("to_clean")
    assert rerun.withdraw("clean", "1") == 1
    assert rerun.present("to_report", "1") == [(1, 0)]
    rerun.finish(run, RunOutcome.RETURNED, untouched=True)
    assert rerun.present("to_report", "1") == [(1, 0)]


def test_a_reader_and_a_writer_in_place_see_each_other_after_both_have_claimed(rerun: World) -> None:
    reader = rerun.take("to_report")
    writer = rerun.take("to_clean")
    assert writer.replaces[0].readers == (reader.run_id,)
    assert rerun.store.refresh(rerun.plan("to_report"), reader).pins[0].dirty_run_id == writer.run_id
    rerun.finish(reader)
    assert rerun.store.refresh(rerun.plan("to_clean"), writer).replaces[0].readers == ()


def test_an_output_made_from_a_chunk_that_was_being_overwritten_is_stale(rerun: World) -> None:
    reader = rerun.take("to_report")
    rerun.take("to_clean")
    assert rerun.finish(reader) is WorkState.WAITING
    assert rerun.status("report", "1") == "STALE"


def test_a_chunk_that_opens_again_does_not_disturb_the_run_that_reads_it(rerun: World) -> None:
    reader = rerun.take("to_report")
    rerun.do("to_clean", outcome=RunOutcome.RETURNED, untouched=True)
    assert rerun.state("to_report", "1") == "RUNNING"
    assert rerun.finish(reader) is WorkState.DONE


def test_a_run_is_not_listed_as_a_reader_of_what_it_overwrites(world: World) -> None:
    world.dataset("raw", location="")
    world.job("touch", ["raw"], ["raw"])
    world.ready("raw", "1")
    assert world.take("touch").replaces[0].readers == ()


def test_a_dead_reader_blocks_nothing(rerun: World) -> None:
    rerun.take("to_report")
    rerun.advance(LEASE_SECONDS)
    assert rerun.take("to_clean").replaces[0].readers == ()
