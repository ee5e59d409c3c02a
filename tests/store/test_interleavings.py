"""Two concurrent transactions on PostgreSQL, each order forced: the result is that of a serial order."""

from __future__ import annotations

import pytest

from dataflow import errors
from dataflow.model.records import ClaimResult, Run
from dataflow.model.status import RunOutcome, WorkState
from tests.store.races import Doing, Raced, check, race
from tests.store.world import World


def both_orders(world: World, one: Doing, other: Doing, first: int) -> tuple[object, object]:
    """Race the two in the requested order and return their results by name."""
    raced = race(world, one, other) if first == 0 else race(world, other, one)
    return (raced.first, raced.second) if first == 0 else (raced.second, raced.first)


def dataids(raced: Raced) -> list[object]:
    """What two claims returned, or their errors."""
    runs = (raced.first, raced.second)
    return [[run.dataid for run in given] if isinstance(given, tuple) else given for given in runs]


@pytest.fixture(params=[0, 1], ids=["one_first", "other_first"])
def first(request: pytest.FixtureRequest) -> int:
    """Which of the two transactions is held open while the other one starts."""
    order: int = request.param
    return order


def test_a_job_registered_during_a_ready_finds_its_work(postgres_world: World, first: int) -> None:
    world = postgres_world
    world.dataset("raw")
    world.dataset("clean")
    both_orders(world, lambda w: w.ready("raw", "1"), lambda w: w.job("to_clean", ["raw"], ["clean"]), first)
    check(world)
    assert world.state("to_clean", "1") == "CLAIMABLE"


def test_a_job_registered_during_a_withdrawal_waits(postgres_world: World, first: int) -> None:
    world = postgres_world
    world.dataset("raw")
    world.ready("raw", "1")
    both_orders(world, lambda w: w.withdraw("raw", "1"), lambda w: w.job("count", ["raw"]), first)
    check(world)
    assert world.state("count", "1") in ("", "WAITING")


def test_an_input_that_a_job_just_lost_is_not_counted_for_another(postgres_world: World, first: int) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.dataset("other")
    world.ready("raw", "9")
    world.ready("other", "9")
    change: Doing = lambda w: w.job("to_clean", ["other"], ["clean"])  # noqa: E731
    both_orders(world, lambda w: w.ready("raw", "1"), change, first)
    both_orders(world, lambda w: w.withdraw("raw", "9"), change, first)
    check(world)


