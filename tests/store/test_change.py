"""A chunk published again, or found to be wrong: what becomes stale, what is redone, and what is kept."""

from __future__ import annotations

import pytest

from dataflow import errors
from dataflow.model.status import RunOutcome, WorkState
from tests.store.races import check, race
from tests.store.world import World

DAY = 86_400.0


def made(world: World, **fields: object) -> None:
    """raw → clean → report, done; `fields` are those of the job that makes clean."""
    for name in ("raw", "clean", "report"):
        world.dataset(name)
    world.job("to_clean", ["raw"], ["clean"], **fields)
    world.job("to_report", ["clean"], ["report"])
    world.ready("raw", "1")
    world.do("to_clean")
    world.do("to_report")


def statuses(world: World, dataid: str = "1") -> tuple[str, ...]:
    return tuple(world.status(name, dataid) for name in ("raw", "clean", "report"))


def states(world: World, dataid: str = "1") -> tuple[str, ...]:
    return tuple(world.state(name, dataid) for name in ("to_clean", "to_report"))


# down the line


def test_everything_down_the_line_is_stale_at_once_and_redone_in_order(world: World) -> None:
    made(world)
    world.ready("raw", "1", again=True)
    assert (statuses(world), states(world)) == (("READY", "STALE", "STALE"), ("CLAIMABLE", "WAITING"))
    assert world.claim("to_report") == ()
    world.do("to_clean")
    assert (statuses(world), states(world)) == (("READY", "READY", "STALE"), ("DONE", "CLAIMABLE"))
    world.do("to_report")
    assert (statuses(world), states(world)) == (("READY", "READY", "READY"), ("DONE", "DONE"))


def test_a_consumer_that_has_read_the_newer_version_stays_current(world: World) -> None:
    made(world)
    world.dataset("late")
    world.job("to_late", ["raw"], ["late"])
    world.ready("raw", "1", again=True)
    world.do("to_late")
    assert (world.status("late", "1"), world.status("clean", "1")) == ("READY", "STALE")
    world.do("to_clean")
    assert world.status("late", "1") == "READY"


def test_a_chunk_of_another_dataid_makes_nothing_stale(world: World) -> None:
    made(world)
    world.ready("raw", "2")
    world.ready("raw", "2", again=True)
    assert statuses(world) == ("READY", "READY", "READY")


def test_a_result_that_read_more_than_its_mapping_names_is_stale_too(world: World) -> None:
    world.chain("days", "sums", grain="daily")
    world.ready("days", "2026-08-01", "2026-08-02")
    run = world.take("to_sums", "2026-08-01")
    plan = world.plan("to_sums")
    assert len(world.store.pin_ready(plan, run, plan.inputs[0])) == 2
    world.finish(run)
    world.ready("days", "2026-08-02", again=True)
    assert (world.status("sums", "2026-08-01"), world.state("to_sums", "2026-08-01")) == (
        "STALE",
        "CLAIMABLE",
    )


def test_a_result_is_stale_by_what_it_was_made_from_even_if_its_job_reads_something_else(
    world: World,
) -> None:
    made(world)
    world.dataset("rates")
    world.ready("rates", "1")
    world.job("to_clean", ["rates"], ["clean"])
    world.ready("raw", "1", again=True)
    assert statuses(world) == ("READY", "STALE", "STALE")
    world.do("to_clean")
    world.ready("raw", "1", again=True)
    assert world.status("clean", "1") == "READY"


def test_a_result_that_was_remade_from_something_else_is_not_stale_down_the_line(world: World) -> None:
    made(world)
    world.dataset("rates")
    world.ready("rates", "1")
    world.job("to_report", ["rates"], ["report"])
    world.resubmit("to_report", "1")
    world.do("to_report")
    world.ready("raw", "1", again=True)
    assert statuses(world) == ("READY", "STALE", "READY")


def test_a_failed_attempt_with_another_chunk_says_nothing_about_the_old_result(world: World) -> None:
    world.dataset("months", grain="monthly")
    world.dataset("snap", grain="daily")
    world.dataset("view", grain="monthly")
    world.job("to_view", ["months", "snap:latest"], ["view"])
    world.ready("months", "2017-11")
    world.ready("snap", "2017-11-30")
    world.do("to_view")
    world.ready("snap", "2017-12-01")
    world.resubmit("to_view", "2017-11")
    world.do("to_view", outcome=RunOutcome.FAILED)
    world.ready("snap", "2017-12-01", again=True)
    assert (world.state("to_view", "2017-11"), world.status("view", "2017-11")) == ("CLAIMABLE", "READY")


