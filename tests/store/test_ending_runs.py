"""A revoked run may be alive until its lease ends or it reports its end; nothing else starts until then."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow import errors
from dataflow.model.records import Run
from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import LEASE_SECONDS, World

DAYS = ["2026-08-01", "2026-08-02"]


def make_revoked(world: World, **fields: Any) -> Run:
    """A cancelled run of to_clean/1 that has not yet reported its end."""
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean", **fields)
    world.cancel(run)
    return run


def make_ordered(world: World) -> Run:
    """A live run of the second day; the first day must run again."""
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS)
    world.do("to_sums", DAYS[0])
    run = world.take("to_sums", DAYS[1])
    world.ready("days", DAYS[0], again=True)
    return run


def test_an_ordered_job_starts_nothing_during_a_live_run(world: World) -> None:
    run = make_ordered(world)
    assert not world.claim("to_sums")
    assert not world.claim("to_sums", dataid=DAYS[0])
    with pytest.raises(errors.Conflict, match="to_sums runs 1 at a time"):
        world.force("to_sums", DAYS[0])
    world.finish(run)
    assert world.drain("to_sums") == DAYS[:1]


def test_an_ordered_job_starts_nothing_while_a_run_is_still_ending(world: World) -> None:
    run = make_ordered(world)
    world.cancel(run)
    assert not world.claim("to_sums")
    world.store.acknowledge(run.run_id, "first")
    world.take("to_sums", DAYS[0])


def test_an_ordered_job_waits_for_work_that_may_outlive_its_process(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS)
    world.do("to_sums", DAYS[0])
    run = world.take("to_sums", DAYS[1], has_kill_command=True)
    world.resubmit("to_sums", DAYS[0])
    world.advance(LEASE_SECONDS)
    assert not world.claim("to_sums")
    world.take("to_sums", DAYS[0], killed=(run.run_id,))


def test_an_ordered_job_waits_for_work_that_may_outlive_a_revoked_run(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS)
    world.do("to_sums", DAYS[0])
    run = world.take("to_sums", DAYS[1], has_kill_command=True)
    world.cancel(run)
    world.resubmit("to_sums", DAYS[0])
    world.advance(LEASE_SECONDS)
    assert not world.claim("to_sums")
    world.take("to_sums", DAYS[0], killed=(run.run_id,))


def test_a_revoked_run_counts_against_the_limit_until_it_has_ended(world: World) -> None:
    world.chain("raw", "clean", max_running=1)
    world.ready("raw", "1", "2")
    run = world.take("to_clean", "1")
    world.cancel(run)
    assert not world.claim("to_clean")
    world.advance(LEASE_SECONDS)
    world.take("to_clean", "2")


def test_a_revoked_run_reads_until_it_has_ended(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("raw", location="")
    world.job("to_raw", [], ["raw"])
    world.ready("raw", "1")
    reader = world.take("to_clean")
    world.cancel(reader)
    writer = world.force("to_raw", "1")
    assert writer.replaces[0].readers == (reader.run_id,)
    world.store.acknowledge(reader.run_id, "first")
    assert world.store.refresh(world.plan("to_raw"), writer).replaces[0].readers == ()


def test_a_revoked_run_reads_a_shared_location_until_it_has_ended(world: World) -> None:
    world.chain("raw", "table", "report")
    world.dataset("table", mode="snapshot", location="/data/table")
    world.ready("raw", "9")
    world.do("to_table", "9")
    reader = world.take("to_report", "9")
    world.cancel(reader)
    world.ready("raw", "10")
    writer = world.take("to_table", "10")
    assert writer.replaces[0].readers == (reader.run_id,)
    world.store.acknowledge(reader.run_id, "first")
    assert world.store.refresh(world.plan("to_table"), writer).replaces[0].readers == ()


def test_a_job_is_not_removed_while_a_run_is_still_ending(world: World) -> None:
    run = make_revoked(world)
    with pytest.raises(
        errors.Conflict, match=rf"run {run.run_id} was cancelled and may still be .* Wait 30\d s"
    ):
        world.remove_job("to_clean")
    world.advance(LEASE_SECONDS)
    world.remove_job("to_clean")


def test_outputs_do_not_change_while_a_run_is_still_ending(world: World) -> None:
    run = make_revoked(world)
    world.dataset("other")
    with pytest.raises(errors.Conflict, match=rf"cannot change now: run {run.run_id} was cancelled"):
        world.job("to_clean", ["raw"], ["other"])
    world.store.acknowledge(run.run_id, "first")
    world.job("to_clean", ["raw"], ["other"])


def test_a_wait_for_a_revoked_run_ends_no_sooner_than_the_run(world: World) -> None:
    make_revoked(world)
    world.resubmit("to_clean", "1")
    world.poke("UPDATE work SET not_before = not_before - 1000")
    assert not world.claim("to_clean")
    world.advance(LEASE_SECONDS)
    world.take("to_clean", "1")


def test_work_that_may_outlive_a_revoked_run_is_waited_for_until_it_is_killed(world: World) -> None:
    run = make_revoked(world, has_kill_command=True)
    assert world.store.list_lapsed(run.job_id, ()) == []
    world.resubmit("to_clean", "1")
    world.advance(LEASE_SECONDS)
    assert [item.run_id for item in world.store.list_lapsed(run.job_id, ())] == [run.run_id]
    assert not world.claim("to_clean")
    with pytest.raises(errors.Conflict, match=r"RunJob --kill-command COMMAND SCRIPT$"):
        world.force("to_clean", "1")
    with pytest.raises(errors.Conflict, match=r"RunJob --kill-command COMMAND SCRIPT$"):
        world.remove_job("to_clean")
    world.take("to_clean", "1", killed=(run.run_id,))
    assert world.store.list_lapsed(run.job_id, ()) == []


def test_work_that_may_outlive_a_revoked_run_is_waited_for_after_a_reboot(world: World) -> None:
    run = make_revoked(world, has_kill_command=True)
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    world.resubmit("to_clean", "1")
    assert not world.claim("to_clean")
    assert [item.run_id for item in world.store.list_lapsed(run.job_id, ())] == [run.run_id]


def test_a_revoked_run_whose_process_is_dead_can_be_killed_at_once(world: World) -> None:
    run = make_revoked(world, has_kill_command=True)
    assert [item.run_id for item in world.store.list_lapsed(run.job_id, ["first"])] == [run.run_id]


def test_work_is_claimed_as_soon_as_what_outlived_its_revoked_run_is_killed(world: World) -> None:
    run = make_revoked(world, has_kill_command=True)
    world.resubmit("to_clean", "1")
    assert not world.claim("to_clean", claimant="second")
    world.take("to_clean", "1", claimant="second", dead=("first",), killed=(run.run_id,))


def test_a_revoked_run_that_ran_its_own_kill_command_is_not_waited_for(world: World) -> None:
    run = make_revoked(world, has_kill_command=True)
    world.store.acknowledge(run.run_id, "first")
    world.resubmit("to_clean", "1")
    world.take("to_clean", "1")


def test_only_a_revoked_run_is_ended_by_reporting_it_killed(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean", has_kill_command=True)
    assert not world.claim("to_clean", killed=(run.run_id,))
    assert world.renew(run) == {run.run_id}
    assert world.finish(run, RunOutcome.DONE) is WorkState.DONE


def make_rerun(world: World) -> Run:
    """A live run that overwrites the published clean/1 in place; report reads it."""
    world.chain("raw", "clean", "report")
    world.dataset("clean", location="/data/clean")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    return world.take("to_clean")


def test_a_chunk_cannot_be_marked_good_while_a_run_may_be_writing_it(world: World) -> None:
    run = make_rerun(world)
    for _ in range(2):
        with pytest.raises(errors.Conflict, match=rf"Run {run.run_id} of to_clean/1 .* may be writing it"):
            world.mark("to_clean", "1", WorkState.DONE)
        with pytest.raises(errors.Conflict, match=rf"Run {run.run_id} of to_clean/1 .* may be writing it"):
            world.ready("clean", "1")
        assert not world.claim("to_report")
        if world.outcome(run) == "RUNNING":
            world.cancel(run)
    world.store.acknowledge(run.run_id, "first")
    assert world.ready("clean", "1") == 1
    world.mark("to_clean", "1", WorkState.DONE)
    world.take("to_report", "1")


def test_other_chunks_can_be_marked_good_during_a_run(world: World) -> None:
    make_rerun(world)
    assert world.ready("clean", "2") == 1
    assert world.ready("raw", "1", again=True) == 1


def test_a_staged_output_that_failed_its_check_cannot_be_marked_ready(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    first = world.do("to_clean")
    world.resubmit("to_clean", "1")
    world.do("to_clean", outcome=RunOutcome.INVALID)
    with pytest.raises(errors.Conflict, match=r"is not recorded: .* dataflow resubmit to_clean 1$"):
        world.mark("to_clean", "1", WorkState.DONE)
    assert world.state("to_clean", "1") == "INVALID"
    assert [chunk.location for chunk in world.chunks("clean")] == [f"/data/clean/{first.run_id}"]


def test_a_chunk_marked_invalid_can_be_marked_ready_repeatedly(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.do("to_clean")
    for _ in range(2):
        world.mark("to_clean", "1", WorkState.INVALID)
        world.mark("to_clean", "1", WorkState.DONE)
    assert [chunk.location for chunk in world.chunks("clean")] == [f"/data/clean/{run.run_id}"]
