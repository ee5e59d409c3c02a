"""Two transactions at once on PostgreSQL around inputs with several chunks, each order forced."""

from __future__ import annotations

import pytest

from dataflow.model.records import Run
from dataflow.model.status import RunOutcome
from dataflow.store import registry
from tests.store import several_oracle
from tests.store.races import Doing, race
from tests.store.world import World

DAY = "2026-03-01"
HOURS = [f"{DAY}T{hour:02d}+00:00" for hour in range(24)]
UNIVERSE = {
    "hours": HOURS,
    "days": [DAY],
    "rules": ["a", "b", "c"],
    "parts": ["p1", "p2"],
    "sum's work": [DAY],
}


@pytest.fixture(params=[0, 1], ids=["one_first", "other_first"])
def first(request: pytest.FixtureRequest) -> int:
    """Which of the two transactions is held open while the other one starts."""
    order: int = request.param
    return order


@pytest.fixture
def hours(postgres_world: World) -> World:
    world = postgres_world
    world.dataset("hours", grain="hourly", location="")
    world.dataset("days", grain="daily", location="")
    world.dataset("rules", location="")
    world.dataset("parts", location="")
    world.dataset("sums", grain="daily")
    return world


def both(world: World, one: Doing, other: Doing, first: int) -> None:
    """Race the two in the requested order; neither may fail."""
    raced = race(world, one, other) if first == 0 else race(world, other, one)
    for found in (raced.first, raced.second):
        assert not isinstance(found, Exception), found
    several_oracle.check(world, "sum", UNIVERSE)


def test_two_hours_that_create_the_work_at_once_are_both_counted(hours: World, first: int) -> None:
    hours.job("sum", ["hours:within"], ["sums"], grain="daily")
    both(hours, lambda w: w.ready("hours", HOURS[0]), lambda w: w.ready("hours", *HOURS[1:3]), first)
    assert hours.present("sum", DAY) == [(24, 3)]


def test_the_last_two_hours_that_arrive_at_once_make_the_work_claimable(hours: World, first: int) -> None:
    hours.job("sum", ["hours:within"], ["sums"], grain="daily")
    hours.ready("hours", *HOURS[:22])
    both(hours, lambda w: w.ready("hours", HOURS[22]), lambda w: w.ready("hours", HOURS[23]), first)
    assert hours.state("sum", DAY) == "CLAIMABLE"


@pytest.mark.parametrize("others", [[], ["rules:all"]], ids=["", "beside all"])
def test_the_last_chunks_of_two_inputs_that_arrive_at_once_make_the_work_claimable(
    hours: World, first: int, others: list[str]
) -> None:
    hours.job("sum", ["hours:within", "days", *others], ["sums"], grain="daily")
    hours.ready("hours", *HOURS[:23])
    hours.ready("rules", "a")
    both(hours, lambda w: w.ready("hours", HOURS[23]), lambda w: w.ready("days", DAY), first)
    assert hours.state("sum", DAY) == "CLAIMABLE"


def test_chunks_of_two_inputs_that_are_withdrawn_at_once_are_both_missing(hours: World, first: int) -> None:
    hours.job("sum", ["hours:within", "days"], ["sums"], grain="daily")
    hours.ready("hours", *HOURS)
    hours.ready("days", DAY)
    both(hours, lambda w: w.withdraw("hours", HOURS[0]), lambda w: w.withdraw("days", DAY), first)
    assert hours.work("sum", DAY).missing == 2


def test_an_hour_withdrawn_while_another_arrives_is_counted_once(hours: World, first: int) -> None:
    hours.job("sum", ["hours:within"], ["sums"], grain="daily")
    hours.ready("hours", *HOURS[:23])
    both(hours, lambda w: w.ready("hours", HOURS[23]), lambda w: w.withdraw("hours", HOURS[0]), first)
    assert (hours.present("sum", DAY), hours.state("sum", DAY)) == ([(24, 23)], "WAITING")


def partial(world: World) -> Run:
    world.job("sum", ["hours:within at_least 20"], ["sums"], grain="daily")
    world.ready("hours", *HOURS[:20])
    return world.take("sum", DAY)


