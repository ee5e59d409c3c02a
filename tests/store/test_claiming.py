"""Which work a claim returns, in which order, and how much of it."""

from __future__ import annotations

import pytest

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.records import Claimant, Ending, Run
from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import LEASE_SECONDS, World, make_request


def test_work_is_claimed_in_natural_order(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "10.0", "b", "2.0", "a10", "a9", "1.0")
    assert world.drain("to_clean") == ["1.0", "2.0", "10.0", "a9", "a10", "b"]


def test_numbers_of_a_sequence_are_claimed_in_order(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "100", "20", "3")
    assert world.drain("to_clean") == ["3", "20", "100"]


def test_priority_goes_before_order(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    world.drain("to_clean")
    world.resubmit("to_clean", "1", "2", "3")
    world.poke("UPDATE work SET priority = 5 WHERE dataid = '3'")
    assert world.drain("to_clean") == ["3", "1", "2"]


def test_each_work_is_claimed_once(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    given = [*world.claim("to_clean", 2), *world.claim("to_clean", 2, claimant="second")]
    assert [run.dataid for run in given] == ["1", "2", "3"]
    assert not world.claim("to_clean")
    ids = [run.run_id for run in given]
    assert ids == sorted(set(ids))


def test_a_run_knows_what_it_reads_and_at_which_version(world: World) -> None:
    for name in ("left", "right", "both"):
        world.dataset(name)
    world.job("join", ["left", "right"], ["both"])
    world.ready("left", "1")
    world.ready("left", "1", again=True)
    world.ready("right", "1")
    run = world.take("join")
    assert [(pin.position, pin.dataid, pin.version) for pin in run.pins] == [(0, "1", 2), (1, "1", 1)]
    assert (run.job, run.attempt, run.replaces) == ("join", 1, ())


def test_a_run_knows_what_it_replaces_and_who_reads_it(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    reader = world.take("to_report")
    world.resubmit("to_clean", "1")
    (replaced,) = world.take("to_clean").replaces
    assert (replaced.dataset, replaced.version, replaced.readers) == ("clean", 1, (reader.run_id,))


def test_a_finished_reader_is_no_longer_listed(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.do("to_report")
    world.resubmit("to_clean", "1")
    assert world.take("to_clean").replaces[0].readers == ()


def test_finishing_publishes_the_outputs_and_wakes_their_consumers(world: World) -> None:
    for name in ("raw", "clean", "rejected", "report"):
        world.dataset(name)
    world.job("split", ["raw"], ["clean", "rejected"])
    world.job("summary", ["clean", "rejected"], ["report"])
    world.ready("raw", "1")
    run = world.take("split")
    assert (world.status("clean", "1"), world.state("summary", "1")) == ("RUNNING", "")
    assert world.finish(run) is WorkState.DONE
    for name in ("clean", "rejected"):
        (chunk,) = world.chunks(name)
        assert (chunk.status, chunk.version, chunk.location) == ("READY", 1, f"/data/{name}/{run.run_id}")
    assert world.state("summary", "1") == "CLAIMABLE"


def test_finishing_one_and_claiming_the_next_is_one_call(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    run = world.take("to_clean")
    plan = world.plan("to_clean")
    states, result = world.store.finish_and_claim(plan, [Ending(run, RunOutcome.DONE)], make_request())
    assert (states, [run.dataid for run in result.runs]) == ([WorkState.DONE], ["2"])


def test_one_lost_run_does_not_affect_the_finish_of_the_others(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    lost, good = world.claim("to_clean", 2)
    world.cancel(lost)
    endings = [Ending(lost, RunOutcome.DONE), Ending(good, RunOutcome.DONE)]
    (refusal, state), _ = world.store.finish_and_claim(world.plan("to_clean"), endings, None)
    assert isinstance(refusal, errors.LeaseLost)
    assert state is WorkState.DONE
    assert world.states("to_clean") == {"1": "FAILED", "2": "DONE"}


def test_a_particular_work_can_be_claimed(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    (run,) = world.claim("to_clean", dataid="2")
    assert run.dataid == "2"
    assert not world.claim("to_clean", dataid="2")
    assert not world.claim("to_clean", dataid="3")
    world.hold("to_clean", "1")
    assert not world.claim("to_clean", dataid="1")


def test_no_more_runs_than_the_limit_are_live(world: World) -> None:
    world.chain("raw", "clean", max_running=2)
    world.ready("raw", "1", "2", "3", "4")
    first, second = world.claim("to_clean", 3)
    assert not world.claim("to_clean", claimant="second")
    world.finish(first)
    assert [run.dataid for run in world.claim("to_clean", 3, claimant="second")] == ["3"]
    world.finish(second, RunOutcome.FAILED)
    assert [run.dataid for run in world.claim("to_clean", 3)] == ["4"]


def test_a_lapsed_run_does_not_count_against_the_limit(world: World) -> None:
    world.chain("raw", "clean", max_running=1)
    world.ready("raw", "1", "2")
    world.take("to_clean", has_kill_command=True)
    world.advance(301)
    # Without the kill command it cannot be freed here, but it is dead all the same.
    assert [run.dataid for run in world.claim("to_clean", claimant="second")] == ["2"]


def test_a_claim_of_a_changed_job_asks_for_a_new_plan(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    old = world.plan("to_clean")
    world.job("to_clean", ["raw"], ["clean"], retries=3)
    assert world.store.claim(old, make_request()).again == "plan"
    world.dataset("raw", hostname="elsewhere")
    assert world.store.claim(world.plan("to_clean"), make_request()).runs


def test_a_removed_job_cannot_be_claimed(world: World) -> None:
    world.chain("raw", "clean")
    old = world.plan("to_clean")
    world.remove_job("to_clean")
    with pytest.raises(errors.UnknownName, match="Job to_clean was removed"):
        world.store.claim(old, make_request())


def test_the_path_of_the_first_script_is_remembered(world: World) -> None:
    world.chain("raw", "clean")
    for path in ("/etl/clean.sh", "/elsewhere/clean.sh"):
        claimant = Claimant("first", "etl1", "boot-1", 4711, "etl", "dev", path, "0" * 64)
        world.store.claim(world.plan("to_clean"), replace(make_request(), claimant=claimant))
    assert world.plan("to_clean").script_path == "/etl/clean.sh"


def test_forced_work_runs_whatever_its_state(world: World) -> None:
    world.chain("raw", "clean")
    run = world.force("to_clean", "7")
    assert run.pins == ()
    assert world.finish(run) is WorkState.DONE
    world.hold("to_clean")
    world.finish(world.force("to_clean", "7"))
    assert world.journal("force")[-1]["from_state"] == "DONE"
    world.ready("raw", "7")
    assert world.present("to_clean", "7") == [(1, 1)]
    assert [pin.version for pin in world.force("to_clean", "7").pins] == [1]


def test_running_work_is_not_forced_and_its_run_is_named(world: World) -> None:
    world.chain("raw", "clean")
    run = world.force("to_clean", "7")
    with pytest.raises(errors.Conflict) as caught:
        world.force("to_clean", "7")
    assert str(caught.value) == (
        f"to_clean/7 is RUNNING under run {run.run_id} on etl1. Wait for it, or: dataflow cancel {run.run_id}"
    )
    assert world.renew(run) == {run.run_id}


def test_work_is_not_forced_while_a_revoked_run_may_be_alive(world: World) -> None:
    world.chain("raw", "clean")
    run = world.force("to_clean", "7")
    world.advance(100)
    world.cancel(run)
    with pytest.raises(
        errors.Conflict, match=rf"Run {run.run_id} of to_clean/7 was cancelled .* on etl1"
    ) as caught:
        world.force("to_clean", "7")
    assert int(str(caught.value).split("Wait ")[1].split(" s")[0]) == pytest.approx(200, abs=5)
    world.resubmit("to_clean", "7")
    with pytest.raises(errors.Conflict, match="may still be ending"):
        world.force("to_clean", "7")
    world.advance(LEASE_SECONDS - 100)
    assert world.force("to_clean", "7").run_id > run.run_id


def test_work_is_forced_at_once_after_a_revoked_run_reports_its_end(world: World) -> None:
    world.chain("raw", "clean")
    run = world.force("to_clean", "7")
    world.cancel(run)
    world.store.acknowledge(run.run_id, "first")
    assert world.force("to_clean", "7").run_id > run.run_id


def test_work_that_has_just_ended_is_forced_at_once(world: World) -> None:
    world.chain("raw", "clean")
    run = world.force("to_clean", "7")
    world.finish(run, RunOutcome.FAILED)
    assert world.force("to_clean", "7").run_id > run.run_id


def test_a_revoked_run_of_the_previous_boot_does_not_block_force(world: World) -> None:
    world.chain("raw", "clean")
    world.cancel(world.force("to_clean", "7"))
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    world.force("to_clean", "7")


def test_force_respects_the_limit_on_running_work(world: World) -> None:
    world.chain("raw", "clean", max_running=1)
    world.force("to_clean", "7")
    with pytest.raises(errors.Conflict, match="Job to_clean runs 1 at a time"):
        world.force("to_clean", "8")


def test_a_forced_run_does_not_read_withdrawn_chunks(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "7")
    world.withdraw("raw", "7")
    assert world.force("to_clean", "7").pins == ()


def test_a_failed_forced_run_is_repeated_by_the_ordinary_command(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "7")
    world.do("to_clean")
    world.finish(world.force("to_clean", "7"), RunOutcome.INTERRUPTED)
    assert (world.state("to_clean", "7"), world.status("clean", "7")) == ("CLAIMABLE", "RESUBMIT")


def earlier_runs(world: World, run: Run) -> list[tuple[int, bool]]:
    found = world.store.read.list_earlier_runs(run.work_id, run.run_id)
    return [(earlier.run_id, earlier.called_since) for earlier in found]


def test_a_run_knows_earlier_unfinished_runs_and_whether_the_work_was_requested_again(
    world: World,
) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "7")
    world.do("to_clean")
    world.resubmit("to_clean", "7")
    first = world.take("to_clean", "7")
    assert earlier_runs(world, first) == []
    world.finish(first, RunOutcome.INTERRUPTED)
    second = world.take("to_clean", "7")
    assert earlier_runs(world, second) == [(first.run_id, False)]
    world.finish(second, RunOutcome.FAILED)
    world.advance(1)
    forced = world.force("to_clean", "7")
    assert earlier_runs(world, forced) == [(second.run_id, True), (first.run_id, True)]
    world.finish(forced, RunOutcome.INTERRUPTED)
    last = world.take("to_clean", "7")
    assert earlier_runs(world, last)[0] == (forced.run_id, False)


@pytest.mark.parametrize("started_at", ["2999-01-01T00:00:00.000Z", "1999-01-01T00:00:00.000Z"])
def test_a_wall_clock_that_is_set_does_not_change_what_was_requested_again(
    world: World, started_at: str
) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "7")
    first = world.do("to_clean", "7", RunOutcome.INTERRUPTED)
    world.poke(f"UPDATE run SET started_at = '{started_at}'")
    second = world.take("to_clean", "7")
    assert earlier_runs(world, second) == [(first.run_id, False)]
    world.finish(second, RunOutcome.FAILED)
    world.poke(f"UPDATE run SET started_at = '{started_at}'")
    world.resubmit("to_clean", "7")
    third = world.take("to_clean", "7")
    assert earlier_runs(world, third) == [(second.run_id, True), (first.run_id, True)]
    world.finish(third, RunOutcome.FAILED)
    world.poke(f"UPDATE run SET started_at = '{started_at}'")
    forced = world.force("to_clean", "7")
    assert earlier_runs(world, forced)[0] == (third.run_id, True)


def test_an_input_that_changes_during_a_run_requests_the_work_again(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "7")
    first = world.take("to_clean", "7")
    world.ready("raw", "7", again=True)
    world.finish(first, RunOutcome.FAILED)
    assert earlier_runs(world, world.take("to_clean", "7")) == [(first.run_id, True)]


def test_forced_work_that_fails_waits_for_its_inputs_like_any_other(world: World) -> None:
    world.chain("raw", "clean")
    run = world.force("to_clean", "7")
    world.finish(run, RunOutcome.INTERRUPTED)
    assert (world.state("to_clean", "7"), world.work("to_clean", "7").missing) == ("WAITING", 1)
    world.ready("raw", "7")
    world.take("to_clean", "7")


def test_a_preview_returns_what_a_claim_would_and_claims_nothing(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    plan = world.plan("to_clean")
    given = world.store.rehearse(lambda rehearsed: rehearsed.claim(plan, make_request(2)))
    assert [run.dataid for run in given.runs] == ["1", "2"]
    assert world.states("to_clean") == {"1": "CLAIMABLE", "2": "CLAIMABLE"}
    assert not world.journal("claim")
