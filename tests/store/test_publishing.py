"""Chunks become ready and are withdrawn, and the work that waits for them follows."""

from __future__ import annotations

import pytest

from dataflow.model.records import Publication
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store.sqlite import SqliteDatabase
from tests.store.world import World


def test_ready_twice_counts_once(world: World) -> None:
    world.chain("raw", "clean")
    assert world.ready("raw", "1.0") == 1
    assert world.ready("raw", "1.0") == 0
    assert world.version("raw", "1.0") == 1
    assert world.present("to_clean", "1.0") == [(1, 1)]


def test_a_batch_counts_only_what_was_not_ready_before(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "2")
    assert world.ready("raw", "1", "2", "3") == 2
    assert world.states("to_clean") == dict.fromkeys(("1", "2", "3"), "CLAIMABLE")


def test_a_work_with_two_inputs_needs_both(world: World) -> None:
    for name in ("left", "right", "both"):
        world.dataset(name)
    world.job("join", ["left", "right"], ["both"])
    world.ready("left", "1")
    assert (world.state("join", "1"), world.work("join", "1").missing) == ("WAITING", 1)
    world.ready("left", "1", again=True)
    assert (world.state("join", "1"), world.work("join", "1").missing) == ("WAITING", 1)
    world.ready("right", "1")
    assert (world.state("join", "1"), world.work("join", "1").missing) == ("CLAIMABLE", 0)
    assert world.present("join", "1") == [(1, 1), (1, 1)]


def test_both_inputs_of_one_work_may_be_the_same_dataset(world: World) -> None:
    world.dataset("days", grain="daily")
    world.job("compare", ["days", "days:previous"])
    world.ready("days", "2026-08-20")
    assert world.states("compare") == {"2026-08-20": "WAITING", "2026-08-21": "WAITING"}
    world.ready("days", "2026-08-21")
    assert world.states("compare") == {
        "2026-08-20": "WAITING",
        "2026-08-21": "CLAIMABLE",
        "2026-08-22": "WAITING",
    }


def test_a_work_with_three_inputs_is_not_claimable_with_two(world: World) -> None:
    for name in ("left", "middle", "right"):
        world.dataset(name)
    world.job("join", ["left", "middle", "right"])
    for name, state in (("left", "WAITING"), ("middle", "WAITING"), ("right", "CLAIMABLE")):
        world.ready(name, "1")
        assert world.state("join", "1") == state


