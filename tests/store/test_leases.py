"""Leases: who may renew and finish, what happens to work whose run is dead, and when it finally fails."""

from __future__ import annotations

import time

import pytest

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.records import Run
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store import leases as store_leases
from dataflow.store.leases import FEW_RUNS, Taken
from tests.store.world import LEASE_SECONDS, World, make_request


def make_run(world: World) -> Run:
    """A live run of to_clean/1."""
    world.chain("raw", "clean")
    world.ready("raw", "1")
    return world.take("to_clean")


@pytest.fixture
def run(world: World) -> Run:
    return make_run(world)


def test_a_live_run_belongs_to_its_claimant_alone(world: World, run: Run) -> None:
    world.advance(LEASE_SECONDS - 10)
    assert not world.claim("to_clean", claimant="second")
    assert world.outcome(run) == "RUNNING"


def test_a_renewed_lease_runs_from_the_renewal(world: World, run: Run) -> None:
    world.advance(LEASE_SECONDS - 10)
    assert world.renew(run) == {run.run_id}
    world.advance(LEASE_SECONDS - 10)
    assert not world.claim("to_clean", claimant="second")
    assert world.finish(run) is WorkState.DONE


def test_a_lapsed_lease_is_freed_by_the_next_claim(world: World, run: Run) -> None:
    world.advance(LEASE_SECONDS)
    second = world.take("to_clean", claimant="second")
    assert (second.dataid, second.attempt) == ("1", 2)
    assert second.run_id > run.run_id
    assert (world.outcome(run), world.outcome(second)) == ("LOST", "RUNNING")


def test_a_lapsed_lease_cannot_be_renewed_even_if_the_work_is_unclaimed(world: World, run: Run) -> None:
    world.advance(LEASE_SECONDS)
    assert world.renew(run) == set()


def test_an_ended_run_cannot_be_renewed(world: World, run: Run) -> None:
    world.finish(run)
    assert world.renew(run) == set()


def test_a_run_is_renewed_only_by_its_claimant(world: World, run: Run) -> None:
    assert world.renew(run, claimant="second") == set()
    assert world.store.list_held("second", [run.run_id]) == set()
    assert world.store.list_held("first", [run.run_id]) == {run.run_id}


def test_a_renewal_names_the_runs_that_are_still_held(world: World, run: Run) -> None:
    world.ready("raw", "2", "3")
    cancelled, other = world.claim("to_clean", 2)
    world.cancel(cancelled)
    assert world.renew(run, cancelled, other) == {run.run_id, other.run_id}
    assert world.store.list_held("first", [cancelled.run_id, other.run_id]) == {other.run_id}


def test_a_lapsed_run_may_not_finish(world: World, run: Run) -> None:
    world.advance(LEASE_SECONDS)
    with pytest.raises(errors.LeaseLost, match="let its lease lapse"):
        world.finish(run)
    assert (world.state("to_clean", "1"), world.version("clean", "1")) == ("RUNNING", 0)


def test_a_run_finishes_once(world: World, run: Run) -> None:
    world.finish(run)
    for outcome in (RunOutcome.DONE, RunOutcome.FAILED):
        with pytest.raises(errors.LeaseLost, match="has ended as DONE"):
            world.finish(run, outcome)
    assert (world.state("to_clean", "1"), world.version("clean", "1")) == ("DONE", 1)


def test_a_run_is_finished_only_by_its_claimant(world: World, run: Run) -> None:
    with pytest.raises(errors.LeaseLost):
        world.finish(replace(run, claimant="second"))
    assert (world.state("to_clean", "1"), world.version("clean", "1")) == ("RUNNING", 0)


def test_a_run_of_another_store_may_not_finish(world: World, run: Run) -> None:
    with pytest.raises(errors.LeaseLost, match="is no longer in this store"):
        world.finish(replace(run, run_id=run.run_id + 1000))


