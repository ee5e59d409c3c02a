"""Snapshots that overwrite each other: an older dataid is never published after a newer one."""

from __future__ import annotations

import pytest

from dataflow import errors
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
    # Bypasses the store: a claim returns one at a time, and this is the second line of defence.
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


def test_a_newer_snapshot_that_was_withdrawn_does_not_block(world: World) -> None:
    older, newer = make_two_runs(world)
    world.finish(newer)
    world.withdraw("table", "10")
    assert world.finish(older) is WorkState.DONE


@pytest.mark.parametrize("location", [STAGED, "/data/table/{dataid}", "/data/day={encoded_dataid}"])
def test_staged_snapshots_are_published_in_any_order(world: World, location: str) -> None:
    older, newer = make_two_runs(world, location)
    assert (world.finish(newer), world.finish(older)) == (WorkState.DONE, WorkState.DONE)


def test_a_refused_snapshot_whose_answer_was_lost_is_refused_once(world: World) -> None:
    older, newer = make_two_runs(world)
    world.finish(newer)
    deaf = world.beside(LostAnswer(world.store.database))
    assert deaf.store.finish(world.plan("to_table"), Ending(older, RunOutcome.DONE)) is None
    assert world.state("to_table", "9") == "FAILED"


def test_the_older_of_two_snapshots_that_finish_at_once_is_not_published_last(postgres_world: World) -> None:
    world = postgres_world
    older, newer = make_two_runs(world)
    raced = race(world, lambda w: w.finish(newer), lambda w: w.finish(older))
    assert raced == (WorkState.DONE, WorkState.FAILED, True)
    assert world.version("table", "9") == 0


def make_table(world: World) -> None:
    """raw → table (snapshots in one location) → report, with table/9 published and raw/10 ready."""
    world.chain("raw", "table", "report")
    world.dataset("table", mode="snapshot", location="/data/table")
    world.ready("raw", "9")
    world.do("to_table", "9")
    world.ready("raw", "10")


def test_snapshots_in_one_location_are_made_one_at_a_time(world: World) -> None:
    make_table(world)
    world.ready("raw", "11")
    (run,) = world.claim("to_table", 2)
    assert not world.claim("to_table", claimant="second")
    with pytest.raises(errors.Conflict, match="to_table runs 1 at a time"):
        world.force("to_table", "9")
    world.finish(run)
    world.take("to_table", "11")


def test_a_half_overwritten_snapshot_is_closed_until_one_is_complete(
    world: World,
) -> None:
    make_table(world)
    world.do("to_table", "10", RunOutcome.FAILED)
    assert (world.status("table", "9"), world.present("to_report", "9")) == ("PENDING", [(1, 0)])
    assert not world.claim("to_report")
    world.resubmit("to_table", "10")
    world.do("to_table", "10")
    assert world.drain("to_report") == ["9", "10"]


def test_a_snapshot_whose_run_never_started_leaves_the_location_open(world: World) -> None:
    make_table(world)
    world.do("to_table", "10", RunOutcome.RETURNED, untouched=True)
    world.take("to_report", "9")


def test_an_older_snapshot_in_the_same_location_counts_as_overwritten(world: World) -> None:
    make_table(world)
    world.do("to_table", "10")
    world.ready("raw", "11")
    writer = world.take("to_table", "11")
    assert world.take("to_report", "9").pins[0].dirty_run_id == writer.run_id


def test_a_reader_of_an_older_snapshot_in_the_same_location_is_found(world: World) -> None:
    make_table(world)
    reader = world.take("to_report", "9")
    writer = world.take("to_table", "10")
    assert writer.replaces[0].readers == (reader.run_id,)
    assert world.store.refresh(world.plan("to_report"), reader).pins[0].dirty_run_id == writer.run_id
    world.finish(reader)
    assert world.store.refresh(world.plan("to_table"), writer).replaces[0].readers == ()