def test_work_that_failed_with_an_input_it_no_longer_reads_is_not_tried_again(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("rates")
    world.ready("raw", "1")
    world.ready("rates", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.job("to_clean", ["rates"], ["clean"])
    world.ready("raw", "1", again=True)
    assert world.state("to_clean", "1") == "FAILED"


def test_a_failed_attempt_is_not_repeated_for_a_chunk_that_an_earlier_one_read(world: World) -> None:
    world.dataset("months", grain="monthly")
    world.dataset("snap", grain="daily")
    world.job("to_view", ["months", "snap:latest"], [])
    world.ready("months", "2017-11")
    world.ready("snap", "2017-11-30")
    world.do("to_view", outcome=RunOutcome.FAILED)
    world.ready("snap", "2017-12-01")
    world.resubmit("to_view", "2017-11")
    world.do("to_view", outcome=RunOutcome.FAILED)
    world.ready("snap", "2017-11-30", again=True)
    assert world.state("to_view", "2017-11") == "FAILED"


def test_a_job_without_outputs_runs_again_for_a_newer_version(world: World) -> None:
    world.dataset("raw")
    world.job("mail", ["raw:latest"], [])
    world.job("notify", ["raw"], [])
    world.ready("raw", "1")
    world.do("notify")
    world.ready("raw", "1", again=True)
    assert world.state("notify", "1") == "CLAIMABLE"


def test_a_run_at_work_on_a_chunk_that_became_stale_is_born_stale_and_waits(world: World) -> None:
    made(world)
    world.resubmit("to_report", "1")
    run = world.take("to_report")
    world.ready("raw", "1", again=True)
    assert world.finish(run) is WorkState.WAITING
    assert world.status("report", "1") == "STALE"
    world.do("to_clean")
    assert world.state("to_report", "1") == "CLAIMABLE"


def test_a_chain_of_a_thousand_days_becomes_stale_in_one_go(sqlite_world: World) -> None:
    world = sqlite_world
    world.dataset("days", grain="sequence")
    world.dataset("total", grain="sequence")
    world.job("cumulate", ["days", "total:previous"], ["total"], start="1")
    world.ready("days", *map(str, range(1, 1001)))
    assert len(world.drain("cumulate")) == 1000
    world.ready("days", "1", again=True)
    assert {chunk.status for chunk in world.chunks("total")[:1000]} == {"STALE"}
    assert set(world.states("cumulate").values()) == {"CLAIMABLE", "WAITING"}


# asking and ignoring


def test_a_job_that_asks_keeps_its_work_done_and_its_result_stale(world: World) -> None:
    made(world, on_change="ask")
    world.ready("raw", "1", again=True)
    assert (statuses(world), states(world)) == (("READY", "STALE", "STALE"), ("DONE", "WAITING"))
    assert world.claim("to_clean") == ()
    world.resubmit("to_clean", "1")
    world.do("to_clean")
    assert (statuses(world), states(world)) == (("READY", "READY", "STALE"), ("DONE", "CLAIMABLE"))


def test_a_run_of_a_job_that_asks_is_done_but_stale_when_its_input_changed(world: World) -> None:
    made(world, on_change="ask")
    world.resubmit("to_clean", "1")
    run = world.take("to_clean")
    world.ready("raw", "1", again=True)
    assert world.finish(run) is WorkState.DONE
    assert statuses(world) == ("READY", "STALE", "STALE")


def test_failed_work_of_a_job_that_asks_is_tried_with_the_newer_version(world: World) -> None:
    world.chain("raw", "clean", on_change="ask")
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.ready("raw", "1", again=True)
    assert world.state("to_clean", "1") == "CLAIMABLE"


def test_a_job_that_ignores_changes_keeps_its_result_and_its_consumers_current(world: World) -> None:
    made(world, on_change="ignore")
    world.ready("raw", "1", again=True)
    assert (statuses(world), states(world)) == (("READY", "READY", "READY"), ("DONE", "DONE"))


def test_a_run_of_a_job_that_ignores_changes_is_current_when_its_input_changed(world: World) -> None:
    world.chain("raw", "clean", on_change="ignore")
    world.ready("raw", "1")
    run = world.take("to_clean")
    world.ready("raw", "1", again=True)
    assert (world.finish(run), world.status("clean", "1")) == (WorkState.DONE, "READY")


def test_failed_work_of_a_job_that_ignores_changes_is_tried_with_the_newer_version(world: World) -> None:
    world.chain("raw", "clean", on_change="ignore")
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.ready("raw", "1", again=True)
    assert world.state("to_clean", "1") == "CLAIMABLE"


def test_staleness_down_the_line_stops_at_a_job_that_ignores_changes(world: World) -> None:
    made(world)
    world.job("to_report", ["clean"], ["report"], on_change="ignore")
    world.ready("raw", "1", again=True)
    assert (statuses(world), states(world)) == (("READY", "STALE", "READY"), ("CLAIMABLE", "DONE"))


@pytest.mark.parametrize(("days", "state"), [(6, "CLAIMABLE"), (8, "DONE")])
def test_a_change_that_comes_late_asks(world: World, days: int, state: str) -> None:
    made(world, late_after_seconds=7 * DAY)
    pass_days(world, days)
    world.ready("raw", "1", again=True)
    assert (world.status("clean", "1"), world.state("to_clean", "1")) == ("STALE", state)


def test_a_late_change_down_the_line_asks_too(world: World) -> None:
    made(world)
    world.job("to_report", ["clean"], ["report"], late_after_seconds=7 * DAY)
    pass_days(world, 8)
    world.ready("raw", "1", again=True)
    world.do("to_clean")
    assert (world.status("report", "1"), world.state("to_report", "1")) == ("STALE", "DONE")


def pass_days(world: World, days: int) -> None:
    """Let days pass since all results were published."""
    if world.clock is None:
        world.poke(f"UPDATE run SET ended_at = ended_at - interval '{days} days'")
    else:
        world.advance(days * DAY)


# accept


def test_an_accepted_result_is_current_again_with_all_that_follows_from_it(world: World) -> None:
    made(world, on_change="ask")
    world.ready("raw", "1", again=True)
    assert world.accept("to_clean", "1") == 1
    assert (statuses(world), states(world)) == (("READY", "READY", "READY"), ("DONE", "DONE"))
    (line,) = world.journal("accept")
    assert (line["job"], line["dataid"], line["to_state"], line["why"]) == ("to_clean", "1", "DONE", "good")
    assert world.accept("to_clean", "1") == 0
    assert len(world.journal("accept")) == 1


def test_an_accepted_result_is_stale_again_after_the_next_change(world: World) -> None:
    made(world, on_change="ask")
    world.ready("raw", "1", again=True)
    world.accept("to_clean", "1")
    world.ready("raw", "1", again=True)
    assert statuses(world) == ("READY", "STALE", "STALE")


def test_a_result_that_would_be_redone_can_be_accepted_instead(world: World) -> None:
    made(world)
    world.ready("raw", "1", again=True)
    world.accept("to_clean", "1")
    assert (statuses(world), states(world)) == (("READY", "READY", "READY"), ("DONE", "DONE"))
    assert world.present("to_report", "1") == [(1, 1)]


def test_a_result_made_from_a_stale_chunk_cannot_be_accepted_before_that_chunk(world: World) -> None:
    made(world, on_change="ask")
    world.ready("raw", "1", again=True)
    with pytest.raises(errors.Conflict, match=r"clean/1, which is STALE itself.*dataflow accept to_clean 1"):
        world.accept("to_report", "1")
    assert states(world) == ("DONE", "WAITING")


def test_work_that_an_operator_resubmitted_stays_so_when_its_input_is_accepted(world: World) -> None:
    made(world, on_change="ask")
    world.ready("raw", "1", again=True)
    world.resubmit("to_report", "1")
    world.accept("to_clean", "1")
    assert (world.status("report", "1"), world.state("to_report", "1")) == ("RESUBMIT", "CLAIMABLE")


def test_a_result_with_another_stale_input_stays_stale_when_one_is_accepted(world: World) -> None:
    for name in ("a", "b", "left", "right", "both"):
        world.dataset(name)
    world.job("to_left", ["a"], ["left"], on_change="ask")
    world.job("to_right", ["b"], ["right"], on_change="ask")
    world.job("join", ["left", "right"], ["both"])
    for name in ("a", "b"):
        world.ready(name, "1")
    for job in ("to_left", "to_right", "join"):
        world.do(job)
    for name in ("a", "b"):
        world.ready(name, "1", again=True)
    world.accept("to_left", "1")
    assert (world.status("both", "1"), world.state("join", "1")) == ("STALE", "WAITING")
    world.accept("to_right", "1")
    assert (world.status("both", "1"), world.state("join", "1")) == ("READY", "DONE")


def test_a_result_whose_own_inputs_changed_stays_stale_when_another_is_accepted(world: World) -> None:
    for name in ("a", "rates", "left", "both"):
        world.dataset(name)
    world.job("to_left", ["a"], ["left"], on_change="ask")
    world.job("join", ["left", "rates"], ["both"])
    for name in ("a", "rates"):
        world.ready(name, "1")
    for job in ("to_left", "join"):
        world.do(job)
    for name in ("a", "rates"):
        world.ready(name, "1", again=True)
    world.accept("to_left", "1")
    assert (world.status("both", "1"), world.state("join", "1")) == ("STALE", "CLAIMABLE")


def test_failed_work_stays_failed_when_its_input_is_accepted(world: World) -> None:
    made(world, on_change="ask")
    world.ready("raw", "1", again=True)
    world.mark("to_report", "1", WorkState.FAILED)
    world.accept("to_clean", "1")
    assert world.state("to_report", "1") == "FAILED"


def test_what_is_current_by_an_operators_word_stays_so_when_a_stale_input_has_another_reason(
    world: World,
) -> None:
    for name in ("a", "b", "left", "right", "both", "end"):
        world.dataset(name)
    world.job("to_left", ["a"], ["left"])
    world.job("to_right", ["b"], ["right"])
    world.job("join", ["left", "right"], ["both"])
    world.job("to_end", ["both"], ["end"])
    for name in ("a", "b"):
        world.ready(name, "1")
    for job in ("to_left", "to_right", "join", "to_end"):
        world.do(job)
    world.ready("a", "1", again=True)
    world.mark("to_end", "1", WorkState.DONE)
    world.ready("b", "1", again=True)
    assert [world.status(name, "1") for name in ("right", "both", "end")] == ["STALE", "STALE", "READY"]


def test_a_run_that_ignores_a_change_of_what_was_accepted_publishes_a_current_result(world: World) -> None:
    made(world)
    world.job("to_report", ["clean"], ["report"], on_change="ignore")
    world.invalidate("raw", "1")
    world.accept("to_clean", "1")
    world.resubmit("to_report", "1")
    run = world.take("to_report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.finish(run)
    assert world.status("report", "1") == "READY"


def test_running_unknown_and_withdrawn_results_cannot_be_accepted(world: World) -> None:
    made(world)
    with pytest.raises(errors.UnknownName):
        world.accept("to_clean", "9")
    world.ready("raw", "1", again=True)
    run = world.take("to_clean")
    with pytest.raises(errors.Conflict, match="is RUNNING under run"):
        world.accept("to_clean", "1")
    world.finish(run, RunOutcome.FAILED)
    world.withdraw("clean", "1")
    with pytest.raises(errors.Conflict, match="was withdrawn, so there is no result to keep"):
        world.accept("to_clean", "1")
    assert (world.state("to_clean", "1"), world.journal("accept")) == ("FAILED", [])


# wrong data


def test_wrong_data_from_outside_is_withdrawn_and_all_made_from_it_waits_for_it(world: World) -> None:
    made(world)
    assert world.invalidate("raw", "1") == 1
    assert (statuses(world), states(world)) == (("PENDING", "STALE", "STALE"), ("WAITING", "WAITING"))
    assert world.invalidate("raw", "1") == 0
    (line,) = world.journal("invalidate")
    assert (line["dataset"], line["dataid"], line["items"], line["why"]) == ("raw", "1", 1, "bad rows")
    world.ready("raw", "1")
    assert (world.drain("to_clean"), world.drain("to_report")) == (["1"], ["1"])
    assert (statuses(world), states(world)) == (("READY", "READY", "READY"), ("DONE", "DONE"))


def test_wrong_data_of_one_dataid_says_nothing_about_the_others(world: World) -> None:
    made(world)
    world.ready("raw", "2")
    world.do("to_clean")
    world.invalidate("raw", "1")
    assert (world.status("clean", "1"), world.status("clean", "2")) == ("STALE", "READY")


def test_work_without_outputs_that_read_wrong_data_is_done_again(world: World) -> None:
    made(world)
    world.job("load", ["raw"], [])
    world.job("load_report", ["report"], [])
    world.ready("raw", "2")
    for name in ("load", "to_clean", "to_report", "load_report"):
        world.drain(name)
    world.invalidate("raw", "1")
    assert (world.state("load", "1"), world.state("load_report", "1")) == ("WAITING", "WAITING")
    assert (world.state("load", "2"), world.state("load_report", "2")) == ("DONE", "DONE")
    world.ready("raw", "1")
    assert [world.drain(name) for name in ("load", "to_clean", "to_report", "load_report")] == [["1"]] * 4


def test_work_without_outputs_that_has_read_other_data_since_is_left_alone(world: World) -> None:
    world.dataset("raw")
    world.dataset("other")
    world.job("load", ["raw"], [])
    world.ready("raw", "1")
    world.do("load")
    world.job("load", ["other"], [])
    world.ready("other", "1")
    world.resubmit("load", "1")
    world.do("load")
    world.invalidate("raw", "1")
    assert world.state("load", "1") == "DONE"


def test_work_without_outputs_that_read_a_result_remade_since_is_left_alone(world: World) -> None:
    made(world)
    world.dataset("other")
    world.job("to_clean", ["other"], ["clean"])
    world.ready("other", "1")
    world.resubmit("to_clean", "1")
    world.do("to_clean")
    world.job("load", ["clean"], [])
    world.do("load")
    world.invalidate("raw", "1")
    assert world.state("load", "1") == "DONE"


def test_wrong_data_of_a_job_is_produced_again(world: World) -> None:
    made(world)
    assert world.invalidate("clean", "1") == 1
    assert (statuses(world), states(world)) == (("READY", "RESUBMIT", "STALE"), ("CLAIMABLE", "WAITING"))
    assert (world.drain("to_clean"), world.drain("to_report")) == (["1"], ["1"])
    assert (statuses(world), states(world)) == (("READY", "READY", "READY"), ("DONE", "DONE"))


@pytest.mark.parametrize("on_change", ["rerun", "ask", "ignore"])
def test_what_was_made_from_wrong_data_is_redone_whatever_its_job_says(world: World, on_change: str) -> None:
    made(world, on_change=on_change)
    world.job("to_report", ["clean"], ["report"], on_change=on_change)
    world.invalidate("raw", "1")
    assert (statuses(world), states(world)) == (("PENDING", "STALE", "STALE"), ("WAITING", "WAITING"))
    world.ready("raw", "1")
    assert world.drain("to_clean") == ["1"]


def test_wrong_data_reaches_a_result_whose_job_ignored_that_its_input_was_stale(world: World) -> None:
    made(world, on_change="ask")
    world.job("to_report", ["clean"], ["report"], on_change="ignore")
    world.ready("raw", "1", again=True)
    assert statuses(world) == ("READY", "STALE", "READY")
    world.invalidate("raw", "1")
    assert statuses(world) == ("PENDING", "STALE", "STALE")


@pytest.mark.parametrize("on_change", ["rerun", "ask", "ignore"])
@pytest.mark.parametrize("is_back", [False, True])
def test_a_run_that_reads_wrong_data_publishes_nothing_current(
    world: World, on_change: str, is_back: bool
) -> None:
    world.chain("raw", "clean", on_change=on_change)
    world.ready("raw", "1")
    run = world.take("to_clean")
    world.invalidate("raw", "1")
    if is_back:
        world.ready("raw", "1")
    assert world.finish(run) is (WorkState.CLAIMABLE if is_back else WorkState.WAITING)
    assert world.status("clean", "1") == "STALE"


def test_a_chunk_that_is_being_produced_cannot_be_invalidated(world: World) -> None:
    made(world)
    world.resubmit("to_clean", "1")
    run = world.take("to_clean")
    with pytest.raises(errors.Conflict, match=f"is being produced by run {run.run_id}"):
        world.invalidate("clean", "1")
    assert (world.journal("invalidate"), world.status("report", "1")) == ([], "READY")


def test_a_withdrawn_chunk_can_still_be_invalidated(world: World) -> None:
    made(world)
    world.withdraw("raw", "1")
    assert statuses(world) == ("PENDING", "READY", "READY")
    world.invalidate("raw", "1")
    assert statuses(world) == ("PENDING", "STALE", "STALE")


# at the same time


@pytest.mark.parametrize("first", [0, 1])
def test_a_result_finished_while_its_input_becomes_stale_is_stale(postgres_world: World, first: int) -> None:
    world = postgres_world
    made(world)
    world.resubmit("to_report", "1")
    run = world.take("to_report")
    moves = [lambda w: w.finish(run), lambda w: w.ready("raw", "1", again=True)]
    race(world, moves[first], moves[1 - first])
    assert (statuses(world), states(world)) == (("READY", "STALE", "STALE"), ("CLAIMABLE", "WAITING"))
    check(world)


@pytest.mark.parametrize("first", [0, 1])
def test_a_result_accepted_while_its_input_changes_again_is_stale_or_was_accepted_first(
    postgres_world: World, first: int
) -> None:
    world = postgres_world
    made(world, on_change="ask")
    world.ready("raw", "1", again=True)
    moves = [lambda w: w.accept("to_clean", "1"), lambda w: w.ready("raw", "1", again=True)]
    race(world, moves[first], moves[1 - first])
    accepted = ("READY", "READY", "READY")
    expected = accepted if first == 1 else ("READY", "STALE", "STALE")
    assert statuses(world) == expected
