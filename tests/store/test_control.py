"""Pausing everything, scaling a job, the order of its claims, and retries that are spaced out."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.records import Job
from dataflow.model.retries import nominal_delay, with_jitter
from dataflow.model.status import RunOutcome, WorkState
from tests.store.faults import Beside, LostAnswer, Pausing
from tests.store.races import race
from tests.store.test_costs import FEW_PAGES, pages_of
from tests.store.world import LEASE_SECONDS, PATIENCE_SECONDS, World, make_request


def prepared(world: World, **fields: Any) -> None:
    world.chain("raw", "clean", "report", **fields)
    world.ready("raw", *map(str, range(1, 6)))


# everything is paused


def test_while_everything_is_paused_no_claim_of_any_job_succeeds(world: World) -> None:
    prepared(world)
    world.do("to_clean", "1")
    assert (world.pause(), world.pause()) == (1, 0)
    assert (world.claim("to_clean"), world.claim("to_report"), world.claim("to_clean", dataid="2")) == (
        (),
    ) * 3
    assert (world.resume(), world.resume()) == (1, 0)
    world.take("to_clean", "2")
    world.take("to_report", "1")


def test_a_pause_ends_no_run_and_its_result_is_accepted(world: World) -> None:
    prepared(world)
    run = world.take("to_clean")
    world.pause()
    assert world.renew(run) == {run.run_id}
    assert world.finish(run) is WorkState.DONE


def test_work_can_be_forced_while_everything_is_paused(world: World) -> None:
    prepared(world)
    world.pause()
    assert world.force("to_clean", "3").dataid == "3"


def test_dead_runs_are_freed_while_everything_is_paused(world: World) -> None:
    prepared(world)
    run = world.take("to_clean")
    world.pause()
    world.advance(LEASE_SECONDS)
    assert not world.claim("to_clean")
    assert (world.outcome(run), world.state("to_clean", "1")) == ("LOST", "CLAIMABLE")


def test_a_pause_outlasts_the_resumption_of_one_job(world: World) -> None:
    prepared(world)
    world.hold("to_clean")
    world.pause()
    world.release("to_clean")
    assert not world.claim("to_clean")
    world.hold("to_clean")
    world.resume()
    assert not world.claim("to_clean")


def test_a_pause_is_kept_with_who_and_why_and_is_journalled(world: World) -> None:
    prepared(world)
    world.pause()
    found = world.store.read.find_pause()
    assert found is not None
    assert (found.actor, found.why, found.at[-1]) == ("op@desk", "wait", "Z")
    world.resume()
    assert world.store.read.find_pause() is None
    lines = [(line["action"], line["actor"], line["why"]) for line in world.journal()[-2:]]
    assert lines == [("pause", "op@desk", "wait"), ("resume", "op@desk", "go")]


def test_a_claim_that_looked_before_a_pause_gives_nothing_after_it(postgres_world: World) -> None:
    world = postgres_world
    prepared(world)
    database = Pausing(world.store.database.separate(PATIENCE_SECONDS), "claim.look")
    claiming, pausing = world.beside(database), world.beside()
    one = Beside(database, lambda: claiming.ask("to_clean"))
    database.pause.wait()
    world.store.database.write(lambda tx: tx.run("control.pause", actor="eve", why=""))
    database.pause.go()
    assert (one.result().runs, world.store.read.list_runs()) == ((), [])
    claiming.close()
    pausing.close()


@pytest.mark.parametrize("where", [{}, {"dataid": "400"}])
@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_a_pause_returns_when_the_claims_under_way_have_committed(
    postgres_world: World, where: dict[str, Any], order: str
) -> None:
    world = postgres_world
    world.chain("raw", "clean", order=order)
    world.ready("raw", *map(str, range(500)))
    assert race(world, lambda w: len(w.claim("to_clean", **where)), lambda w: w.pause()) == (1, 1, True)
    assert race(world, lambda w: w.resume(), lambda w: w.claim("to_clean")) == (1, (), False)


@pytest.mark.parametrize("where", [{}, {"dataid": "400"}])
def test_a_hold_of_a_job_waits_for_any_claim_under_way(postgres_world: World, where: dict[str, Any]) -> None:
    world = postgres_world
    world.chain("raw", "clean", order="newest")
    world.ready("raw", *map(str, range(500)))
    assert race(world, lambda w: len(w.claim("to_clean", **where)), lambda w: w.hold("to_clean")) == (
        1,
        1,
        True,
    )


def test_a_pause_that_waits_for_one_claim_does_not_stop_the_others_for_long(postgres_world: World) -> None:
    world = postgres_world
    prepared(world)
    world.do("to_clean", "1")
    slow = Pausing(world.store.database.separate(PATIENCE_SECONDS))
    claiming, holding, other = world.beside(slow), world.beside(), world.beside()
    one = Beside(slow, lambda: len(claiming.claim("to_clean")))
    slow.pause.wait()
    two = Beside(holding.store.database, lambda: holding.hold("to_clean"))
    assert two.wait_until_blocked()
    three = Beside(other.store.database, lambda: len(other.claim("to_report")))
    three._thread.join(10)
    assert not three._thread.is_alive(), "it waits with the hold for the slow claim"
    slow.pause.go()
    assert (one.result(), two.result(), three.result()) == (1, 1, 1)
    for opened in (claiming, holding, other):
        opened.close()


# one job is scaled


def test_a_lower_limit_ends_no_run_and_a_higher_one_lets_more_start(world: World) -> None:
    prepared(world, max_running=3)
    runs = world.claim("to_clean", 3)
    assert world.scale("to_clean", 1) == 3
    assert world.renew(*runs) == {run.run_id for run in runs}
    world.finish(runs[0])
    world.finish(runs[1])
    assert not world.claim("to_clean", 2)
    assert world.scale("to_clean", 2) == 1
    assert len(world.claim("to_clean", 2)) == 1
    assert world.scale("to_clean", 0) == 2
    assert len(world.claim("to_clean", 9)) == 1


def test_scaling_changes_nothing_else_of_a_job(world: World) -> None:
    prepared(world, retries=2)
    world.store.claim(world.plan("to_clean"), make_request(0))
    before = world.plan("to_clean").job
    world.scale("to_clean", 4)
    assert world.plan("to_clean").job == replace(before, max_running=4)
    assert [line["why"] for line in world.journal("scale")] == ["max_running: 0 → 4; busy"]
    assert world.scale("to_clean", 4) == 4
    assert len(world.journal("scale")) == 1


def test_a_job_that_was_removed_cannot_be_scaled(world: World) -> None:
    prepared(world)
    plan = world.plan("to_report")
    world.remove_job("to_report")
    with pytest.raises(errors.UnknownName, match="to_report was removed"):
        world.store.control.scale(plan, 1, "")


@pytest.mark.parametrize("before", [0, 9])
def test_a_claim_that_looked_before_a_job_was_scaled_keeps_the_new_limit(
    postgres_world: World, before: int
) -> None:
    world = postgres_world
    prepared(world, max_running=before)
    world.take("to_clean")
    database = Pausing(world.store.database.separate(PATIENCE_SECONDS), "claim.look")
    claiming = world.beside(database)
    one = Beside(database, lambda: claiming.ask("to_clean", 3))
    database.pause.wait()
    job_id = world.plan("to_clean").job_id
    world.store.database.write(lambda tx: tx.run("control.scale", job_id=job_id, max_running=1))
    database.pause.go()
    assert (one.result().runs, one.result().again) == ((), "plan")
    claiming.close()


def test_scaling_returns_when_the_claims_under_way_have_committed(postgres_world: World) -> None:
    world = postgres_world
    prepared(world)
    assert race(world, lambda w: len(w.claim("to_clean", 2)), lambda w: w.scale("to_clean", 1)) == (
        2,
        0,
        True,
    )


# newest first


def test_the_newest_dataid_is_claimed_first(world: World) -> None:
    world.chain("raw", "clean", grain="sequence", order="newest")
    world.ready("raw", "9", "10", "2", "11")
    assert [run.dataid for run in world.claim("to_clean", 2)] == ["11", "10"]
    world.hold("to_clean", "9")
    assert world.drain("to_clean") == ["2"]


def test_a_change_of_the_order_holds_for_the_next_claim(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "9", "10", "11")
    world.take("to_clean", "9")
    world.job("to_clean", ["raw"], ["clean"], order="newest")
    world.take("to_clean", "11")


def test_priority_comes_before_the_order(world: World) -> None:
    world.chain("raw", "clean", grain="sequence", order="newest")
    world.ready("raw", "9", "10", "11")
    world.poke("UPDATE work SET priority = 1 WHERE dataid = '9'")
    assert world.drain("to_clean") == ["9", "11", "10"]


def test_two_concurrent_claims_of_the_newest_do_not_wait_for_each_other(postgres_world: World) -> None:
    world = postgres_world
    world.chain("raw", "clean", grain="sequence", order="newest")
    world.ready("raw", "9", "10")
    raced = race(world, lambda w: w.take("to_clean").dataid, lambda w: w.take("to_clean").dataid)
    assert raced == ("10", "9", False)


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_a_claim_reads_few_of_the_claimable_dataids(world: World, order: str) -> None:
    world.chain("raw", "clean", grain="sequence", order=order)
    world.ready("raw", *map(str, range(30)))

    def claim() -> None:
        world.take("to_clean")

    before = pages_of(world, claim)
    world.ready("raw", *map(str, range(100, 4000)))
    world.store.count_rows()
    assert pages_of(world, claim) <= before + FEW_PAGES


# retries are spaced out


def job(**fields: float) -> Job:
    return Job("load", retries=9, **fields)  # type: ignore[arg-type]


def test_the_delay_doubles_with_each_attempt_up_to_the_longest() -> None:
    assert [nominal_delay(job(), attempt) for attempt in range(1, 9)] == [
        60, 120, 240, 480, 960, 1920, 3600, 3600,
    ]  # fmt: skip


def test_a_backoff_of_one_keeps_the_delay() -> None:
    assert {nominal_delay(job(retry_backoff=1.0), attempt) for attempt in range(1, 99)} == {60}


def test_a_first_delay_that_is_longer_than_the_longest_stays_as_it_is() -> None:
    assert {nominal_delay(job(retry_delay_seconds=7200.0), attempt) for attempt in range(1, 9)} == {7200}


def test_many_attempts_do_not_overflow() -> None:
    assert nominal_delay(job(retry_backoff=10.0), 2**31) == 3600


@pytest.mark.parametrize(("fraction", "seconds"), [(0, 48), (0.5, 60), (1, 72)])
def test_jitter_moves_a_delay_by_at_most_a_fifth(fraction: float, seconds: float) -> None:
    assert with_jitter(60, fraction) == pytest.approx(seconds)
    assert with_jitter(0, fraction) == 0


def test_work_that_failed_together_is_not_tried_together(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=1000)
    dataids = [str(number) for number in range(40)]
    world.ready("raw", *dataids)
    for run in world.claim("to_clean", 40):
        world.finish(run, RunOutcome.FAILED)
    waits = [world.work("to_clean", dataid).wait_seconds or 0 for dataid in dataids]
    assert 790 <= min(waits) < 950 and 1050 < max(waits) <= 1200


def test_a_delay_of_zero_is_no_wait(world: World) -> None:
    world.chain("raw", "clean", retries=2, retry_delay_seconds=0)
    world.ready("raw", "1")
    for attempt in (1, 2, 3):
        run = world.take("to_clean")
        assert run.attempt == attempt
        world.finish(run, RunOutcome.FAILED)
    assert world.state("to_clean", "1") == "FAILED"


# an answer is lost


def test_repeating_a_control_whose_answer_was_lost_returns_the_first_answer(world: World) -> None:
    prepared(world)
    deaf = world.beside(LostAnswer(world.store.database))
    assert (deaf.pause(), deaf.resume(), deaf.scale("to_clean", 4), deaf.pool("warehouse", 2)) == (1, 1, 0, 0)
    actions = [line["action"] for line in world.journal()][-4:]
    assert actions == ["pause", "resume", "scale", "pool set"]


def test_a_claim_stops_where_it_is_the_turn_of_another_job(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    rival = (0, 1, "9999-01-01T00:00:00.000Z")  # younger
    assert [run.dataid for run in world.claim("to_clean", 5, rival=rival)] == ["1", "2"]
    world.ready("raw", "3", "4")
    assert [run.dataid for run in world.claim("to_clean", 5, rival=(0, 1, "1970"))] == ["3"]
    assert [run.dataid for run in world.claim("to_clean", 5, rival=(1, 1, "1970"))] == ["4"]
