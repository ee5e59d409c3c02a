"""The grid: every count equals what the view that people see shows, whatever happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataflow.actions.chunk_list import describe_chunk, get_chunk_page
from dataflow.actions.grid import MOST_BLOCKS, Grid, Zoom, get_grid
from dataflow.errors import BadInput, DataFlowError, UnknownName
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import as_tree
from dataflow.model.status import RunOutcome, Status, WorkState
from dataflow.store import grid_reads
from dataflow.store.postgres import PostgresTransaction
from tests.store.world import TABLES, World

DATAIDS = ("1", "2", "9", "10", "11", "100")
Move = Callable[[World, str], object]

MOVES: dict[str, Move] = {
    "ready": lambda w, one: w.ready("raw", one),
    "ready again": lambda w, one: w.ready("raw", one, again=True),
    "withdraw input": lambda w, one: w.withdraw("raw", one),
    "make by hand": lambda w, one: w.ready("clean", one),
    "withdraw": lambda w, one: w.withdraw("clean", one),
    "do": lambda w, one: w.do("to_clean"),
    "take": lambda w, one: w.take("to_clean"),
    "fail": lambda w, one: w.do("to_clean", outcome=RunOutcome.FAILED),
    "find invalid": lambda w, one: w.do("to_clean", outcome=RunOutcome.INVALID),
    "hand back": lambda w, one: w.do("to_clean", outcome=RunOutcome.RETURNED, delay_seconds=9),
    "hold": lambda w, one: w.hold("to_clean", one),
    "release": lambda w, one: w.release("to_clean", one),
    "hold job": lambda w, one: w.hold("to_clean"),
    "release job": lambda w, one: w.release("to_clean"),
    "resubmit": lambda w, one: w.resubmit("to_clean", one),
    "mark done": lambda w, one: w.mark("to_clean", one, WorkState.DONE),
    "mark invalid": lambda w, one: w.mark("to_clean", one, WorkState.INVALID),
    "first": lambda w, one: w.job("to_clean", ["raw"], ["clean"], priority=5),
    "last": lambda w, one: w.job("to_clean", ["raw"], ["clean"], priority=-5),
    "more outputs": lambda w, one: w.job("to_clean", ["raw"], ["clean", "extra"]),
    "fewer outputs": lambda w, one: w.job("to_clean", ["raw"], ["clean"]),
}
"""What may happen to raw → clean, extra."""


def seen(world: World, dataset: str, grain: Grain) -> dict[str, str]:
    """The status of each chunk by the view, in order."""
    rows = world.select(f"SELECT dataid, status FROM named_chunk WHERE dataset = '{dataset}'")
    return dict(sorted(rows, key=lambda row: sort_key(row[0], grain)))


def shown(grid: Grid) -> dict[str, str]:
    """The status of each chunk by a grid of single chunks."""
    assert grid.level == "chunk" or not grid.blocks
    return {block.first: block.status for block in grid.blocks}


def pages(world: World, dataset: str, status: str) -> list[tuple[str, str]]:
    """The chunks of all pages of two."""
    found: list[tuple[str, str]] = []
    after: str | None = ""
    while after is not None:
        page = get_chunk_page(world.store, dataset, after, 2, status)
        found += [(chunk.dataid, chunk.status) for chunk in page.chunks]
        after = page.next
    return found


def check(world: World, dataset: str) -> None:
    """Compares the grid of single chunks, the grid of blocks and the totals with the view."""
    expected = seen(world, dataset, Grain.SEQUENCE)
    grid = get_grid(world.store, dataset)
    assert shown(grid) == expected
    assert grid.counts == Counter(expected.values())
    for status in ("", *Status):
        wanted = [(one, found) for one, found in expected.items() if status in ("", found)]
        assert pages(world, dataset, status) == wanted
    read, dataset_id = world.store.read, world.dataset_record(dataset)[0]
    for most in (1, 2, 3):
        blocks = read.count_blocks(dataset_id, "", "\U0010ffff", most)
        covered: list[str] = []
        for block in blocks:
            dataids = list(expected)
            inside = dataids[dataids.index(block.first) : dataids.index(block.last) + 1]
            assert block.counts == Counter(expected[one] for one in inside)
            covered += inside
        assert covered == list(expected)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(MOVES)), st.sampled_from(DATAIDS)), max_size=25),
    st.sampled_from((2, 3, grid_reads.FIRST_STEP)),
    st.sampled_from((0, 1, 1000)),
)
def test_counts_equal_the_view_whatever_happened_and_however_they_are_counted(
    world: World, moves: list[tuple[str, str]], step: int, cost: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grid_reads, "FIRST_STEP", step)
        patch.setattr(PostgresTransaction, "search_cost", cost)
        check_after(world, moves)


def check_after(world: World, moves: list[tuple[str, str]]) -> None:
    """Makes an empty raw → clean, extra, moves it, and compares."""
    for table in TABLES:
        world.poke(f"DELETE FROM {table}")
    for name in ("raw", "clean", "extra"):
        world.dataset(name, grain="sequence")
    world.job("to_clean", ["raw"], ["clean"])
    for move, dataid in moves:
        try:
            MOVES[move](world, dataid)
        except (DataFlowError, IndexError, AssertionError):
            continue  # a move that is refused changes nothing
    for name in ("raw", "clean", "extra"):
        check(world, name)


def test_work_that_was_done_before_its_job_got_an_output_is_pending_there(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.dataset("extra", grain="sequence")
    world.ready("raw", "1", "2")
    world.do("to_clean", "1")
    world.job("to_clean", ["raw"], ["clean", "extra"])
    world.do("to_clean", "2")
    assert shown(get_grid(world.store, "extra")) == {"1": "PENDING", "2": "READY"}
    world.job("to_clean", ["raw"], ["clean"])
    world.remove_dataset("extra")
    assert world.select("SELECT dataset_id FROM late_output") == []


def names(grid: Grid) -> list[str]:
    return [block.name for block in grid.blocks]


def test_a_daily_dataset_is_shown_by_year_month_and_day(world: World) -> None:
    world.chain("raw", "clean", grain="daily")
    world.ready("raw", "2024-12-31", "2026-01-01", "2026-01-31", "2026-02-01")
    world.do("to_clean", "2024-12-31")
    world.take("to_clean", "2026-01-01")
    years = get_grid(world.store, "clean")
    assert (years.level, names(years)) == ("year", ["2024", "2026"])
    assert [block.counts for block in years.blocks] == [{"READY": 1}, {"RUNNING": 1, "PENDING": 2}]
    assert (years.first, years.last, years.total) == ("2024-12-31", "2026-02-01", 4)
    months = get_grid(world.store, "clean", Zoom("2026"))
    assert (months.level, names(months)) == ("month", ["2026-01", "2026-02"])
    assert (months.blocks[0].first, months.blocks[0].last) == ("2026-01-01", "2026-01-31")
    days = get_grid(world.store, "clean", Zoom("2026-01"))
    assert shown(days) == {"2026-01-01": "RUNNING", "2026-01-31": "PENDING"}
    assert as_tree(days)["blocks"][0]["counts"] == {"RUNNING": 1}


def test_hours_belong_to_the_day_of_the_dataset_s_time_zone(world: World) -> None:
    world.dataset("h", grain="hourly", timezone="Europe/Berlin")
    last = "2025-12-31T23+01:00"
    hours = [last, "2026-01-01T00+01:00", "2026-10-25T02+02:00", "2026-10-25T02+01:00", "2026-10-26T00+01:00"]
    world.ready("h", *hours)
    assert [(block.name, block.total) for block in get_grid(world.store, "h").blocks] == [
        ("2025", 1),
        ("2026", 4),
    ]
    assert names(get_grid(world.store, "h", Zoom("2026"))) == ["2026-01", "2026-10"]
    days = get_grid(world.store, "h", Zoom("2026-10"))
    assert [(block.name, block.total) for block in days.blocks] == [("2026-10-25", 2), ("2026-10-26", 1)]
    assert list(shown(get_grid(world.store, "h", Zoom("2026-10-25")))) == hours[2:4]


@pytest.mark.parametrize(
    ("grain", "dataids"),
    [
        ("weekly", ["2026-08-16", "2026-08-23"]),
        ("monthly", ["2026-08", "2026-12"]),
        ("quarterly", ["2026-Q1", "2026-Q4"]),
    ],
)
def test_the_year_of_a_coarser_grain_shows_single_chunks(
    world: World, grain: str, dataids: list[str]
) -> None:
    world.dataset("d", grain=grain)
    world.ready("d", *dataids)
    assert names(get_grid(world.store, "d")) == ["2026"]
    assert list(shown(get_grid(world.store, "d", Zoom("2026")))) == dataids


def test_the_ends_of_the_calendar_are_shown(world: World) -> None:
    for grain, dataids in {
        "hourly": ["0001-01-01T05+00:00", "9999-12-31T23+00:00"],
        "yearly": ["0001", "9999"],
    }.items():
        world.dataset(grain, grain=grain)
        world.ready(grain, *dataids)
        assert [block.first for block in get_grid(world.store, grain).blocks] == dataids


def test_many_chunks_make_about_400_blocks_that_zoom_to_single_chunks(world: World) -> None:
    world.dataset("s", grain="sequence")
    numbers = [str(number) for number in range(5000)]
    world.ready("s", *numbers)
    grid = get_grid(world.store, "s")
    assert grid.level == "block"
    assert MOST_BLOCKS / 2 <= len(grid.blocks) <= MOST_BLOCKS
    assert (grid.total, grid.counts) == (5000, {"READY": 5000})
    assert max(block.total for block in grid.blocks) <= 3 * 5000 / MOST_BLOCKS
    block = grid.blocks[7]
    near = get_grid(world.store, "s", Zoom(first=block.first, last=block.last))
    assert list(shown(near)) == numbers[int(block.first) : int(block.last) + 1]


def test_work_without_chunks_is_divided_into_blocks_too(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", *[str(number) for number in range(2000)])
    grid = get_grid(world.store, "clean")
    assert grid.counts == {"PENDING": 2000}
    assert len(grid.blocks) >= MOST_BLOCKS / 2


def test_a_dataset_without_chunks_has_an_empty_grid(world: World) -> None:
    world.dataset("d", grain="daily")
    world.dataset("t")
    for name in ("d", "t"):
        assert get_grid(world.store, name).blocks == ()


@pytest.mark.parametrize(
    "zoom", [Zoom("2026-13"), Zoom("2026-08-20"), Zoom("x"), Zoom("2026", first="2026-01-01")]
)
def test_a_zoom_that_does_not_exist_is_refused(world: World, zoom: Zoom) -> None:
    world.dataset("d", grain="daily")
    with pytest.raises(BadInput):
        get_grid(world.store, "d", zoom)


def test_a_range_that_ends_before_it_starts_is_refused(world: World) -> None:
    world.dataset("s", grain="sequence")
    with pytest.raises(BadInput, match="Swap them"):
        get_grid(world.store, "s", Zoom(first="9", last="1"))


def test_an_unknown_dataset_is_named(world: World) -> None:
    with pytest.raises(UnknownName, match="nothing"):
        get_grid(world.store, "nothing")


def test_a_page_names_readers_and_goes_on_after_a_dataid_that_does_not_exist(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1", "5", "10")
    run = world.take("to_clean", "1")
    page = get_chunk_page(world.store, "raw", most=2)
    assert [chunk.readers for chunk in page.chunks] == [(run.run_id,), ()]
    assert page.next == "5"
    assert [chunk.dataid for chunk in get_chunk_page(world.store, "raw", after="7").chunks] == ["10"]
    assert list(page.chunks) == [describe_chunk(chunk) for chunk in world.chunks("raw")[:2]]


def test_a_page_without_a_limit_is_refused(world: World) -> None:
    world.dataset("raw")
    for most in (0, 1001):
        with pytest.raises(BadInput, match="1 to 1,000"):
            get_chunk_page(world.store, "raw", most=most)
