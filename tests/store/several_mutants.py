"""The guards in the statements about inputs with several chunks."""

from __future__ import annotations

from dataflow.model.status import RunOutcome
from tests.store import test_several_inputs as several
from tests.store import test_several_races as races
from tests.store.mutants import EVERYTHING, Mutant
from tests.store.races import race
from tests.store.several_oracle import check
from tests.store.world import World

HOURS = several.HOURS


def make(world: World, rule: str = "at_least 1", **fields: int) -> None:
    """Hours that a job makes, and a day made from them."""
    world.dataset("raw", grain="hourly", location="")
    world.dataset("hours", grain="hourly", location=str(fields.pop("location", "")))
    world.dataset("days", grain="daily")
    world.job("to_hours", ["raw"], ["hours"])
    world.job("sum", [f"hours:within {rule}"], ["days"], grain="daily", **fields)


def pinned(world: World) -> list[str]:
    return [pin.dataid for pin in world.take("sum", several.DAY).pins]


def withdrawn_hour_is_not_pinned(world: World) -> None:
    make(world)
    world.ready("hours", *HOURS[:2])
    world.withdraw("hours", HOURS[0])
    assert pinned(world) == [HOURS[1]]


def stale_hour_is_not_pinned(world: World) -> None:
    make(world)
    world.ready("raw", *HOURS[:2])
    world.drain("to_hours")
    world.ready("raw", HOURS[0], again=True)
    assert pinned(world) == [HOURS[1]]


def hour_that_is_being_overwritten_is_not_pinned(world: World) -> None:
    make(world)
    world.ready("raw", *HOURS[:2])
    world.drain("to_hours")
    world.resubmit("to_hours", HOURS[0])
    world.take("to_hours", HOURS[0])
    assert pinned(world) == [HOURS[1]]


def running_work_is_not_given_twice_after_its_deadline(world: World) -> None:
    make(world, "by 06:00 then partial")
    world.force("sum", several.DAY)
    world.ready("hours", HOURS[0])
    assert world.claim("sum") == ()
    assert world.state("sum", several.DAY) == "RUNNING"


def work_that_waits_for_its_retry_waits_after_its_deadline(world: World) -> None:
    make(world, "by 06:00 then partial", retries=1)
    world.finish(world.force("sum", several.DAY), RunOutcome.FAILED)
    world.ready("hours", HOURS[0])
    assert world.claim("sum") == ()


def one_deadline_of_two_is_over(world: World) -> None:
    """The clock of the world shows eight in the morning of the day after."""
    day, hour = "2027-01-14", "2027-01-14T00+00:00"
    for name in ("hours", "others"):
        world.dataset(name, grain="hourly")
    world.dataset("days", grain="daily")
    rules = ["hours:within by 06:00 then partial", "others:within by 23:00 then partial"]
    world.job("sum", rules, ["days"], grain="daily")
    world.ready("hours", hour)
    world.ready("others", hour)
    assert world.claim("sum") == ()
    assert world.present("sum", day) == [(1, 1), (24, 1)]
    world.advance(16 * 3600)
    assert len(world.claim("sum")) == 1


SEVERAL = [
    Mutant("several.pin", "AND NOT c.withdrawn", withdrawn_hour_is_not_pinned),
    Mutant("several.pin", "AND NOT c.stale", stale_hour_is_not_pinned),
    Mutant("several.pin", "AND c.dirty_run_id IS NULL", hour_that_is_being_overwritten_is_not_pinned),
    Mutant(
        "several.promote",
        "AND state = 'WAITING'",
        running_work_is_not_given_twice_after_its_deadline,
        constraint="run.job_id",
    ),
    Mutant(
        "several.promote",
        "AND missing = 0",
        several.test_after_the_deadline_work_without_any_chunk_goes_on_waiting,
    ),
    Mutant(
        "several.promote",
        "AND not_before IS NULL",
        work_that_waits_for_its_retry_waits_after_its_deadline,
        constraint="not_before",
    ),
    Mutant(
        "several.relax_work",
        "AND x.present < x.needed",
        several.test_after_the_deadline_a_claim_takes_what_there_is,
    ),
    Mutant("several.relax", "AND deadline <= $due_now", one_deadline_of_two_is_over),
    Mutant("several.end_deadlines", "AND deadline <= $due_now", one_deadline_of_two_is_over),
]


def chunk_of_all_beside_a_first_run(world: World) -> None:
    """A chunk that a run of `all` has missed has its work done again, whoever commits first."""
    world.dataset("days", grain="daily", location="")
    world.dataset("rules", location="")
    world.dataset("sums", grain="daily")
    world.job("sum", ["days", "rules:all"], ["sums"], grain="daily")
    world.ready("days", several.DAY)
    world.ready("rules", "a")

    def work(beside: World) -> None:
        for run in beside.claim("sum"):
            beside.finish(run)

    race(world, lambda beside: beside.ready("rules", "b"), work)
    check(world, "sum", races.UNIVERSE)


SEVERAL_LOCKS = [Mutant("cover.lock", EVERYTHING, chunk_of_all_beside_a_first_run)]
