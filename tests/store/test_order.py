"""`previous` inputs and `ordered` jobs: one dataid after the other."""

from __future__ import annotations

from typing import Any

from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import World

DAYS = [f"2026-08-{day:02d}" for day in range(1, 7)]


def cumulate(world: World, **fields: Any) -> None:
    """A job that adds each day to yesterday's own output."""
    world.dataset("days", grain="daily")
    world.dataset("total", grain="daily")
    world.job("cumulate", ["days", "total:previous"], ["total"], **{"start": DAYS[0]} | fields)


def test_the_first_work_of_a_job_needs_no_previous_chunk(world: World) -> None:
    cumulate(world)
    world.ready("days", DAYS[0])
    run = world.take("cumulate", DAYS[0])
    assert [pin.dataid for pin in run.pins] == [DAYS[0]]


def test_a_job_reads_its_own_output_of_the_day_before(world: World) -> None:
    cumulate(world)
    world.ready("days", *DAYS[:3])
    assert world.states("cumulate") == {DAYS[0]: "CLAIMABLE", DAYS[1]: "WAITING", DAYS[2]: "WAITING"}
    world.do("cumulate", DAYS[0])
    run = world.take("cumulate", DAYS[1])
    assert [(pin.position, pin.dataid) for pin in run.pins] == [(0, DAYS[1]), (1, DAYS[0])]
    world.finish(run)
    assert world.drain("cumulate") == [DAYS[2]]


def test_a_corrected_day_propagates_to_all_later_days(world: World) -> None:
    cumulate(world)
    world.ready("days", *DAYS[:4])
    world.drain("cumulate")
    world.ready("days", DAYS[1], again=True)
    assert [world.status("total", day) for day in DAYS[:4]] == ["READY", "STALE", "STALE", "STALE"]
    assert world.drain("cumulate") == DAYS[1:4]
    assert [world.version("total", day) for day in DAYS[:4]] == [1, 2, 2, 2]


def test_without_a_start_an_operator_must_provide_the_first_previous_chunk(world: World) -> None:
    cumulate(world, start="")
    world.ready("days", DAYS[1])
    assert not world.claim("cumulate")
    world.ready("total", DAYS[0])
    world.take("cumulate", DAYS[1])


def test_work_before_the_start_needs_no_previous_chunk_either(world: World) -> None:
    cumulate(world, start=DAYS[2])
    world.ready("days", *DAYS[:2])
    assert world.drain("cumulate") == DAYS[:2]


def test_number_zero_has_no_predecessor(world: World) -> None:
    world.dataset("parts", grain="sequence")
    world.dataset("sum", grain="sequence")
    world.job("add", ["parts", "sum:previous"], ["sum"])
    world.ready("parts", "0", "1")
    assert world.drain("add") == ["0", "1"]


def test_setting_a_start_later_frees_the_waiting_work(world: World) -> None:
    cumulate(world, start="")
    world.ready("days", *DAYS[:2])
    assert not world.claim("cumulate")
    cumulate(world)
    assert world.drain("cumulate") == DAYS[:2]


def test_forced_first_work_needs_no_previous_chunk_either(world: World) -> None:
    cumulate(world)
    world.finish(world.force("cumulate", DAYS[0]), RunOutcome.INTERRUPTED)
    assert world.work("cumulate", DAYS[0]).missing == 1
    world.ready("days", DAYS[0])
    world.take("cumulate", DAYS[0])


def test_withdrawing_a_chunk_that_is_not_needed_changes_nothing(world: World) -> None:
    cumulate(world, start=DAYS[1])
    world.ready("total", DAYS[0])
    world.ready("days", DAYS[1])
    world.withdraw("total", DAYS[0])
    assert world.state("cumulate", DAYS[1]) == "CLAIMABLE"


def test_an_ordered_job_takes_one_dataid_after_the_other(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS[:3])
    (run,) = world.claim("to_sums", 3)
    assert run.dataid == DAYS[0]
    assert not world.claim("to_sums")
    world.finish(run)
    assert world.drain("to_sums") == DAYS[1:3]


def test_a_failed_dataid_blocks_the_later_ones(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS[:2])
    world.do("to_sums", DAYS[0], RunOutcome.FAILED)
    assert not world.claim("to_sums")
    assert not world.claim("to_sums", dataid=DAYS[1])
    world.mark("to_sums", DAYS[0], WorkState.DONE)
    assert world.drain("to_sums") == [DAYS[1]]


def test_a_held_dataid_blocks_the_later_ones(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS[:2])
    world.hold("to_sums", DAYS[0])
    assert not world.claim("to_sums")
    world.release("to_sums", DAYS[0])
    assert world.drain("to_sums") == DAYS[:2]


def test_a_gap_blocks_what_comes_after_it(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", DAYS[0], DAYS[2])
    assert world.drain("to_sums") == [DAYS[0]]
    assert not world.claim("to_sums", dataid=DAYS[2])
    world.ready("days", DAYS[1])
    assert world.drain("to_sums") == DAYS[1:3]


def test_a_retry_is_not_overtaken(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True, retries=1, retry_delay_seconds=60)
    world.ready("days", *DAYS[:2])
    world.do("to_sums", DAYS[0], RunOutcome.FAILED)
    assert not world.claim("to_sums")
    world.advance(72)
    assert world.drain("to_sums") == DAYS[:2]


def test_ordered_free_text_has_no_gaps(world: World) -> None:
    world.chain("raw", "clean", ordered=True)
    world.ready("raw", "10", "2")
    assert world.drain("to_clean") == ["2", "10"]


def test_an_earlier_dataid_that_must_run_again_goes_first(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS[:2])
    world.do("to_sums", DAYS[0])
    world.resubmit("to_sums", DAYS[0])
    assert world.drain("to_sums") == DAYS[:2]


def test_named_work_of_an_ordered_job_waits_for_its_turn(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS[:2])
    assert not world.claim("to_sums", dataid=DAYS[1])
    assert world.claim("to_sums", dataid=DAYS[0])


def test_a_named_dataid_does_not_overtake_one_that_must_run_again(world: World) -> None:
    world.chain("days", "sums", grain="daily", ordered=True)
    world.ready("days", *DAYS[:2])
    assert world.drain("to_sums") == DAYS[:2]
    world.ready("days", DAYS[0], again=True)
    world.ready("days", DAYS[2])
    assert not world.claim("to_sums", dataid=DAYS[2])
    world.do("to_sums", DAYS[0])
    (run,) = world.claim("to_sums", dataid=DAYS[2])
    assert run.dataid == DAYS[2]
