"""The grid of a dataset: its chunks counted by status, by year, month and day or in blocks of neighbours."""

from __future__ import annotations

from dataflow.actions.names import get_dataset
from dataflow.errors import BadInput
from dataflow.model import clock
from dataflow.model.coverage import EVERYTHING
from dataflow.model.dataid import canonical_dataid, refuse_backwards, sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.status import Status
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.model.records import Dataset
    from dataflow.store.grid_reads import Pair, StatusCount
    from dataflow.store.store import Store

MOST_BLOCKS = 400
YEAR, MONTH, DAY, BLOCK, CHUNK = "year", "month", "day", "block", "chunk"
LEVELS = {
    Grain.HOURLY: (YEAR, MONTH, DAY),
    Grain.DAILY: (YEAR, MONTH),
    Grain.WEEKLY: (YEAR,),
    Grain.MONTHLY: (YEAR,),
    Grain.QUARTERLY: (YEAR,),
    Grain.YEARLY: (),
}
"""What the blocks of a grid are, from far to near, by grain; nearer than all of them are single chunks."""
PERIODS = {YEAR: Grain.YEARLY, MONTH: Grain.MONTHLY, DAY: Grain.DAILY}
EXAMPLES = {YEAR: "a year (2026)", MONTH: "a month (2026-08)", DAY: "a day (2026-08-20)"}
_WRITTEN = {4: YEAR, 7: MONTH, 10: DAY}
AFTER_PREFIX = "~"
"""Sorts after everything that a date goes on with."""
AFTER_KEY = "\x01"
"""Sorts between a key and the keys that begin with it."""


@record
class Block:
    """Neighbouring chunks, counted by status; `status` is theirs if all have the same."""

    name: str
    first: str
    last: str
    total: int
    status: str
    counts: dict[str, int]


@record
class Grid:
    """The chunks of a dataset or of a part of it, in blocks in order.

    `level` says what each block is: a year, month or day, a `block` of neighbours, or a single `chunk`.
    """

    dataset: str
    grain: str
    level: str
    zoom: str
    first: str
    last: str
    total: int
    counts: dict[str, int]
    blocks: tuple[Block, ...]


@record
class Zoom:
    """The part of a dataset that a grid shows: a year, month or day, or a range of dataids."""

    period: str = ""
    first: str | None = None
    last: str | None = None


WHOLE = Zoom()


def get_grid(store: Store, name: str, zoom: Zoom = WHOLE) -> Grid:
    """Return the grid of a dataset; UnknownName or BadInput for a dataset or zoom that does not exist."""
    dataset_id, dataset = get_dataset(store, name)
    levels = LEVELS.get(Grain(dataset.grain), ())
    has_range = zoom.first is not None or zoom.last is not None
    if zoom.period and has_range:
        raise BadInput("Zoom to a period or to a range of dataids, not to both.")
    depth = _depth(zoom.period, dataset) if zoom.period else 0
    if depth < len(levels) and not has_range:
        parts = _list_parts(store, dataset_id, dataset, zoom.period)
        found = store.read.count_statuses(dataset_id, list(parts))
        names = {low: name for (low, _), name in parts.items()}
        return _grid(dataset, levels[depth], zoom, [_block(names[part.low], part) for part in found])
    counted = store.read.count_blocks(dataset_id, *_bounds(dataset, zoom), MOST_BLOCKS)
    level = CHUNK if all(part.total == 1 for part in counted) else BLOCK
    return _grid(dataset, level, zoom, [_block(part.first, part) for part in counted])


def _grid(dataset: Dataset, level: str, zoom: Zoom, blocks: Sequence[Block]) -> Grid:
    counts: dict[str, int] = {}
    for status in Status:
        if total := sum(block.counts.get(status.value, 0) for block in blocks):
            counts[status.value] = total
    first, last = (blocks[0].first, blocks[-1].last) if blocks else ("", "")
    shown = (dataset.name, str(dataset.grain), level, zoom.period, first, last)
    return Grid(*shown, sum(counts.values()), counts, tuple(blocks))


def _block(name: str, part: StatusCount) -> Block:
    status = next(iter(part.counts)) if len(part.counts) == 1 else ""
    return Block(name, part.first, part.last, part.total, status, part.counts)


def _depth(period: str, dataset: Dataset) -> int:
    """Return how many levels a period is zoomed in; BadInput for one that the grain does not have."""
    levels = LEVELS.get(Grain(dataset.grain), ())
    level = _WRITTEN.get(len(period), "")
    if level not in levels:
        accepted = ", ".join([EXAMPLES[one] for one in levels]) or "a range of dataids"
        raise BadInput(f"Cannot zoom dataset {dataset.name} to {quoted(period)}. Accepted: {accepted}.")
    canonical_dataid(period, PERIODS[level], dataset.timezone)
    return levels.index(level) + 1


def _list_parts(store: Store, dataset_id: int, dataset: Dataset, period: str) -> dict[Pair, str]:
    """Return the years of a dataset, or the months or days of a period, by where they are in order."""
    if period:
        return {_keys(text, dataset): text for text in _inside(period)}
    ends = store.read.find_ends(dataset_id)
    if ends is None:
        return {}
    first, last = [_year_at(key, dataset) for key in ends]
    return {_keys(f"{year:04d}", dataset): f"{year:04d}" for year in range(first, last + 1)}


def _inside(period: str) -> list[str]:
    """Return the months of a year or the days of a month."""
    from calendar import monthrange  # start-up: dates cost time that the CLI need not pay

    year, _, month = period.partition("-")
    last = monthrange(int(year), int(month))[1] if month else clock.MONTHS_A_YEAR
    return [f"{period}-{number:02d}" for number in range(1, last + 1)]


def _year_at(key: str, dataset: Dataset) -> int:
    if Grain(dataset.grain) is Grain.HOURLY:
        return clock.local_date(clock.hour_from_text(key), clock.zone(dataset.timezone)).year
    return int(key[:4])


def _keys(period: str, dataset: Dataset) -> Pair:
    """Return where a period begins and ends in the order of a dataset."""
    if Grain(dataset.grain) is not Grain.HOURLY:
        return period, period + AFTER_PREFIX
    grain = PERIODS[_WRITTEN[len(period)]]
    number = clock.period_from_text(period, grain)
    return _moment_key(number, grain, dataset), _moment_key(number + 1, grain, dataset)


def _moment_key(period: int, grain: Grain, dataset: Dataset) -> str:
    try:
        start = clock.period_start(period, grain, clock.zone(dataset.timezone))
        return sort_key(clock.hour_text(start, clock.zone("UTC")), Grain.HOURLY)
    except clock.BEYOND_CALENDAR:
        return "" if period < clock.period_from_text("1000", grain) else EVERYTHING


def _bounds(dataset: Dataset, zoom: Zoom) -> Pair:
    if zoom.period:
        return _keys(zoom.period, dataset)
    grain = Grain(dataset.grain)
    ends = [
        None if dataid is None else sort_key(canonical_dataid(dataid, grain, dataset.timezone), grain)
        for dataid in (zoom.first, zoom.last)
    ]
    low, high = ends
    if low is not None and high is not None and high < low:
        raise refuse_backwards(str(zoom.first), str(zoom.last))
    return low or "", EVERYTHING if high is None else high + AFTER_KEY
