"""An operator's moves: resubmit, hold, release, mark, cancel, purge."""

from __future__ import annotations

import pytest

from dataflow import errors
from dataflow.model.records import Run
from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import LEASE_SECONDS, World

DONE, FAILED, INVALID = WorkState.DONE, WorkState.FAILED, WorkState.INVALID


def make_run(world: World) -> Run:
    """A live run of to_clean/1 in raw → clean → report."""
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    return world.take("to_clean")


@pytest.fixture
def run(world: World) -> Run:
    return make_run(world)


@pytest.mark.parametrize("outcome", [RunOutcome.DONE, RunOutcome.FAILED, RunOutcome.INVALID])
def test_resubmitted_work_is_done_again_by_the_ordinary_command(
    world: World, run: Run, outcome: RunOutcome
) -> None:
    world.finish(run, outcome)
    assert world.resubmit("to_clean", "1") == 1
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("CLAIMABLE", "RESUBMIT")
    again = world.take("to_clean", "1")
    assert again.attempt == 1
    world.finish(again)
    assert world.status("clean", "1") == "READY"


def test_the_published_version_stays_readable_until_the_resubmitted_work_is_done(
    world: World, run: Run
) -> None:
    world.finish(run)
    world.resubmit("to_clean", "1")
    assert world.take("to_report").pins[0].version == 1


def test_resubmitting_ends_a_wait(world: World) -> None:
    world.chain("raw", "clean", retries=1)
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    assert not world.claim("to_clean")
    world.resubmit("to_clean", "1")
    assert (world.work("to_clean", "1").attempts, world.take("to_clean").attempt) == (0, 1)


def test_resubmitted_work_whose_input_was_withdrawn_waits_for_it(world: World, run: Run) -> None:
    world.finish(run)
    world.withdraw("raw", "1")
    world.resubmit("to_clean", "1")
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("WAITING", "RESUBMIT")
    world.ready("raw", "1")
    world.take("to_clean", "1")


def test_running_work_and_the_work_named_with_it_are_not_resubmitted(world: World, run: Run) -> None:
    world.ready("raw", "2")
    world.do("to_clean", "2")
    with pytest.raises(errors.Conflict, match=f"to_clean/1 is RUNNING under run {run.run_id}"):
        world.resubmit("to_clean", "1", "2")
    assert world.states("to_clean") == {"1": "RUNNING", "2": "DONE"}
    assert not world.journal("resubmit")


def test_unknown_work_and_the_work_named_with_it_are_refused(world: World, run: Run) -> None:
    world.finish(run)
    for verb in (world.resubmit, world.hold):
        with pytest.raises(errors.UnknownName, match="Job to_clean has no work 7; nothing was changed"):
            verb("to_clean", "1", "7")
    with pytest.raises(errors.UnknownName):
        world.mark("to_clean", "7", DONE)
    assert world.states("to_clean") == {"1": "DONE"}
    assert not world.work("to_clean", "1").hold


def test_a_job_on_hold_cannot_be_claimed(world: World, run: Run) -> None:
    world.finish(run, RunOutcome.INTERRUPTED)
    assert (world.hold("to_clean"), world.hold("to_clean")) == (1, 0)
    assert not world.claim("to_clean")
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("CLAIMABLE", "HOLD")
    assert (world.release("to_clean"), world.release("to_clean")) == (1, 0)
    world.take("to_clean", "1")


def test_a_job_on_hold_still_frees_dead_runs(world: World, run: Run) -> None:
    world.hold("to_clean")
    world.advance(LEASE_SECONDS)
    assert not world.claim("to_clean")
    assert world.outcome(run) == "LOST"


def test_work_on_hold_is_skipped(world: World, run: Run) -> None:
    world.ready("raw", "2", "3")
    assert world.hold("to_clean", "2") == 1
    assert world.status("clean", "2") == "HOLD"
    world.take("to_clean", "3")
    assert not world.claim("to_clean")
    assert world.release("to_clean", "2") == 1
    world.take("to_clean", "2")