@pytest.mark.parametrize("second_has_ended", [False, True])
def test_a_run_whose_work_was_taken_over_can_neither_renew_nor_finish(
    world: World, run: Run, second_has_ended: bool
) -> None:
    world.advance(LEASE_SECONDS)
    second = world.take("to_clean", claimant="second")
    if second_has_ended:
        world.finish(second)
    assert world.renew(run) == set()
    with pytest.raises(errors.LeaseLost, match="has ended as LOST"):
        world.finish(run)
    if not second_has_ended:
        assert (world.state("to_clean", "1"), world.version("clean", "1")) == ("RUNNING", 0)
        world.finish(second)
    assert (world.state("to_clean", "1"), world.version("clean", "1")) == ("DONE", 1)
    assert world.select("SELECT run_id FROM chunk WHERE run_id IS NOT NULL") == [(second.run_id,)]


def test_a_dead_process_is_noticed_at_once(world: World, run: Run) -> None:
    assert world.store.list_claimants(run.job_id, "etl1", "boot-1", "second") == ["first"]
    assert world.store.list_claimants(run.job_id, "etl1", "boot-1", "first") == []
    assert world.store.list_claimants(run.job_id, "etl2", "boot-1", "second") == []
    assert world.store.list_claimants(run.job_id, "etl1", "boot-2", "second") == []
    second = world.take("to_clean", claimant="second", dead=("first",))
    assert (world.outcome(run), second.attempt) == ("LOST", 2)
    assert world.store.list_claimants(run.job_id, "etl1", "boot-1", "third") == ["second"]


def test_the_death_of_one_process_does_not_affect_the_runs_of_another(world: World, run: Run) -> None:
    assert not world.claim("to_clean", claimant="second", dead=("third",))
    assert world.outcome(run) == "RUNNING"


def test_a_reboot_loses_the_runs_of_the_machine(world: World, run: Run) -> None:
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    assert world.renew(run) == set()
    with pytest.raises(errors.LeaseLost):
        world.finish(run)
    world.take("to_clean", claimant="second")
    assert world.outcome(run) == "LOST"


def test_a_run_of_the_previous_boot_neither_counts_nor_reads(world: World) -> None:
    world.chain("raw", "clean", max_running=1)
    world.dataset("raw", location="")
    world.job("to_raw", [], ["raw"])
    world.ready("raw", "1", "2")
    world.take("to_clean", has_kill_command=True)
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    assert world.force("to_raw", "1").replaces[0].readers == ()
    assert [chunk.readers for chunk in world.chunks("raw")] == [(), ()]
    world.take("to_clean", "2")


def test_a_revoked_run_of_the_previous_boot_is_not_waited_for(world: World, run: Run) -> None:
    world.cancel(run)
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    world.resubmit("to_clean", "1")
    assert world.state("to_clean", "1") == "CLAIMABLE"
    world.cancel(world.take("to_clean"))
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    world.ready("raw", "1", again=True)
    assert world.state("to_clean", "1") == "CLAIMABLE"