@pytest.mark.parametrize("outcome", [RunOutcome.DONE, RunOutcome.FAILED])
def test_an_hour_that_arrives_while_a_partial_run_finishes_is_read_by_the_next(
    hours: World, first: int, outcome: RunOutcome
) -> None:
    run = partial(hours)
    both(hours, lambda w: w.finish(run, outcome), lambda w: w.ready("hours", HOURS[20]), first)
    assert hours.state("sum", DAY) == "CLAIMABLE"
    assert len(hours.take("sum").pins) == 21


def test_an_hour_that_arrives_while_a_partial_run_is_claimed_is_not_missed(hours: World, first: int) -> None:
    hours.job("sum", ["hours:within at_least 20"], ["sums"], grain="daily")
    hours.ready("hours", *HOURS[:20])
    runs: list[Run] = []
    both(hours, lambda w: runs.extend(w.claim("sum")), lambda w: w.ready("hours", HOURS[20]), first)
    runs = runs or list(hours.claim("sum"))  # a claim skips work that a publisher has locked
    hours.finish(runs[0])
    several_oracle.check(hours, "sum", UNIVERSE)
    assert (hours.state("sum", DAY) == "DONE") == (len(runs[0].pins) == 21)


def test_a_chunk_of_all_that_arrives_while_the_first_run_finishes_has_it_done_again(
    hours: World, first: int
) -> None:
    hours.job("sum", ["days", "rules:all"], ["sums"], grain="daily")
    hours.ready("days", DAY)
    hours.ready("rules", "a")
    run = hours.take("sum", DAY)
    both(hours, lambda w: w.finish(run), lambda w: w.ready("rules", "b"), first)
    assert hours.state("sum", DAY) == "CLAIMABLE"
    assert hours.status("sums", DAY) == "STALE"


def test_a_chunk_of_all_that_arrives_while_work_is_claimed_for_the_first_time_is_not_missed(
    hours: World, first: int
) -> None:
    hours.job("sum", ["days", "rules:all"], ["sums"], grain="daily")
    hours.ready("days", DAY)
    hours.ready("rules", "a")
    runs: list[Run] = []

    def work(world: World) -> None:
        """Claim and finish while the publisher has not committed yet."""
        runs.extend(world.claim("sum"))
        for run in runs:
            world.finish(run)

    both(hours, lambda w: w.ready("rules", "b"), work, first)
    if not runs:
        work(hours)
    several_oracle.check(hours, "sum", UNIVERSE)


def test_a_job_registered_while_its_hours_arrive_counts_each_once(hours: World, first: int) -> None:
    hours.ready("hours", *HOURS[:3])
    change: Doing = lambda w: w.job("sum", ["hours:within"], ["sums"], grain="daily")  # noqa: E731
    raced: Doing = lambda w: w.ready("hours", *HOURS[3:5])  # noqa: E731
    both(hours, raced, change, first)
    assert hours.present("sum", DAY) == [(24, 5)]


def test_pairs_replaced_while_a_chunk_arrives_are_counted_once(hours: World, first: int) -> None:
    hours.job("sum", ["parts:pairs"], ["sums"], grain="daily")
    dataset_id = hours.dataset_record("parts")[0]

    def load(world: World) -> None:
        plan = world.plan("sum")
        pairs = [(DAY, "p1"), (DAY, "p2")]
        world.store.register(lambda tx: registry.set_pairs(tx, plan, dataset_id, pairs))

    both(hours, load, lambda w: w.ready("parts", "p1"), first)
    assert hours.present("sum", DAY) == [(2, 1)]


def test_an_hour_that_arrives_while_the_deadline_is_noticed_counts(hours: World, first: int) -> None:
    hours.job("sum", ["hours:within by 06:00 then partial"], ["sums"], grain="daily")
    hours.ready("hours", HOURS[0])
    one: Doing = lambda w: w.claim("sum")  # noqa: E731
    other: Doing = lambda w: w.ready("hours", HOURS[1])  # noqa: E731
    raced = race(hours, one, other) if first == 0 else race(hours, other, one)
    assert not isinstance(raced.first, Exception) and not isinstance(raced.second, Exception)
    assert hours.present("sum", DAY)[0][1] == 2
    runs = [*(raced.first if first == 0 else raced.second), *hours.claim("sum")]
    assert len(runs) == 1
    hours.finish(runs[0])
    assert (hours.state("sum", DAY) == "DONE") == (len(runs[0].pins) == 2)