@pytest.mark.parametrize(
    "change", [{"location": "/data/other"}, {"mode": "snapshot"}, {"tablename": "other"}]
)
def test_the_location_of_a_dataset_does_not_change_while_a_run_may_be_writing_it(
    world: World, change: dict[str, str]
) -> None:
    world.chain("raw", "clean")
    world.dataset("clean", location="/data/clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    place = {"location": "/data/clean"} | change
    with pytest.raises(
        errors.Conflict, match=rf"location of dataset clean .* now: run {run.run_id} is running"
    ):
        world.dataset("clean", **place)
    world.dataset("clean", location="/data/clean", username="etl")
    world.cancel(run)
    with pytest.raises(errors.Conflict, match=rf"run {run.run_id} was cancelled and may still be ending"):
        world.dataset("clean", **place)
    world.store.acknowledge(run.run_id, "first")
    world.dataset("clean", **place)


def test_a_withdrawn_snapshot_stays_withdrawn_when_its_location_is_complete_again(world: World) -> None:
    make_table(world)
    run = world.take("to_table", "10")
    world.withdraw("table", "9")
    world.finish(run)
    assert world.present("to_report", "9") == [(1, 0)]


def test_a_stale_snapshot_stays_stale_when_its_location_is_complete_again(world: World) -> None:
    make_table(world)
    run = world.take("to_table", "10")
    world.ready("raw", "9", again=True)
    world.finish(run)
    assert (world.status("table", "9"), world.present("to_report", "9")) == ("STALE", [(1, 0)])


def test_a_snapshot_cannot_be_marked_good_while_a_run_may_be_writing_to_its_location(world: World) -> None:
    make_table(world)
    run = world.take("to_table", "10")
    with pytest.raises(errors.Conflict, match=rf"Run {run.run_id} of to_table/10 is RUNNING"):
        world.ready("table", "11")
    with pytest.raises(errors.Conflict, match=rf"Run {run.run_id} of to_table/10 is RUNNING"):
        world.mark("to_table", "9", WorkState.DONE)
    assert (world.version("table", "11"), world.version("table", "9")) == (0, 1)
    world.finish(run)
    assert world.ready("table", "11") == 1


def test_marking_a_snapshot_ready_waits_for_a_claim_that_is_about_to_write_to_its_location(
    postgres_world: World,
) -> None:
    make_table(postgres_world)
    raced = race(postgres_world, lambda w: w.take("to_table", "10"), lambda w: w.ready("table", "11"))
    assert raced.waited
    assert isinstance(raced.second, errors.Conflict)
    assert postgres_world.version("table", "11") == 0


def test_withdrawing_a_half_overwritten_snapshot_opens_no_other(world: World) -> None:
    make_table(world)
    world.do("to_table", "10")
    world.ready("raw", "11")
    writer = world.take("to_table", "11")
    world.finish(writer, RunOutcome.FAILED)
    world.withdraw("table", "10")
    assert world.take("to_report", "9").pins[0].dirty_run_id == writer.run_id


def test_marking_a_snapshot_ready_manually_opens_its_location(world: World) -> None:
    make_table(world)
    world.do("to_table", "10", RunOutcome.FAILED)
    world.ready("table", "11")
    assert {run.dataid: run.pins[0].dirty_run_id for run in world.claim("to_report", 2)} == {
        "9": None,
        "11": None,
    }


def test_an_overwritten_snapshot_names_the_one_that_replaced_it(world: World) -> None:
    make_table(world)
    world.do("to_table", "10")
    found = {run.dataid: run.pins[0].written_over_by for run in world.claim("to_report", 2)}
    assert found == {"9": "10", "10": ""}


def test_a_run_is_not_listed_as_a_reader_of_the_shared_location_it_overwrites(world: World) -> None:
    world.dataset("table", grain="sequence", mode="snapshot", location="/data/table")
    world.dataset("raw", grain="sequence")
    world.job("to_table", ["raw", "table:previous"], ["table"], start="9")
    world.ready("raw", "9", "10")
    world.do("to_table", "9")
    run = world.take("to_table", "10")
    assert [pin.dataid for pin in run.pins] == ["10", "9"]
    assert run.replaces[0].readers == ()


def test_a_run_closes_the_snapshot_that_is_left_after_a_withdrawal(world: World) -> None:
    make_table(world)
    world.do("to_table", "10")
    world.withdraw("table", "10")
    world.ready("raw", "11")
    assert world.present("to_report", "9") == [(1, 1)]
    world.take("to_table", "11")
    assert (world.status("table", "9"), world.present("to_report", "9")) == ("PENDING", [(1, 0)])
