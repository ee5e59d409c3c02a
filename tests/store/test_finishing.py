"""How a run's outcome settles its work: retries, waits, and what is never retried."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.model.records import Publication
from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import World


def prepared(world: World, **fields: Any) -> None:
    world.chain("raw", "clean", **fields)
    world.ready("raw", "1")


def test_a_failed_attempt_is_retried_after_the_delay_while_attempts_are_left(world: World) -> None:
    prepared(world, retries=2, retry_delay_seconds=60)
    for attempt in (1, 2):
        run = world.take("to_clean")
        assert run.attempt == attempt
        assert world.finish(run, RunOutcome.FAILED, exit_code=3, reason="exit 3") is WorkState.WAITING
        work = world.work("to_clean", "1")
        assert (work.attempts, work.reason) == (attempt, "exit 3")
        delay = 60 * 2 ** (attempt - 1)
        assert work.wait_seconds == pytest.approx(delay, rel=0.2, abs=5)
        world.advance(0.8 * delay - 6)
        assert not world.claim("to_clean")
        world.advance(0.4 * delay + 6)
    assert world.finish(world.take("to_clean"), RunOutcome.FAILED) is WorkState.FAILED
    world.advance(10_000)
    assert not world.claim("to_clean")


def test_without_retries_the_first_failure_is_the_last(world: World) -> None:
    prepared(world)
    assert world.finish(world.take("to_clean"), RunOutcome.FAILED) is WorkState.FAILED
    assert (world.status("clean", "1"), world.version("clean", "1")) == ("FAILED", 0)


def test_a_final_error_is_not_retried(world: World) -> None:
    prepared(world, retries=5)
    assert world.finish(world.take("to_clean"), RunOutcome.FAILED, final=True) is WorkState.FAILED


def test_success_resets_the_attempts(world: World) -> None:
    prepared(world, retries=1, retry_delay_seconds=0)
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.do("to_clean")
    world.resubmit("to_clean", "1")
    assert world.take("to_clean").attempt == 1


def test_invalid_work_is_never_retried_and_publishes_nothing(world: World) -> None:
    prepared(world, retries=5)
    assert (
        world.finish(world.take("to_clean"), RunOutcome.INVALID, reason="2 rows, 3 wanted")
        is WorkState.INVALID
    )
    world.advance(100_000)
    assert not world.claim("to_clean")
    assert (world.status("clean", "1"), world.version("clean", "1")) == ("INVALID", 0)


def test_returned_work_doubles_its_wait_each_time_and_uses_no_attempt(world: World) -> None:
    prepared(world)
    for wait in (30, 60, 120, 240, 480, 600, 600):
        run = world.take("to_clean")
        assert run.attempt == 1
        assert world.finish(run, RunOutcome.RETURNED, delay_seconds=30, reason="no file") is WorkState.WAITING
        assert world.work("to_clean", "1").wait_seconds == pytest.approx(wait, abs=5)
        assert not world.claim("to_clean")
        world.advance(wait)
    assert world.work("to_clean", "1").attempts == 0


def test_impossible_work_does_not_stop_the_others(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    world.do("to_clean", "1", RunOutcome.RETURNED, delay_seconds=30)
    assert world.drain("to_clean") == ["2", "3"]


def test_interrupted_work_is_claimable_at_once(world: World) -> None:
    prepared(world)
    assert world.finish(world.take("to_clean"), RunOutcome.INTERRUPTED) is WorkState.CLAIMABLE
    assert world.take("to_clean").attempt == 1


@pytest.mark.parametrize("outcome", [RunOutcome.INTERRUPTED, RunOutcome.RETURNED])
def test_work_handed_back_waits_for_a_withdrawn_input(world: World, outcome: RunOutcome) -> None:
    prepared(world)
    run = world.take("to_clean")
    world.withdraw("raw", "1")
    assert world.finish(run, outcome) is WorkState.WAITING
    world.ready("raw", "1")
    world.take("to_clean", "1")


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.INVALID])
@pytest.mark.parametrize("final", [False, True])
def test_a_new_version_published_while_a_run_failed_is_tried(
    world: World, outcome: RunOutcome, final: bool
) -> None:
    prepared(world, retries=1)
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.advance(72)
    run = world.take("to_clean")
    assert (run.attempt, run.pins[0].version) == (2, 1)
    world.ready("raw", "1", again=True)
    assert world.finish(run, outcome, reason="exit 3", final=final) is WorkState.CLAIMABLE
    assert world.work("to_clean", "1").reason == "an input changed while it ran"
    again = world.take("to_clean")
    assert (again.attempt, again.pins[0].version) == (1, 2)
    assert (world.outcome(run), world.journal("finish")[-1]["why"]) == (outcome, "exit 3")


@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.INVALID])
def test_a_new_version_published_and_withdrawn_while_a_run_failed_is_waited_for(
    world: World, outcome: RunOutcome
) -> None:
    prepared(world)
    run = world.take("to_clean")
    world.ready("raw", "1", again=True)
    world.withdraw("raw", "1")
    assert world.finish(run, outcome) is WorkState.WAITING
    world.ready("raw", "1")
    world.take("to_clean", "1")


def test_withdrawing_a_version_that_failed_does_not_retry_it(world: World) -> None:
    prepared(world)
    run = world.take("to_clean")
    world.withdraw("raw", "1")
    assert world.finish(run, RunOutcome.FAILED) is WorkState.FAILED


def test_a_wait_that_is_over_does_not_replace_a_missing_input(world: World) -> None:
    prepared(world, retries=1, retry_delay_seconds=60)
    run = world.take("to_clean")
    world.withdraw("raw", "1")
    world.finish(run, RunOutcome.FAILED)
    world.advance(72)
    assert not world.claim("to_clean")
    world.ready("raw", "1")
    world.take("to_clean", "1")


def test_a_wait_that_is_over_ends_no_other_wait(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=60)
    world.ready("raw", "1", "2")
    world.do("to_clean", "1", RunOutcome.FAILED)
    world.advance(40)
    world.do("to_clean", "2", RunOutcome.FAILED)
    world.advance(32)
    assert world.drain("to_clean") == ["1"]


DAY_SECONDS = 86_400.0


@pytest.mark.parametrize("ahead", [DAY_SECONDS, -DAY_SECONDS])
@pytest.mark.parametrize("outcome", [RunOutcome.FAILED, RunOutcome.RETURNED])
def test_a_wall_clock_that_was_wrong_does_not_change_the_length_of_a_wait(
    sqlite_world: World, outcome: RunOutcome, ahead: float
) -> None:
    prepared(sqlite_world, retries=1, retry_delay_seconds=2)
    clock = sqlite_world.clock
    assert clock is not None
    clock.ahead = ahead
    sqlite_world.do("to_clean", outcome=outcome, delay_seconds=2.0)
    clock.ahead = 0.0
    assert sqlite_world.work("to_clean", "1").wait_seconds == pytest.approx(2.0, rel=0.2)
    sqlite_world.advance(1)
    assert not sqlite_world.claim("to_clean")
    sqlite_world.advance(1.4)
    sqlite_world.take("to_clean", "1")


def test_a_reboot_ends_only_the_waits_of_the_previous_boot(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=3600)
    world.ready("raw", "1", "2", "3")
    for _ in range(3):
        world.do("to_clean", outcome=RunOutcome.FAILED)
    world.poke("UPDATE work SET not_before_clock = 'the boot before' WHERE dataid = '2'")
    world.poke("UPDATE work SET not_before_clock = '' WHERE dataid = '3'")
    assert world.work("to_clean", "2").wait_seconds == 0
    assert world.drain("to_clean") == ["2", "3"]
    assert world.state("to_clean", "1") == "WAITING"


def test_work_that_was_returned_very_often_still_waits(world: World) -> None:
    prepared(world)
    world.poke("UPDATE work SET returns = 63")
    world.do("to_clean", outcome=RunOutcome.RETURNED, delay_seconds=30)
    assert world.work("to_clean", "1").wait_seconds == pytest.approx(600, abs=5)


def test_a_claim_ends_a_bounded_number_of_waits(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=60)
    world.ready("raw", *map(str, range(1, 1102)))
    world.do("to_clean", "1", RunOutcome.FAILED)
    world.poke(
        "UPDATE work SET state = 'WAITING', not_before = first.not_before, "
        "not_before_clock = first.not_before_clock "
        "FROM (SELECT not_before, not_before_clock FROM work WHERE dataid = '1') AS first"
    )
    world.advance(80)
    for left in (101, 0):
        world.take("to_clean")
        assert list(world.states("to_clean").values()).count("WAITING") == left


def test_an_input_published_again_does_not_shorten_a_wait(world: World) -> None:
    prepared(world, retries=1, retry_delay_seconds=60)
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.withdraw("raw", "1")
    world.ready("raw", "1")
    assert not world.claim("to_clean")
    world.advance(72)
    world.take("to_clean", "1")


def test_the_chunk_records_what_a_run_published(world: World) -> None:
    prepared(world)
    world.dataset("report")
    world.job("to_report", ["clean"], ["report"])
    publication = Publication("clean", "/data/x", rows=5, size=70, checked="5 rows")
    run = world.do("to_clean", publications=(publication,))
    found = world.select("SELECT location, row_count, size, checked, run_id FROM chunk WHERE run_id > 0")
    assert found == [("/data/x", 5, 70, "5 rows", run.run_id)]
    (pin,) = world.take("to_report").pins
    assert (pin.location, pin.size, pin.checked) == ("/data/x", 70, "5 rows")


def test_the_run_records_its_outcome_exit_code_and_answers(world: World) -> None:
    prepared(world)
    run = world.do("to_clean", outcome=RunOutcome.FAILED, exit_code=3, reason="exit 3", answers='["no"]')
    (row,) = world.store.read.list_runs(job="to_clean")
    assert (row.run_id, row.outcome, row.exit_code) == (run.run_id, RunOutcome.FAILED, 3)
    assert (row.reason, row.answers, row.lease_left_seconds) == ("exit 3", '["no"]', None)
    assert row.ended_at is not None
