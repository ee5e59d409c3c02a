"""Random sequences of verbs over inputs with several chunks: the counts are those of a slow oracle."""

from __future__ import annotations

import random

import pytest

from dataflow.actions.oracle import list_discrepancies
from dataflow.model.records import Run
from dataflow.model.status import RunOutcome
from dataflow.store import registry
from tests.store import several_oracle
from tests.store.world import World

DAYS = ["2026-03-30", "2026-03-31", "2026-04-01"]
HOURS = [f"{day}T{hour:02d}+00:00" for day in DAYS for hour in range(24)]
MONTHS = ["2026-03", "2026-04"]
RULES = ["a", "b"]
PARTS = ["p1", "p2", "p3"]
# Windows and months reach beyond the days that are ever published.
MARCH = [f"2026-{month:02d}-{day:02d}" for month, most in ((3, 31), (4, 30)) for day in range(1, most + 1)]
UNIVERSE = {"hours": HOURS, "days": MARCH, "rules": RULES, "parts": PARTS}
WORKS = {"by_day": DAYS, "by_month": MONTHS, "by_hour": HOURS, "by_window": MARCH, "by_list": DAYS}
STEPS = 40


def make(world: World) -> None:
    world.dataset("hours", grain="hourly", location="")
    world.dataset("days", grain="daily", location="")
    world.dataset("rules", location="")
    world.dataset("parts", location="")
    for name, grain in (("day_sums", "daily"), ("month_sums", "monthly"), ("rated", "hourly")):
        world.dataset(name, grain=grain)
    for name in ("smooth", "joined"):
        world.dataset(name, grain="daily")
    world.job("by_day", ["days", "hours:within at_least 22", "rules:all"], ["day_sums"], grain="daily")
    world.job("by_month", ["days:within at_least 2"], ["month_sums"], grain="monthly")
    world.job("by_hour", ["hours", "days:containing"], ["rated"], grain="hourly")
    world.job("by_window", ["days:window(-1, 1) at_least 2", "days"], ["smooth"], grain="daily")
    world.job("by_list", ["parts:pairs", "days"], ["joined"], grain="daily")
    set_pairs(world, [(DAYS[0], "p1"), (DAYS[0], "p2"), (DAYS[1], "p2")])


def set_pairs(world: World, pairs: list[tuple[str, str]]) -> None:
    plan, dataset_id = world.plan("by_list"), world.dataset_record("parts")[0]
    world.store.register(lambda tx: registry.set_pairs(tx, plan, dataset_id, pairs))


class Sequence:
    """One random sequence of verbs."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.random = random.Random(seed)
        self.running: list[Run] = []

    def step(self) -> None:
        acts = [self.ready] * 5 + [
            self.withdraw,
            self.claim,
            self.claim,
            self.end,
            self.end,
            self.force,
            self.change,
        ]
        self.random.choice(acts)()

    def some_chunks(self) -> tuple[str, list[str]]:
        name, all_of_it = self.random.choice(
            [("hours", HOURS), ("days", DAYS), ("rules", RULES), ("parts", PARTS)]
        )
        if name == "hours" and self.random.random() < 0.6:  # most of a day at once
            day = self.random.choice(DAYS)
            some = [hour for hour in all_of_it if hour.startswith(day)]
            return name, self.random.sample(some, self.random.randint(18, 24))
        return name, self.random.sample(all_of_it, self.random.randint(1, min(3, len(all_of_it))))

    def ready(self) -> None:
        name, dataids = self.some_chunks()
        self.world.ready(name, *dataids, again=self.random.random() < 0.3)

    def withdraw(self) -> None:
        name, dataids = self.some_chunks()
        self.world.withdraw(name, *dataids[:3])

    def claim(self) -> None:
        self.running += self.world.claim(self.random.choice(list(WORKS)))

    def force(self) -> None:
        job = self.random.choice(list(WORKS))
        dataid = self.random.choice(WORKS[job])
        if self.world.state(job, dataid) != "RUNNING":
            self.running.append(self.world.force(job, dataid))

    def end(self) -> None:
        if self.running:
            run = self.running.pop(self.random.randrange(len(self.running)))
            self.world.finish(run, self.random.choice([RunOutcome.DONE] * 3 + [RunOutcome.FAILED]))

    def change(self) -> None:
        """Another rule, another list: the work is counted again."""
        if self.random.random() < 0.5:
            rule = self.random.choice(["", " at_least 1", " at_least 2"])
            self.world.job("by_month", [f"days:within{rule}"], ["month_sums"], grain="monthly")
        else:
            rule = self.random.choice(["", " at_least 22"])
            self.world.job(
                "by_day", ["days", f"hours:within{rule}", "rules:all"], ["day_sums"], grain="daily"
            )

    def check(self) -> None:
        for job, works in WORKS.items():
            several_oracle.check(self.world, job, UNIVERSE | {f"{job}'s work": works})
            assert list_discrepancies(self.world.store, self.world.plan(job)) == []


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in (1, 2, 3))])
def test_counts_states_and_staleness_follow_from_what_is_published(world: World, seed: int) -> None:
    make(world)
    sequence = Sequence(world, seed)
    for _ in range(STEPS):
        sequence.step()
        sequence.check()


@pytest.mark.full
@pytest.mark.parametrize("seed", range(100, 130))
def test_counts_follow_in_many_more_sequences(sqlite_world: World, seed: int) -> None:
    make(sqlite_world)
    sequence = Sequence(sqlite_world, seed)
    for _ in range(2 * STEPS):
        sequence.step()
        sequence.check()