def test_a_consumer_registered_during_a_rerun_in_place_does_not_read_it(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.dataset("clean", location="")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    both_orders(world, lambda w: w.take("to_clean"), lambda w: w.job("read", ["clean"]), first)
    check(world)


def test_a_consumer_registered_while_a_run_is_handed_back_untouched_finds_its_work(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.dataset("clean", location="")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    run = world.take("to_clean")
    hand_back: Doing = lambda w: w.finish(run, RunOutcome.RETURNED, untouched=True)  # noqa: E731
    both_orders(world, hand_back, lambda w: w.job("read", ["clean"]), first)
    check(world)
    assert world.state("read", "1") == "CLAIMABLE"


def test_a_consumer_registered_while_an_output_becomes_stale_does_not_read_it(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    republish: Doing = lambda w: w.ready("raw", "1", again=True)  # noqa: E731
    both_orders(world, republish, lambda w: w.job("read", ["clean"]), first)
    check(world)
    assert not world.claim("read")


def test_a_job_removed_during_a_ready_leaves_nothing_behind(postgres_world: World, first: int) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    count, _ = both_orders(world, lambda w: w.ready("raw", "1"), lambda w: w.remove_job("to_clean"), first)
    assert count == 1
    assert world.store.find_plan("to_clean") is None
    assert world.select("SELECT count(*) FROM work") == [(0,)]


def test_a_job_removed_during_a_claim_is_either_removed_or_kept_with_its_run(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    runs, removal = both_orders(
        world, lambda w: w.claim("to_clean"), lambda w: w.remove_job("to_clean"), first
    )
    if first == 0:
        assert isinstance(removal, errors.Conflict)
        assert isinstance(runs, tuple)
        assert world.finish(runs[0]) is WorkState.DONE
    else:
        assert isinstance(runs, errors.UnknownName) or not runs
        assert world.select("SELECT count(*) FROM run") == [(0,)]


@pytest.mark.parametrize("after", ["claim.look", "claim.next_work"])
def test_a_claim_during_a_change_of_its_job_reads_the_current_inputs(
    postgres_world: World, after: str
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.dataset("rates")
    world.ready("raw", "1")
    world.ready("rates", "1")
    change: Doing = lambda w: w.job("to_clean", ["raw", "rates"], ["clean"])  # noqa: E731
    result = race(world, lambda w: w.ask("to_clean"), change, after=after).first
    if after == "claim.look":
        assert (result.again, result.runs) == ("plan", ())
    else:  # the change has waited for the work that the claim had locked
        assert [len(run.pins) for run in result.runs] == [1]
    check(world)


def test_a_claim_that_waited_for_a_change_of_its_job_asks_for_the_new_plan(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean", max_running=1)
    world.dataset("rates")
    world.ready("raw", "1")
    world.ready("rates", "1")
    change: Doing = lambda w: w.job("to_clean", ["raw", "rates"], ["clean"], max_running=1)  # noqa: E731
    result = race(world, change, lambda w: w.ask("to_clean")).second
    assert (result.again, result.runs) == ("plan", ())
    check(world)


def test_an_output_finished_while_its_input_gets_a_new_version_is_stale(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    run = world.take("to_clean")
    state, _ = both_orders(world, lambda w: w.finish(run), lambda w: w.ready("raw", "1", again=True), first)
    assert state is (WorkState.DONE if first == 0 else WorkState.CLAIMABLE)
    check(world)
    assert (world.status("clean", "1"), world.state("to_clean", "1")) == ("STALE", "CLAIMABLE")
    assert not world.claim("to_report")


def test_a_new_version_published_just_after_the_pins_were_compared_waits_for_the_finish(
    postgres_world: World,
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    republish: Doing = lambda w: w.ready("raw", "1", again=True)  # noqa: E731
    race(world, lambda w: w.finish(run), republish, after="finish.count_moved_pins")
    check(world)
    assert world.status("clean", "1") == "STALE"


def test_a_new_version_published_while_a_run_of_the_old_one_fails_is_tried(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    republish: Doing = lambda w: w.ready("raw", "1", again=True)  # noqa: E731
    fail: Doing = lambda w: w.finish(run, RunOutcome.FAILED)  # noqa: E731
    race(world, fail, republish, after="finish.count_newer_inputs")
    assert world.state("to_clean", "1") == "CLAIMABLE"


def test_an_output_finished_while_its_input_is_withdrawn_counts_correctly(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    run = world.take("to_clean")
    both_orders(world, lambda w: w.finish(run), lambda w: w.withdraw("raw", "1"), first)
    check(world)
    assert world.status("clean", "1") == ("READY" if first == 0 else "STALE")


@pytest.mark.parametrize("known", [False, True], ids=["new work", "known work"])
def test_two_inputs_that_arrive_at_once_both_count(postgres_world: World, known: bool) -> None:
    world = postgres_world
    for name in ("left", "right", "other"):
        world.dataset(name)
    world.job("join", ["left", "right", "other"])
    world.ready("other", "1" if known else "2")
    race(world, lambda w: w.ready("left", "1"), lambda w: w.ready("right", "1"))
    check(world)
    world.ready("other", "1")
    assert world.state("join", "1") == "CLAIMABLE"


def test_two_inputs_withdrawn_at_once_are_both_missing(postgres_world: World) -> None:
    world = postgres_world
    world.dataset("left")
    world.dataset("right")
    world.job("join", ["left", "right"])
    world.ready("left", "1")
    world.ready("right", "1")
    race(world, lambda w: w.withdraw("left", "1"), lambda w: w.withdraw("right", "1"))
    check(world)
    assert world.work("join", "1").missing == 2


def test_an_input_withdrawn_while_another_arrives_leaves_the_work_waiting(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.dataset("left")
    world.dataset("right")
    world.job("join", ["left", "right"])
    world.ready("left", "1")
    both_orders(world, lambda w: w.withdraw("left", "1"), lambda w: w.ready("right", "1"), first)
    check(world)
    assert world.state("join", "1") == "WAITING"


def test_the_same_chunk_made_ready_twice_at_once_counts_once(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    raced = race(world, lambda w: w.ready("raw", "1"), lambda w: w.ready("raw", "1"))
    assert (raced.first, raced.second) == (1, 0)
    check(world)


def test_a_new_chunk_made_ready_again_twice_at_once_counts_once(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    again: Doing = lambda w: w.ready("raw", "1", again=True)  # noqa: E731
    race(world, again, again, after="publish.ready_among")
    assert world.version("raw", "1") == 2
    check(world)


@pytest.mark.parametrize("after", ["", "publish.ready_among"])
def test_ready_again_during_a_withdrawal_counts_correctly(postgres_world: World, after: str) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    race(world, lambda w: w.ready("raw", "1", again=True), lambda w: w.withdraw("raw", "1"), after)
    check(world)
    world.ready("raw", "1")
    race(world, lambda w: w.withdraw("raw", "1"), lambda w: w.ready("raw", "1", again=True))
    check(world)


@pytest.mark.parametrize("again", [False, True])
def test_an_output_marked_ready_manually_during_its_finish_counts_once(
    postgres_world: World, again: bool
) -> None:
    world = postgres_world
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    run = world.take("to_clean")
    race(world, lambda w: w.finish(run), lambda w: w.ready("clean", "1", again=again))
    check(world)
    assert world.present("to_report", "1") == [(1, 1)]


def test_a_first_output_marked_ready_manually_during_its_run_counts_once(
    postgres_world: World,
) -> None:
    world = postgres_world
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    race(world, lambda w: w.ready("clean", "1"), lambda w: w.do("to_clean"))
    assert world.version("clean", "1") == 2
    check(world)


def test_an_output_withdrawn_during_its_finish_counts_correctly(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    run = world.take("to_clean")
    race(world, lambda w: w.finish(run), lambda w: w.withdraw("clean", "1"), after="publish.find_chunk")
    check(world)


@pytest.mark.parametrize("after", ["", "claim.output_chunks"])
def test_an_output_withdrawn_during_a_rerun_in_place_is_counted_as_lost_once(
    postgres_world: World, after: str
) -> None:
    world = postgres_world
    world.chain("raw", "clean", "report")
    world.dataset("clean", location="")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    race(world, lambda w: w.take("to_clean"), lambda w: w.withdraw("clean", "1"), after)
    check(world)


def test_one_of_two_concurrent_claims_gets_the_work(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    raced = race(world, lambda w: w.claim("to_clean"), lambda w: w.claim("to_clean", claimant="second"))
    assert dataids(raced) == [["1"], []]


def test_two_concurrent_claims_of_two_works_do_not_wait_for_each_other(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    raced = race(world, lambda w: w.claim("to_clean"), lambda w: w.claim("to_clean", claimant="second"))
    assert dataids(raced) == [["1"], ["2"]]
    assert not raced.waited


@pytest.mark.parametrize("fields", [{"ordered": True}, {"max_running": 1}], ids=["ordered", "limited"])
def test_two_concurrent_claims_of_a_job_limited_to_one_run_get_one(
    postgres_world: World, fields: dict[str, object]
) -> None:
    world = postgres_world
    world.chain("raw", "clean", **fields)  # type: ignore[arg-type]
    world.ready("raw", "1", "2")
    raced = race(world, lambda w: w.claim("to_clean"), lambda w: w.claim("to_clean", claimant="second"))
    assert dataids(raced) == [["1"], []]


def test_one_of_two_concurrent_claims_of_named_work_gets_it(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    named: Doing = lambda w: w.claim("to_clean", dataid="1")  # noqa: E731
    raced = race(world, named, named)
    assert dataids(raced) == [["1"], []]


def test_one_of_two_concurrent_forces_of_new_work_gets_it(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    force: Doing = lambda w: w.claim("to_clean", dataid="1", force=True)  # noqa: E731
    given, refused, _ = race(world, force, force)
    assert isinstance(given, tuple)
    assert [run.dataid for run in given] == ["1"]
    assert isinstance(refused, errors.Conflict)
    check(world)


def test_work_forced_while_its_input_arrives_counts_it(postgres_world: World, first: int) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    force: Doing = lambda w: w.claim("to_clean", dataid="1", force=True)  # noqa: E731
    both_orders(world, force, lambda w: w.ready("raw", "1"), first)
    check(world)


def test_a_claim_during_a_withdrawal_of_its_input_counts_correctly(postgres_world: World, first: int) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    runs, _ = both_orders(world, lambda w: w.claim("to_clean"), lambda w: w.withdraw("raw", "1"), first)
    assert isinstance(runs, tuple)
    assert len(runs) == (1 if first == 0 else 0)
    check(world)
    for run in runs:
        assert world.finish(run) is WorkState.WAITING
        assert world.status("clean", "1") == "STALE"


def claimed(world: World) -> Run:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    return world.take("to_clean")


def test_a_renewal_while_its_run_is_freed_is_either_in_time_or_refused(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    run = claimed(world)
    take_over: Doing = lambda w: w.claim("to_clean", claimant="second", dead=("first",))  # noqa: E731
    renewed, runs = both_orders(world, lambda w: w.renew(run), take_over, first)
    assert isinstance(runs, tuple)
    # A dead run is passed over while its renewal is under way: the next claim will find it.
    assert (renewed, len(runs)) == (({run.run_id}, 0) if first == 0 else (set(), 1))
    check(world)


def test_a_lease_that_lapses_during_its_renewal_is_not_freed(
    postgres_world: World,
) -> None:
    world = postgres_world
    run = claimed(world)
    world.poke("UPDATE run SET lease_until = extract(epoch from clock_timestamp()) + 0.2")

    def take_over(other: World) -> object:
        while (other.store.read.list_runs()[0].lease_left_seconds or 0) > 0:
            pass
        return other.claim("to_clean", claimant="second")

    raced = race(world, lambda w: w.renew(run), take_over)
    assert (raced.first, raced.second, raced.waited) == ({run.run_id}, (), False)
    assert world.finish(run) is WorkState.DONE


def test_one_of_a_concurrent_cancel_and_finish_is_accepted(postgres_world: World, first: int) -> None:
    world = postgres_world
    run = claimed(world)
    cancelled, finished = both_orders(world, lambda w: w.cancel(run), lambda w: w.finish(run), first)
    if first == 0:
        assert isinstance(finished, errors.LeaseLost)
        assert (world.state("to_clean", "1"), world.version("clean", "1")) == ("FAILED", 0)
    else:
        assert isinstance(cancelled, errors.Conflict)
        assert (world.state("to_clean", "1"), world.version("clean", "1")) == ("DONE", 1)
    check(world)


def test_the_later_of_a_concurrent_mark_and_finish_wins(postgres_world: World, first: int) -> None:
    world = postgres_world
    run = claimed(world)
    marked, finished = both_orders(
        world, lambda w: w.mark("to_clean", "1", WorkState.INVALID), lambda w: w.finish(run), first
    )
    assert world.state("to_clean", "1") == "INVALID"
    if first == 0:
        assert isinstance(finished, errors.LeaseLost)
    else:
        assert (finished, marked) == (WorkState.DONE, "DONE")
    check(world)


def test_a_run_taken_over_while_it_finishes_is_accepted_or_refused_as_a_whole(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    run = claimed(world)
    take_over: Doing = lambda w: w.claim("to_clean", claimant="second", dead=("first",))  # noqa: E731
    finished, runs = both_orders(world, lambda w: w.finish(run), take_over, first)
    if first == 0:
        assert (finished, runs) == (WorkState.DONE, ())
    else:
        assert isinstance(finished, errors.LeaseLost)
        assert isinstance(runs, tuple)
        assert world.finish(runs[0]) is WorkState.DONE
    assert world.version("clean", "1") == 1
    check(world)


def test_a_concurrent_resubmit_and_claim_run_the_work_once(postgres_world: World, first: int) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    resubmitted, runs = both_orders(
        world, lambda w: w.resubmit("to_clean", "1"), lambda w: w.claim("to_clean"), first
    )
    assert isinstance(runs, tuple)
    if first == 0:
        assert (resubmitted, runs) == (1, ())
    else:
        assert isinstance(resubmitted, errors.Conflict)
        assert len(runs) == 1
    check(world)


@pytest.mark.parametrize("after", ["", "claim.take"], ids=["before commit", "before it looks for the other"])
def test_one_of_a_concurrent_reader_and_writer_in_place_sees_the_other(
    postgres_world: World, first: int, after: str
) -> None:
    world = postgres_world
    world.chain("raw", "clean", "report")
    world.dataset("clean", location="")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    jobs = ("to_clean", "to_report") if first == 0 else ("to_report", "to_clean")

    def claim(job: str) -> Doing:
        # What prepare does: claim, and look again once the claim is committed.
        return lambda w: [w.store.refresh(w.plan(job), run) for run in w.claim(job)]

    raced = race(world, claim(jobs[0]), claim(jobs[1]), after)
    writers, readers = (raced.first, raced.second) if first == 0 else (raced.second, raced.first)
    assert writers
    if readers:
        sees_reader = writers[0].replaces[0].readers == (readers[0].run_id,)
        sees_writer = readers[0].pins[0].dirty_run_id == writers[0].run_id
        assert sees_reader or sees_writer
    check(world)


def test_a_claim_does_not_wait_for_a_transaction_that_changes_work_that_is_due(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean", retries=1, retry_delay_seconds=0)
    world.ready("raw", "1", "2")
    world.do("to_clean", "1", RunOutcome.FAILED)
    raced = race(world, lambda w: w.hold("to_clean", "1"), lambda w: w.claim("to_clean"))
    assert ([run.dataid for run in raced.second], raced.waited) == (["2"], False)


def test_one_of_two_producers_registered_at_once_is_refused(postgres_world: World) -> None:
    world = postgres_world
    for name in ("left", "right", "both"):
        world.dataset(name)
    raced = race(
        world, lambda w: w.job("one", ["left"], ["both"]), lambda w: w.job("two", ["right"], ["both"])
    )
    assert isinstance(raced.second, errors.Conflict)
    assert [plan.job.name for plan in world.store.read.list_plans()] == ["one"]


def test_registrations_run_one_at_a_time(postgres_world: World) -> None:
    raced = race(postgres_world, lambda w: w.dataset("one"), lambda w: w.dataset("two"))
    assert raced.waited


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.INVALID])
def test_a_new_version_published_during_a_failure_is_tried(
    postgres_world: World, outcome: RunOutcome, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    both_orders(world, lambda w: w.finish(run, outcome), lambda w: w.ready("raw", "1", again=True), first)
    assert world.take("to_clean").pins[0].version == 2
    check(world)


def test_a_claim_and_a_concurrent_change_of_outputs_exclude_each_other(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.dataset("other")
    world.ready("raw", "1")
    claim: Doing = lambda w: w.ask("to_clean")  # noqa: E731
    asked, changed = both_orders(world, claim, lambda w: w.job("to_clean", ["raw"], ["other"]), first)
    assert isinstance(asked, ClaimResult)
    assert bool(asked.runs) == isinstance(changed, errors.Conflict)
    check(world)


def test_work_of_an_ordered_job_that_is_being_held_is_not_claimed(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean", ordered=True)
    world.ready("raw", "1")
    assert race(world, lambda w: w.hold("to_clean", "1"), lambda w: w.claim("to_clean")) == (1, (), True)


def test_a_claim_that_looked_before_a_hold_gives_nothing_after_it(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    raced = race(world, lambda w: w.ask("to_clean"), lambda w: w.hold("to_clean"), after="claim.look")
    assert (raced.first.runs, raced.first.again) == ((), "plan")


def test_a_hold_returns_when_the_claims_under_way_have_committed(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1")
    raced = race(world, lambda w: len(w.claim("to_clean")), lambda w: w.hold("to_clean"))
    assert raced == (1, 1, True)
