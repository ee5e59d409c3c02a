"""What a publish costs does not grow with the work that waits: counted in pages, never in time."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from dataflow.model.grain import Grain
from dataflow.model.nesting import parts_of
from tests.store.world import World

FEW_PAGES = 60
"""What deeper trees may cost."""
MANY = 20_000


def days_from(first: str, count: int) -> list[str]:
    start = date.fromisoformat(first)
    return [(start + timedelta(number)).isoformat() for number in range(count)]


def pages_of_ready(world: World, dataset: str, *dataids: str) -> int:
    world.store.count_rows()
    before = world.store.database.count_pages()
    world.ready(dataset, *dataids)
    return world.store.database.count_pages() - before


def fill(world: World, dataset: str, dataids: list[str]) -> None:
    for start in range(0, len(dataids), 4000):
        world.ready(dataset, *dataids[start : start + 4000])


@pytest.mark.full
@pytest.mark.parametrize(
    "mapping", ["hours:within", "hours:within at_least 3", "hours:within by 06:00 then partial"]
)
def test_an_hour_costs_as_much_among_many_waiting_days_as_among_few(world: World, mapping: str) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["days", mapping], [])
    fill(world, "days", days_from("1950-01-01", 100))
    pages_of_ready(world, "hours", "1950-01-01T00+00:00")
    few = pages_of_ready(world, "hours", "1950-01-01T01+00:00")
    fill(world, "days", days_from("1951-01-01", MANY))
    pages_of_ready(world, "hours", "1951-01-01T00+00:00")
    assert pages_of_ready(world, "hours", "1951-01-01T01+00:00") <= few + FEW_PAGES


def test_a_chunk_of_a_list_costs_as_much_in_a_long_list_as_in_a_short_one(world: World) -> None:
    from dataflow.store import registry

    world.dataset("parts")
    world.dataset("files")
    world.job("join", ["files", "parts:pairs"], [])
    dataset_id = world.dataset_record("parts")[0]

    def load(count: int) -> None:
        pairs = [(f"f{number}", f"p{number + each}") for number in range(count) for each in (0, 1)]
        plan = world.plan("join")
        world.store.register(lambda tx: registry.set_pairs(tx, plan, dataset_id, pairs))

    load(100)
    world.ready("files", *[f"f{number}" for number in range(100)])
    pages_of_ready(world, "parts", "p1")
    few = pages_of_ready(world, "parts", "p3")
    load(MANY // 2)
    fill(world, "files", [f"f{number}" for number in range(100, MANY // 2)])
    pages_of_ready(world, "parts", "p5001")
    # The least of three: what else the server does only adds pages.
    many = min(pages_of_ready(world, "parts", f"p{number}") for number in (5003, 5005, 5007))
    assert many <= few + FEW_PAGES


@pytest.mark.full
def test_the_last_hour_of_a_year_costs_as_much_as_the_last_hour_of_a_day(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.dataset("years", grain="yearly")
    world.job("by_day", ["hours:within"], ["days"], grain="daily")
    hours = parts_of("2024", Grain.YEARLY, Grain.HOURLY, "UTC")
    fill(world, "hours", list(hours[:23]))
    few = pages_of_ready(world, "hours", hours[23])
    world.remove_job("by_day")
    world.job("by_year", ["hours:within"], ["years"], grain="yearly")
    fill(world, "hours", list(hours[24:-1]))
    assert pages_of_ready(world, "hours", hours[-1]) <= few + FEW_PAGES
    assert world.state("by_year", "2024") == "CLAIMABLE"


@pytest.mark.full
def test_a_claim_costs_as_much_beside_many_deadlines_as_beside_few(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["hours:within by 06:00 then partial"], ["days"], grain="daily")

    def pages_of_claim() -> int:
        """The least of some claims: the first ones read what only a new plan needs."""
        world.store.count_rows()
        found = []
        for _ in range(4):
            before = world.store.database.count_pages()
            assert len(world.claim("sum")) == 1
            found.append(world.store.database.count_pages() - before)
        return min(found)

    fill(world, "hours", [f"{day}T00+00:00" for day in days_from("2026-03-01", 10)])
    fill(world, "hours", [f"{day}T00+00:00" for day in days_from("2900-01-01", 1000)])
    few = pages_of_claim()
    fill(world, "hours", [f"{day}T00+00:00" for day in days_from("2950-01-01", MANY)])
    assert pages_of_claim() <= few + FEW_PAGES
