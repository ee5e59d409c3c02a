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
LEAST_SHARE = 2.0
"""Height of a share, so that one failure among a million chunks is seen."""
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
class Cell:
    """One cell: its place, its name, what it holds, the icon of its worst status, and where it leads.

    `first` and `last` are the dataids of a period; those of other cells are in the path.
    """

    left: int
    top: int
    name: str
    label: str
    icon: str
    path: str
    first: str
    last: str


@record
class Drawing:
    """All cells, and the size of the drawing; a calendar has the days of the week above its columns.

    `shades` has the outline of the shares of each kind of status in all cells: a few paths, not thousands.
    """

    width: int
    height: int
    shape: Shape
    cells: tuple[Cell, ...]
    shades: Mapping[str, str]
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
    cells = [_cell(grid, block, shape, place) for block, place in zip(blocks, places, strict=True)]
    rows = 1 + max((place // shape.columns for place in places), default=0)
    columns = shape.columns if len(places) >= shape.columns or shape is WEEK else max(len(places), 1)
    width, height = columns * (shape.width + GAP) - GAP, rows * (shape.height + GAP) - GAP
    is_calendar = shape is WEEK
    shades = _shades(blocks, cells, shape)
    days = DAYS if is_calendar else ()
    return Drawing(width, height + HEADING * is_calendar, shape, tuple(cells), shades, days)


def _shades(blocks: Sequence[Mapping[str, Any]], cells: Sequence[Cell], shape: Shape) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for block, cell in zip(blocks, cells, strict=True):
        top = float(cell.top)
        for kind, height in _shares(block["counts"], block["total"], shape.height):
            outline = f"M{cell.left} {top:g}h{shape.width}v{height:g}h-{shape.width}z"
            found.setdefault(kind, []).append(outline)
            top = round(top + height, 1)
    return {kind: "".join(outlines) for kind, outlines in found.items()}


def _layout(
    grain: str, level: str, period: str, blocks: Sequence[Mapping[str, Any]]
) -> tuple[Shape, list[int]]:
    """Return the shape of the cells and the number of each one's place, row by row."""
    if level == DAY or (level == CHUNK and grain == Grain.DAILY and len(period) == 7):
        days = [date.fromisoformat(block["name"]) for block in blocks]
        shift = date.fromisoformat(f"{period}-01").weekday()
        places = [shift + day.day - 1 for day in days]
        skipped = min(places, default=0) // 7 * 7  # weeks before the first chunk
        return WEEK, [place - skipped for place in places]
    if level == BLOCK or (level == CHUNK and len(blocks) > 60):
        return SMALL, list(range(len(blocks)))
    return WIDE, list(range(len(blocks)))


def _cell(grid: Mapping[str, Any], block: Mapping[str, Any], shape: Shape, place: int) -> Cell:
    counts = block["counts"]
    icon = next((STATUSES[status].icon for status in WORST_FIRST if counts.get(status)), "")
    left = place % shape.columns * (shape.width + GAP)
    top = place // shape.columns * (shape.height + GAP) + HEADING * (shape is WEEK)
    name = _short(block["name"], grid["level"], grid["grain"]) if shape.labelled else ""
    ends = (block["first"], block["last"]) if grid["level"] not in (BLOCK, CHUNK) else ("", "")
    return Cell(left, top, name, _label(block), icon, _path(grid, block), *ends)


def _shares(counts: Mapping[str, int], total: int, height: int) -> list[tuple[str, float]]:
    """Return the height of each status in a cell; the small ones are drawn larger, the largest smaller."""
    if not total:
        return [("none", height)]
    present = [status for status in WORST_FIRST if counts.get(status)]
    sizes = {status: round(max(LEAST_SHARE, height * counts[status] / total), 1) for status in present}
    largest = max(present, key=lambda status: counts[status])
    sizes[largest] = round(sizes[largest] - sum(sizes.values()) + height, 1)
    return [(STATUSES[status].kind, sizes[status]) for status in present]


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
