"""The grid of a dataset as a drawing: where each cell stands, how it is shaded and where it leads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from dataflow.actions.grid import BLOCK, CHUNK, DAY
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.status import Status
from dataflow.web.html import path_to
from dataflow.web.statuses import STATUSES

GAP = 4
LEAST_SLICE = 2.0
"""Height of a slice, so that one failure among a million chunks is seen."""
WORST_FIRST = (
    *(Status.FAILED, Status.INVALID, Status.STALE, Status.HOLD),
    *(Status.RESUBMIT, Status.RUNNING, Status.PENDING, Status.READY),
)


@record
class Shape:
    """How the cells of a level are laid out; `labelled`: a cell has its name in it."""

    columns: int
    width: int
    height: int
    labelled: bool = True


DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HEADING = 18
WIDE, WEEK, SMALL = Shape(6, 120, 46), Shape(7, 62, 40), Shape(32, 22, 22, labelled=False)


@record
class Slice:
    """The part of a cell that one status has."""

    kind: str
    top: float
    height: float


@record
class Cell:
    """One cell: its place, its slices from the top, its name, the icon of its worst status, its link."""

    left: int
    top: int
    name: str
    label: str
    icon: str
    slices: tuple[Slice, ...]
    path: str
    first: str
    last: str


@record
class Drawing:
    """All cells, and the size of the drawing; a calendar has the days of the week above its columns."""

    width: int
    height: int
    shape: Shape
    cells: tuple[Cell, ...]
    days: tuple[str, ...]


@record
class Crumb:
    """A step back up: what it shows and where it leads."""

    name: str
    path: str


def draw(grid: Mapping[str, Any]) -> Drawing:
    """Return the drawing of a grid as the API describes it."""
    blocks, period = grid["blocks"], grid["zoom"]
    shape, places = _layout(grid["grain"], grid["level"], period, blocks)
    cells = tuple([_cell(grid, block, shape, place) for block, place in zip(blocks, places, strict=True)])
    rows = 1 + max((place // shape.columns for place in places), default=0)
    columns = shape.columns if len(places) >= shape.columns or shape is WEEK else max(len(places), 1)
    width, height = columns * (shape.width + GAP) - GAP, rows * (shape.height + GAP) - GAP
    is_calendar = shape is WEEK
    return Drawing(width, height + HEADING * is_calendar, shape, cells, DAYS if is_calendar else ())


def _layout(
    grain: str, level: str, period: str, blocks: Sequence[Mapping[str, Any]]
) -> tuple[Shape, list[int]]:
    """Return the shape of the cells and the number of each one's place, row by row."""
    if level == DAY or (level == CHUNK and grain == Grain.DAILY and len(period) == 7):
        days = [date.fromisoformat(block["name"]) for block in blocks]
        shift = date.fromisoformat(f"{period}-01").weekday()
        return WEEK, [shift + day.day - 1 for day in days]
    if level == BLOCK or (level == CHUNK and len(blocks) > 60):
        return SMALL, list(range(len(blocks)))
    return WIDE, list(range(len(blocks)))


def _cell(grid: Mapping[str, Any], block: Mapping[str, Any], shape: Shape, place: int) -> Cell:
    counts = block["counts"]
    icon = next((STATUSES[status].icon for status in WORST_FIRST if counts.get(status)), "")
    left = place % shape.columns * (shape.width + GAP)
    top = place // shape.columns * (shape.height + GAP) + HEADING * (shape is WEEK)
    name = _short(block["name"], grid["level"], grid["grain"]) if shape.labelled else ""
    ends = ("", "") if block["total"] == 0 else (block["first"], block["last"])
    return Cell(
        *(left, top, name, _label(block), icon, _slices(counts, block["total"], shape.height)),
        *(_path(grid, block), *ends),
    )


def _slices(counts: Mapping[str, int], total: int, height: int) -> tuple[Slice, ...]:
    """Return the shares of a cell; the small ones are drawn larger than they are, the largest less."""
    present = [status for status in WORST_FIRST if counts.get(status)]
    sizes = {status: max(LEAST_SLICE, height * counts[status] / total) for status in present}
    if present:
        largest = max(present, key=lambda status: counts[status])
        sizes[largest] -= sum(sizes.values()) - height
    found, top = [], 0.0
    for status in present:
        found.append(Slice(STATUSES[status].kind, round(top, 1), round(sizes[status], 1)))
        top += sizes[status]
    return tuple(found)


def _label(block: Mapping[str, Any]) -> str:
    if block["total"] == 1:
        return f"{block['first']}: {block['status']}"
    ends = block["name"] if block["first"] != block["name"] else f"{block['first']} to {block['last']}"
    shares = ", ".join([f"{count:,} {status}" for status, count in block["counts"].items()])
    return f"{ends}: {shares or 'no chunks'}"


def _short(name: str, level: str, grain: str) -> str:
    """Return what is left of a name inside its period: the day of a month, the hour of a day."""
    if level == DAY or (level == CHUNK and grain == Grain.DAILY):
        return name[-2:]
    if level == CHUNK and grain == Grain.HOURLY:
        return name[11:16] + name[16:].replace("Z", "")
    return name if len(name) <= 14 else f"{name[:13]}…"


def _path(grid: Mapping[str, Any], block: Mapping[str, Any]) -> str:
    """Return where a cell leads: one step nearer."""
    if block["total"] == 0:
        return ""
    if grid["level"] == CHUNK:
        return path_to("chunks", grid["dataset"], dataid=block["first"])
    if grid["level"] == BLOCK:
        if block["total"] == 1:
            return path_to("chunks", grid["dataset"], dataid=block["first"])
        return path_to("datasets", grid["dataset"], **{"from": block["first"], "to": block["last"]})
    return path_to("datasets", grid["dataset"], period=block["name"])


def list_crumbs(grid: Mapping[str, Any], first: str | None, last: str | None) -> list[Crumb]:
    """Return the way back up to the whole dataset, and at last what is shown now."""
    name, period = grid["dataset"], grid["zoom"]
    crumbs = [Crumb("all", path_to("datasets", name))]
    crumbs += [
        Crumb(period[:size], path_to("datasets", name, period=period[:size]))
        for size in (4, 7, 10)
        if len(period) >= size
    ]
    if first or last:
        crumbs.append(Crumb(f"{first or 'start'} to {last or 'end'}", ""))
    return crumbs