def test_holding_what_is_held_changes_nothing(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    assert (world.hold("to_clean", "1"), world.hold("to_clean", "1", "2")) == (1, 1)
    assert (world.release("to_clean", "1", "2"), world.release("to_clean", "1")) == (2, 0)


def test_a_hold_does_not_disturb_the_run(world: World, run: Run) -> None:
    world.hold("to_clean", "1")
    assert world.status("clean", "1") == "RUNNING"
    assert world.renew(run) == {run.run_id}
    world.finish(run)
    assert world.status("clean", "1") == "READY"


def test_a_hold_outlives_a_finish(world: World, run: Run) -> None:
    world.hold("to_clean", "1")
    world.finish(run, RunOutcome.INTERRUPTED)
    assert not world.claim("to_clean")


@pytest.mark.parametrize(
    "before", [RunOutcome.DONE, RunOutcome.FAILED, RunOutcome.INVALID, RunOutcome.INTERRUPTED]
)
def test_work_marked_done_counts_as_published(world: World, run: Run, before: RunOutcome) -> None:
    world.poke("UPDATE dataset SET location = '/data/clean' WHERE name = 'clean'")
    found = world.finish(run, before)
    assert world.mark("to_clean", "1", DONE) == found
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("DONE", "READY")
    assert not world.claim("to_clean")
    assert world.present("to_report", "1") == [(1, 1)]


def test_work_marked_invalid_is_withdrawn(world: World, run: Run) -> None:
    world.finish(run)
    assert world.mark("to_clean", "1", INVALID) == DONE
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("INVALID", "INVALID")
    assert world.present("to_report", "1") == [(1, 0)]
    assert not world.claim("to_report")


def test_work_marked_failed_keeps_what_is_published(world: World, run: Run) -> None:
    world.finish(run)
    assert world.mark("to_clean", "1", FAILED) == DONE
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("FAILED", "FAILED")
    assert world.take("to_report").pins[0].version == 1


@pytest.mark.parametrize("state", [FAILED, INVALID])
def test_marking_running_work_takes_it_from_its_run(world: World, run: Run, state: WorkState) -> None:
    assert world.mark("to_clean", "1", state) == WorkState.RUNNING
    assert (world.state("to_clean", "1"), world.outcome(run)) == (state, "CANCELLED")
    assert world.renew(run) == set()
    with pytest.raises(errors.LeaseLost, match="has ended as CANCELLED"):
        world.finish(run)
    assert world.version("clean", "1") == 0


def test_a_cancelled_run_loses_its_work(world: World, run: Run) -> None:
    answer = world.cancel(run)
    assert (answer["run_id"], answer["job"], answer["dataid"], answer["host"]) == (
        run.run_id,
        "to_clean",
        "1",
        "etl1",
    )
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("FAILED", "FAILED")
    assert world.renew(run) == set()
    with pytest.raises(errors.LeaseLost, match="cancelled by op@desk: stop"):
        world.finish(run)
    assert not world.claim("to_clean")


def test_an_ended_or_unknown_run_cannot_be_cancelled(world: World, run: Run) -> None:
    world.finish(run)
    with pytest.raises(errors.Conflict, match=f"Run {run.run_id} has already ended as DONE"):
        world.cancel(run)
    with pytest.raises(errors.UnknownName, match="No run 999"):
        world.store.cancel(999, "")
    assert world.state("to_clean", "1") == "DONE"


def test_cancelled_and_resubmitted_work_waits_until_the_old_run_has_certainly_ended(
    world: World, run: Run
) -> None:
    world.advance(100)
    world.cancel(run)
    world.resubmit("to_clean", "1")
    assert world.work("to_clean", "1").wait_seconds == pytest.approx(LEASE_SECONDS - 100, abs=5)
    assert not world.claim("to_clean")
    world.advance(LEASE_SECONDS - 100)
    world.take("to_clean", "1")


def test_a_revoked_run_that_reports_its_end_ends_the_wait(world: World, run: Run) -> None:
    world.cancel(run)
    world.resubmit("to_clean", "1")
    world.store.acknowledge(run.run_id, "second")
    assert not world.claim("to_clean")
    world.store.acknowledge(run.run_id, "first")
    world.take("to_clean", "1")


def test_a_revoked_run_that_ended_before_the_resubmit_is_not_waited_for(world: World, run: Run) -> None:
    world.cancel(run)
    world.store.acknowledge(run.run_id, "first")
    world.resubmit("to_clean", "1")
    assert world.state("to_clean", "1") == "CLAIMABLE"
    world.ready("raw", "2")
    other = world.take("to_clean", "1")
    world.cancel(other)
    world.advance(LEASE_SECONDS)
    world.ready("raw", "1", again=True)
    assert world.state("to_clean", "1") == "CLAIMABLE"


def test_acknowledging_does_not_affect_a_later_or_live_run(world: World, run: Run) -> None:
    world.store.acknowledge(run.run_id, "first")
    assert world.renew(run) == {run.run_id}
    world.cancel(run)
    world.resubmit("to_clean", "1")
    world.advance(LEASE_SECONDS)
    world.do("to_clean", outcome=RunOutcome.RETURNED, delay_seconds=30)
    world.store.acknowledge(run.run_id, "first")
    assert not world.claim("to_clean")


def test_the_end_of_a_revoked_run_does_not_replace_a_missing_input(world: World, run: Run) -> None:
    world.cancel(run)
    world.resubmit("to_clean", "1")
    world.withdraw("raw", "1")
    world.store.acknowledge(run.run_id, "first")
    assert world.state("to_clean", "1") == "WAITING"
    world.ready("raw", "1")
    world.take("to_clean", "1")


def test_a_newer_input_does_not_start_a_run_while_a_revoked_one_may_be_alive(world: World, run: Run) -> None:
    world.cancel(run)
    world.ready("raw", "1", again=True)
    assert world.state("to_clean", "1") == "WAITING"
    assert not world.claim("to_clean")
    world.advance(LEASE_SECONDS)
    world.take("to_clean", "1")


def test_cancelled_work_that_is_not_resubmitted_stays_failed(world: World, run: Run) -> None:
    world.cancel(run)
    world.store.acknowledge(run.run_id, "first")
    world.advance(10_000)
    assert not world.claim("to_clean")
    assert world.state("to_clean", "1") == "FAILED"


def test_purging_deletes_old_history_and_keeps_what_current_state_refers_to(world: World, run: Run) -> None:
    world.finish(run, RunOutcome.INTERRUPTED)
    last = world.do("to_clean")
    reader = world.take("to_report")
    later = "2999-01-01T00:00:00Z"
    assert world.store.purge("1999-01-01T00:00:00Z") == 0
    assert world.store.purge(later) > 0
    assert [row.run_id for row in world.store.read.list_runs()] == [reader.run_id, last.run_id]
    assert {row[0] for row in world.select("SELECT run_id FROM run_input")} == {reader.run_id, last.run_id}
    assert not world.journal()
    assert world.finish(reader) is DONE


def test_purging_keeps_the_last_run_of_work_that_published_nothing(world: World, run: Run) -> None:
    world.finish(run, RunOutcome.FAILED)
    world.store.purge("2999-01-01T00:00:00Z")
    assert [row.run_id for row in world.store.read.list_runs()] == [run.run_id]


def test_purging_keeps_the_run_that_made_what_is_published(world: World, run: Run) -> None:
    world.finish(run)
    world.resubmit("to_clean", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.store.purge("2999-01-01T00:00:00Z")
    assert run.run_id in {row.run_id for row in world.store.read.list_runs()}


def test_purging_keeps_the_pins_of_the_runs_it_keeps(world: World, run: Run) -> None:
    world.finish(run, RunOutcome.FAILED)
    world.resubmit("to_clean", "1")
    last = world.do("to_clean")
    assert world.store.purge("2999-01-01T00:00:00Z") > 0
    assert world.select("SELECT run_id FROM run_input") == [(last.run_id,)]


def test_purging_keeps_the_run_that_left_a_chunk_dirty(world: World, run: Run) -> None:
    world.finish(run)
    world.dataset("clean", location="")
    world.resubmit("to_clean", "1")
    dirty = world.do("to_clean", outcome=RunOutcome.INTERRUPTED)
    world.do("to_clean", outcome=RunOutcome.INTERRUPTED)
    world.store.purge("2999-01-01T00:00:00Z")
    assert dirty.run_id in {row.run_id for row in world.store.read.list_runs()}
