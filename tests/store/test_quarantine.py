"""Work whose runs keep dying is quarantined, with its evidence; the others go on."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import LEASE_SECONDS, World

LONGEST_WAIT = 601.0


def crash(world: World, times: int, dataid: str = "1", job: str = "to_clean") -> list[int]:
    """Let runs of a work die; return their ids."""
    runs = []
    for _ in range(times):
        runs.append(world.take(job, dataid).run_id)
        world.advance(LEASE_SECONDS)
        assert not world.claim(job, dataid="nothing")
        world.advance(LONGEST_WAIT)
    return runs


def prepared(world: World, **fields: Any) -> None:
    world.chain("raw", "clean", **{"max_crashes": 3} | fields)
    world.ready("raw", "1")


def test_work_is_quarantined_after_as_many_crashes_as_its_job_allows(world: World) -> None:
    prepared(world)
    crash(world, 2)
    assert (world.state("to_clean", "1"), world.work("to_clean", "1").quarantined) == ("WAITING", False)
    crash(world, 1)
    work = world.work("to_clean", "1")
    assert (work.state, work.quarantined, work.losses) == (WorkState.FAILED, True, 3)
    assert not world.claim("to_clean")
    world.ready("raw", "2")
    world.do("to_clean", "2", RunOutcome.FAILED)
    assert world.store.read.count_quarantined(world.plan("to_clean").job_id) == 1


def test_the_others_go_on(world: World) -> None:
    prepared(world, max_crashes=1)
    crash(world, 1)
    world.ready("raw", "2")
    assert world.drain("to_clean") == ["2"]


def test_the_reason_names_the_runs_that_died_and_where(world: World) -> None:
    prepared(world)
    first, second, third = crash(world, 3)
    reason = f"quarantined after 3 crashes: runs {first}, {second}, {third} on etl1"
    assert world.work("to_clean", "1").reason == reason
    runs = world.store.read.list_runs()
    assert runs[0].reason == f"run {third} on etl1 died or lost its lease; {reason}"
    assert runs[1].reason == f"run {second} on etl1 died or lost its lease"
    assert [(line["to_state"], line["why"]) for line in world.journal("free")][-1] == ("FAILED", reason)
    work_id = world.work("to_clean", "1").work_id
    found = world.store.read.list_crashes(work_id, "1", 3)
    assert [(crash.run_id, crash.host) for crash in found] == [
        (run, "etl1") for run in (first, second, third)
    ]


def test_of_many_crashes_the_last_ones_are_named(world: World) -> None:
    prepared(world, max_crashes=12)
    runs = crash(world, 12)
    assert world.work("to_clean", "1").reason == (
        f"quarantined after 12 crashes: runs {', '.join(map(str, runs[2:]))} on etl1; and 2 earlier"
    )


def test_a_run_that_says_itself_that_it_lost_its_lease_counts(world: World) -> None:
    prepared(world, max_crashes=1)
    run = world.take("to_clean")
    assert world.finish(run, RunOutcome.LOST, reason="its lease could not be renewed") is WorkState.FAILED
    reason = f"quarantined after 1 crash: run {run.run_id} on etl1"
    assert world.work("to_clean", "1").reason == reason
    assert world.journal("finish")[-1]["why"] == reason


def test_crashes_and_failed_attempts_are_counted_apart(world: World) -> None:
    prepared(world, retries=2)
    crash(world, 2)
    for _ in range(2):
        world.do("to_clean", outcome=RunOutcome.FAILED)
        world.advance(LONGEST_WAIT)
    work = world.work("to_clean", "1")
    assert (work.state, work.attempts, work.losses) == (WorkState.WAITING, 2, 2)
    world.do("to_clean", outcome=RunOutcome.FAILED)
    work = world.work("to_clean", "1")
    assert (work.state, work.quarantined) == (WorkState.FAILED, False)


@pytest.mark.parametrize("how", ["resubmit", "force", "a newer input", "mark"])
def test_quarantined_work_is_released(world: World, how: str) -> None:
    prepared(world)
    crash(world, 3)
    if how == "resubmit":
        world.resubmit("to_clean", "1")
    elif how == "force":
        world.finish(world.force("to_clean", "1"), RunOutcome.FAILED)
        world.resubmit("to_clean", "1")
    elif how == "mark":
        world.mark("to_clean", "1", WorkState.FAILED)
        assert not world.work("to_clean", "1").quarantined
        world.resubmit("to_clean", "1")
    else:
        world.ready("raw", "1", again=True)
    work = world.work("to_clean", "1")
    assert (work.state, work.losses) == (WorkState.CLAIMABLE, 0)
    assert world.select("SELECT count(*) FROM work WHERE quarantined") == [(0,)]
    crash(world, 2)
    assert world.state("to_clean", "1") == "WAITING"


def test_forced_work_that_fails_is_not_quarantined_any_more(world: World) -> None:
    prepared(world)
    crash(world, 3)
    world.finish(world.force("to_clean", "1"), RunOutcome.FAILED, reason="exit 1")
    work = world.work("to_clean", "1")
    assert (work.state, work.reason, work.quarantined) == (WorkState.FAILED, "exit 1", False)


def test_a_cancelled_run_is_no_crash(world: World) -> None:
    prepared(world, max_crashes=1)
    world.cancel(world.take("to_clean"))
    assert not world.work("to_clean", "1").quarantined


def test_crashes_are_named_and_no_other_runs(world: World) -> None:
    prepared(world, max_crashes=2, retries=1)
    first = crash(world, 1)
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.advance(LONGEST_WAIT)
    second = crash(world, 1)
    reason = f"quarantined after 2 crashes: runs {first[0]}, {second[0]} on etl1"
    assert world.work("to_clean", "1").reason == reason


def crash_together(world: World, dataids: list[str], times: int) -> None:
    """Let a process that runs all these die, again and again."""
    for _ in range(times):
        assert sorted(run.dataid for run in world.claim("to_clean", len(dataids))) == dataids
        world.advance(LEASE_SECONDS)
        assert not world.claim("to_clean", dataid="nothing")
        world.advance(LONGEST_WAIT)


@pytest.mark.parametrize(("order", "first"), [("oldest", "1"), ("newest", "3")])
def test_work_that_crashed_twice_does_not_run_beside_other_such_work(
    world: World, order: str, first: str
) -> None:
    prepared(world, max_crashes=5, order=order)
    world.ready("raw", "2", "3")
    crash_together(world, ["1", "2", "3"], 2)
    world.ready("raw", "0", "4")
    runs = world.claim("to_clean", 5)
    assert sorted(run.dataid for run in runs) == sorted({"0", "4", first})
    assert not world.claim("to_clean", 5)
    elsewhere = world.claim("to_clean", 5, claimant="second")  # which dies alone
    assert [run.dataid for run in elsewhere] == ["2"]
    world.finish(next(run for run in runs if run.dataid == first))
    assert [run.dataid for run in world.claim("to_clean", 5)] == sorted({"1", "3"} - {first})


def test_work_whose_next_crash_would_quarantine_it_does_not_run_beside_other_such_work(world: World) -> None:
    prepared(world, max_crashes=2)
    world.ready("raw", "2")
    crash_together(world, ["1", "2"], 1)
    assert [run.dataid for run in world.claim("to_clean", 5)] == ["1"]


def test_ordered_work_that_crashed_twice_waits_for_other_such_work(world: World) -> None:
    prepared(world, max_crashes=5)
    world.chain("raw", "other", ordered=True, max_crashes=5)
    crash(world, 2, job="to_other")
    crash(world, 2)
    run = world.take("to_clean", "1")
    assert not world.claim("to_other")
    world.finish(run)
    world.take("to_other", "1")


def test_work_that_never_crashed_is_no_reason_to_wait_even_if_one_crash_would_quarantine_it(
    world: World,
) -> None:
    prepared(world, max_crashes=1)
    world.chain("raw", "other", max_crashes=5)
    crash(world, 2, job="to_other")
    world.take("to_clean", "1")
    world.take("to_other", "1")