def test_a_run_with_a_kill_command_is_freed_only_after_the_command_has_run(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean", has_kill_command=True)
    world.advance(LEASE_SECONDS)
    assert [item.run_id for item in world.store.list_lapsed(run.job_id, ())] == [run.run_id]
    assert not world.claim("to_clean", claimant="second", has_kill_command=True)
    assert not world.claim("to_clean", claimant="second", killed=(run.run_id + 1,))
    world.take("to_clean", claimant="second", killed=(run.run_id,))
    assert world.outcome(run) == "LOST"


def test_reporting_a_live_run_killed_does_not_free_it(world: World, run: Run) -> None:
    assert not world.claim("to_clean", claimant="second", killed=(run.run_id,))
    assert world.renew(run) == {run.run_id}


def test_work_whose_runs_keep_dying_backs_off_and_finally_fails(world: World) -> None:
    world.chain("raw", "clean", retries=3, max_crashes=10)
    world.ready("raw", "1")
    for loss, wait in enumerate([0, 10, 20, 40, 80, 160, 320, 600, 600], start=1):
        world.take("to_clean")
        world.advance(LEASE_SECONDS)
        assert world.claim("to_clean", dataid="nothing") == ()
        work = world.work("to_clean", "1")
        assert (work.losses, work.attempts) == (loss, 0)
        assert work.state is (WorkState.WAITING if wait else WorkState.CLAIMABLE)
        assert (work.wait_seconds or 0) == pytest.approx(wait, abs=5)
        world.advance(wait)
    world.take("to_clean")
    world.advance(LEASE_SECONDS)
    assert not world.claim("to_clean")
    work = world.work("to_clean", "1")
    assert (work.state, work.losses) == (WorkState.FAILED, 10)


def test_a_lost_run_whose_input_was_withdrawn_leaves_the_work_waiting_for_it(world: World, run: Run) -> None:
    world.withdraw("raw", "1")
    world.advance(LEASE_SECONDS)
    assert not world.claim("to_clean")
    assert world.state("to_clean", "1") == "WAITING"
    world.ready("raw", "1")
    world.take("to_clean", "1")


def test_run_ids_only_grow(world: World, run: Run) -> None:
    world.finish(run, RunOutcome.INTERRUPTED)
    second = world.take("to_clean")
    world.advance(LEASE_SECONDS)
    third = world.take("to_clean")
    assert run.run_id < second.run_id < third.run_id == world.work("to_clean", "1").run_id


def test_a_deleted_run_id_is_not_reused(world: World, run: Run) -> None:
    world.finish(run)
    world.poke("DELETE FROM run_input")
    world.poke("DELETE FROM run")
    world.resubmit("to_clean", "1")
    assert world.take("to_clean").run_id > run.run_id


def test_postgresql_judges_a_lease_by_its_own_clock(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    request = replace(make_request(), lease_seconds=0.2)
    (run,) = world.store.claim(world.plan("to_clean"), request).runs
    assert world.renew(run) == {run.run_id}
    while (world.store.read.list_runs()[0].lease_left_seconds or 0) > 0:
        time.sleep(0.01)
    assert world.renew(run) == set()
    world.take("to_clean", claimant="second")


def test_a_store_clock_that_jumps_back_does_not_prolong_a_lease(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.take("to_clean")
    world.advance(-5000)
    assert world.claim("to_clean", claimant="second") == ()
    world.advance(LEASE_SECONDS - 1)
    assert world.claim("to_clean", claimant="second") == ()
    world.advance(2)
    world.take("to_clean", "1", claimant="second")


def test_a_lapsed_lease_does_not_prolong_the_wait_of_other_work(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=60.0)
    world.ready("raw", "1", "2")
    world.do("to_clean", "1", RunOutcome.FAILED)
    world.take("to_clean", "2", lease_seconds=10.0)
    world.advance(11)
    world.take("to_clean", "2", claimant="second")
    world.advance(62)
    world.take("to_clean", "1")


def test_a_store_clock_that_jumps_back_does_not_prolong_a_wait(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=700.0)
    world.ready("raw", "1")
    world.do("to_clean", "1", RunOutcome.FAILED)
    world.advance(-5000)
    assert world.claim("to_clean") == ()
    longest = 1.2 * 700  # with its jitter
    world.advance(longest - 1)
    assert world.claim("to_clean") == ()
    world.advance(2)
    world.take("to_clean", "1")


def test_a_store_clock_that_jumps_back_does_not_prolong_the_end_of_a_revoked_run(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.cancel(world.take("to_clean"))
    world.resubmit("to_clean", "1")
    world.advance(-5000)
    assert world.claim("to_clean") == ()
    world.advance(601)
    world.take("to_clean", "1")


@pytest.mark.parametrize("few", [FEW_RUNS, 0])
def test_a_run_learns_which_runs_on_its_machine_lost_the_same_work(
    world: World, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(store_leases, "FEW_RUNS", few)
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    done = world.do("to_clean", "1")
    other = world.take("to_clean", "2")
    world.cancel(other)
    world.resubmit("to_clean", "1")
    lost = world.take("to_clean", "1")
    world.advance(LEASE_SECONDS)
    run = world.take("to_clean", "1", claimant="second")

    def list_taken(alone: bool = False, host: str = "etl1", boot_id: str = "boot-1") -> list[int]:
        taken = Taken(run.run_id, run.job_id, run.work_id, host, boot_id, alone)
        working = {done.run_id, other.run_id, lost.run_id, run.run_id}
        return sorted(run_id for run_id, _ in world.store.list_taken(taken, lambda: working))

    assert list_taken() == [lost.run_id]
    assert list_taken(alone=True) == [other.run_id, lost.run_id]
    assert list_taken(host="etl2") == list_taken(boot_id="boot-2") == []