def test_withdrawing_takes_readiness_away_and_ready_gives_it_back(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    assert world.withdraw("raw", "1") == 1
    assert (world.state("to_clean", "1"), world.status("raw", "1")) == ("WAITING", "PENDING")
    assert world.present("to_clean", "1") == [(1, 0)]
    assert not world.claim("to_clean")
    assert world.withdraw("raw", "1") == 0
    assert world.ready("raw", "1") == 1
    assert (world.version("raw", "1"), world.present("to_clean", "1")) == (2, [(1, 1)])
    world.take("to_clean", "1")


def test_withdrawing_what_was_never_published_changes_nothing(world: World) -> None:
    world.chain("raw", "clean")
    assert world.withdraw("raw", "1") == 0
    assert not world.journal("withdraw")


def test_withdrawing_an_input_leaves_finished_work_and_its_output_alone(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    world.withdraw("raw", "1")
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("DONE", "READY")
    world.ready("raw", "1")
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("CLAIMABLE", "STALE")


def test_publishing_again_makes_finished_work_claimable_and_its_outputs_stale(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    assert world.ready("raw", "1", again=True) == 1
    assert world.version("raw", "1") == 2
    assert (world.state("to_clean", "1"), world.status("clean", "1")) == ("CLAIMABLE", "STALE")
    assert (world.state("to_report", "1"), world.work("to_report", "1").missing) == ("WAITING", 1)
    assert not world.claim("to_report")
    world.do("to_clean")
    assert (world.status("clean", "1"), world.version("clean", "1")) == ("READY", 2)
    world.take("to_report", "1")


def test_publishing_again_and_again_takes_readiness_away_once(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    for _ in range(3):
        world.ready("raw", "1", again=True)
    assert world.present("to_report", "1") == [(1, 0)]
    world.do("to_clean")
    assert world.present("to_report", "1") == [(1, 1)]


def test_a_stale_chunk_can_be_marked_ready_manually(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.ready("raw", "1", again=True)
    assert world.ready("clean", "1") == 1
    assert (world.version("clean", "1"), world.present("to_report", "1")) == (2, [(1, 1)])


def test_a_chunk_marked_ready_manually_keeps_nothing_that_a_run_recorded(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.dataset("clean", location="/data/clean")
    world.ready("raw", "1")
    measured = Publication("clean", location="/data/clean", rows=5, size=70, checked="its check passed")
    world.do("to_clean", publications=(measured,))
    pin = world.do("to_report").pins[0]
    assert (pin.size, pin.checked) == (70, "its check passed")
    world.ready("clean", "1", again=True)
    pin = world.take("to_report").pins[0]
    assert (pin.version, pin.location, pin.size, pin.checked) == (2, "", None, "")


def test_a_stale_chunk_that_is_withdrawn_is_counted_as_lost_once(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.ready("raw", "1", again=True)
    assert world.withdraw("clean", "1") == 1
    assert world.present("to_report", "1") == [(1, 0)]


def test_a_withdrawn_chunk_that_becomes_stale_is_counted_as_lost_once(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.withdraw("clean", "1")
    world.ready("raw", "1", again=True)
    assert world.present("to_report", "1") == [(1, 0)]


def test_a_withdrawn_output_counts_once_it_is_made_again(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.withdraw("clean", "1")
    world.resubmit("to_clean", "1")
    world.do("to_clean")
    assert (world.status("clean", "1"), world.present("to_report", "1")) == ("READY", [(1, 1)])


def test_a_finished_work_whose_other_input_is_missing_waits_for_it(world: World) -> None:
    for name in ("left", "right", "both"):
        world.dataset(name)
    world.job("join", ["left", "right"], ["both"])
    world.ready("left", "1")
    world.ready("right", "1")
    world.do("join")
    world.withdraw("right", "1")
    world.ready("left", "1", again=True)
    assert (world.state("join", "1"), world.status("both", "1")) == ("WAITING", "STALE")


def test_a_newer_input_does_not_shorten_a_wait(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=60)
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.ready("raw", "1", again=True)
    assert not world.claim("to_clean")
    world.advance(72)
    assert world.take("to_clean").pins[0].version == 2


def test_a_newer_version_propagates_down_the_chain_as_each_job_runs_again(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.do("to_report")
    world.ready("raw", "1", again=True)
    assert (world.status("report", "1"), world.state("to_report", "1")) == ("STALE", "WAITING")
    world.do("to_clean")
    assert (world.status("report", "1"), world.state("to_report", "1")) == ("STALE", "CLAIMABLE")
    world.do("to_report")
    assert (world.status("report", "1"), world.version("report", "1")) == ("READY", 2)


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.INVALID])
def test_a_newer_input_gives_failed_and_invalid_work_another_chance(
    world: World, outcome: RunOutcome
) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean", outcome=outcome)
    assert not world.claim("to_clean")
    world.ready("raw", "1", again=True)
    work = world.work("to_clean", "1")
    assert (work.state, work.attempts, work.losses) == (WorkState.CLAIMABLE, 0, 0)


def test_an_output_is_born_stale_when_its_input_changed_while_it_was_made(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    run = world.take("to_clean")
    world.ready("raw", "1", again=True)
    assert world.finish(run) is WorkState.CLAIMABLE
    assert (world.status("clean", "1"), world.version("clean", "1")) == ("STALE", 1)
    assert world.state("to_report", "1") == ""
    world.do("to_clean")
    assert (world.status("clean", "1"), world.state("to_report", "1")) == ("READY", "CLAIMABLE")


def test_an_output_is_born_stale_when_its_input_was_withdrawn_meanwhile(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    world.withdraw("raw", "1")
    assert world.finish(run) is WorkState.WAITING
    assert world.status("clean", "1") == "STALE"


def test_a_ready_output_made_again_from_an_input_withdrawn_meanwhile_is_counted_as_lost_once(
    world: World,
) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    run = world.take("to_clean")
    world.withdraw("raw", "1")
    assert world.present("to_report", "1") == [(1, 1)]
    world.finish(run)
    assert (world.status("clean", "1"), world.present("to_report", "1")) == ("STALE", [(1, 0)])
    assert not world.claim("to_report")


def test_an_output_is_born_stale_when_its_input_became_stale_meanwhile(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    run = world.take("to_report")
    world.ready("raw", "1", again=True)
    assert world.finish(run) is WorkState.WAITING
    assert world.status("report", "1") == "STALE"


@pytest.mark.parametrize("location", ["", "/data/{run_id}"])
@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.INVALID, RunOutcome.INTERRUPTED])
def test_an_old_output_is_stale_even_if_the_input_changed_during_a_failed_rerun(
    world: World, location: str, outcome: RunOutcome
) -> None:
    world.chain("raw", "clean", "report")
    world.dataset("clean", location=location)
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    run = world.take("to_clean")
    world.ready("raw", "1", again=True)
    world.finish(run, outcome, untouched=True)
    assert world.present("to_report", "1") == [(1, 0)]
    assert world.select("SELECT stale FROM chunk WHERE version = 1")[0][0]


def test_an_output_of_resubmitted_work_becomes_stale_when_an_input_changes(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    world.ready("raw", "1", again=True)
    assert (world.status("clean", "1"), world.state("to_report", "1")) == ("RESUBMIT", "WAITING")


def test_a_failed_rerun_does_not_take_the_old_version_away(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    assert (world.status("clean", "1"), world.version("clean", "1")) == ("FAILED", 1)
    assert world.take("to_report").pins[0].version == 1


@pytest.mark.parametrize("query", ["count_present", "count_missing", "arrive", "depart", "waive_inputs"])
def test_the_work_of_a_batch_is_looked_up_by_index(sqlite_world: World, query: str) -> None:
    """Otherwise SQLite reads the whole batch for each work: minutes for a few thousand chunks."""
    database = sqlite_world.store.database
    assert isinstance(database, SqliteDatabase)
    values = {"job_id": 1, "position": 0, "delta": 1, "batch": "[]", "calls": "[]"}
    text = "EXPLAIN QUERY PLAN " + database._queries.text(f"publish.{query}")
    plan = [row[3] for row in database._connection.execute(text, values)]
    assert any("(job_id=? AND dataid=?)" in step for step in plan), plan
