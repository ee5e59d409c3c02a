"""Counts of a dataset's chunks by the status people see, over parts of its order.

The status is a function of a chunk and its work. To join a million of each takes a second, so sets are
counted over covering indexes instead, and only open work in parts that also have chunks is looked up:

    READY   = good chunks  - those whose work shows another status
    STALE   = stale chunks - those whose work shows another status
    PENDING = unreadable chunks - those whose work shows another status + work without a chunk that shows none
"""

from __future__ import annotations

from bisect import bisect_right

from dataflow.model.coverage import EVERYTHING
from dataflow.model.record import as_dict, record
from dataflow.model.status import UNFINISHED, Status
from dataflow.store.reads import Reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dataflow.store.database import Row, Transaction

    Pair = tuple[str, str]
    """Where a part begins in order, and where the next one does."""


@record
class StatusCount:
    """The chunks of one part by status, and the first and last of them; `low` is where the part begins."""

    low: str
    first: str
    last: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        """How many chunks the part has or will have."""
        return sum(self.counts.values())


@record
class Stratum:
    """Open work of a job in one state, hold and priority: one range of an index, in order."""

    state: str
    hold: bool
    priority: int


@record
class Source:
    """A dataset and the open work of the job that produces it, if any.

    `lacks`: the job got this output when it had work, so that DONE work may have no chunk.
    """

    dataset_id: int
    job_id: int | None = None
    hold: bool = False
    lacks: bool = False
    strata: tuple[Stratum, ...] = ()

    def of(self, stratum: Stratum) -> dict[str, Any]:
        """Return the parameters that name a stratum."""
        return {"job_id": self.job_id} | as_dict(stratum)


CHUNKS_OF: dict[str, Pair] = {
    "grid.work": ("grid.work_with_chunk", "grid.work_beside_chunks"),
    "grid.resubmitted": ("grid.resubmitted_with_chunk", "grid.resubmitted_beside_chunks"),
}
UNREADY_OF: dict[str, Pair] = {
    "grid.work": ("grid.work_with_unready", "grid.work_beside_unready"),
    "grid.resubmitted": ("grid.resubmitted_with_unready", "grid.resubmitted_beside_unready"),
}
"""For each kind of work: the query that searches the chunk of each, and the one that reads both in order."""

FIRST_STEP = 1000
"""Chunks between two places at which a block may begin."""


class Tally:
    """Sets of chunks and of work, counted part by part."""

    def __init__(self, lows: Sequence[str]) -> None:
        self.lows = lows
        self.chunks = dict.fromkeys(lows, 0)
        self.unready = dict.fromkeys(lows, 0)
        self.unreadable = dict.fromkeys(lows, 0)
        self.shown: dict[Status, dict[str, int]] = {}  # by the status that work shows, whatever its chunk
        self.covered = dict.fromkeys(lows, 0)  # chunks whose work shows a status
        self.covered_unready = dict.fromkeys(lows, 0)
        self.covered_unreadable = dict.fromkeys(lows, 0)
        self.bare = dict.fromkeys(lows, 0)  # work that shows no status and has no chunk
        self.first: dict[str, str] = {}  # sort keys
        self.last: dict[str, str] = {}

    def show(self, status: Status, low: str, count: int) -> None:
        """Count work that shows a status."""
        counts = self.shown.setdefault(status, dict.fromkeys(self.lows, 0))
        counts[low] += count

    def reach(self, low: str, first: str | None, last: str | None) -> None:
        """Widen a part by the first and last sort key of something in it."""
        if first is not None and last is not None:
            self.first[low] = min(first, self.first.get(low, first))
            self.last[low] = max(last, self.last.get(low, last))

    def low_of(self, sort_key: str) -> str:
        """Return the part that a sort key lies in."""
        return self.lows[bisect_right(self.lows, sort_key) - 1]

    def counts(self, low: str) -> dict[str, int]:
        """Return the chunks of a part by status, without those of which there are none."""
        unready = self.unready[low] - self.covered_unready[low]
        unreadable = self.unreadable[low] - self.covered_unreadable[low]
        found = {status: counts[low] for status, counts in self.shown.items()}
        found[Status.READY] = self.chunks[low] - self.covered[low] - unready
        found[Status.STALE] = unready - unreadable
        found[Status.PENDING] = unreadable + self.bare[low]
        return {status.value: found[status] for status in Status if found.get(status)}


class GridReads(Reads):
    """Counts of chunks by status; each read is of one moment."""

    def count_statuses(self, dataset_id: int, parts: Sequence[Pair]) -> list[StatusCount]:
        """Count the chunks of a dataset by status in each part that has any; parts are in order."""

        def verb(tx: Transaction) -> list[StatusCount]:
            return _count(tx, open_source(tx, dataset_id), parts, {})

        return self._read(verb)

    def find_ends(self, dataset_id: int) -> Pair | None:
        """Return the sort keys of the first and last chunk of a dataset, made or not; None for none."""

        def verb(tx: Transaction) -> Pair | None:
            source = open_source(tx, dataset_id)
            rows = tx.rows("grid.chunk_ends", dataset_id=dataset_id)
            for stratum in source.strata:
                rows += tx.rows("grid.work_ends", **source.of(stratum))
            rows += [(row[0], row[0]) for row in list_others(tx, source, ("", EVERYTHING))]
            found = [row for row in rows if row[0] is not None]
            return (min(row[0] for row in found), max(row[1] for row in found)) if found else None

        return self._read(verb)

    def count_blocks(self, dataset_id: int, first: str, last: str, most: int) -> list[StatusCount]:
        """Count the chunks from one sort key to before another by status, in at most so many blocks."""

        def verb(tx: Transaction) -> list[StatusCount]:
            source = open_source(tx, dataset_id)
            layout = _cut(tx, source, (first, last), most)
            return _count(tx, source, layout.parts, layout.chunks)

        return self._read(verb)


def open_source(tx: Transaction, dataset_id: int) -> Source:
    """Begin a snapshot; return what is counted of a dataset."""
    tx.lock("grid.one_snapshot")
    tx.lock("grid.by_index")
    row = tx.find("grid.producer", dataset_id=dataset_id)
    if row is None:
        return Source(dataset_id)
    job_id, hold, lacks = row
    strata = [
        Stratum(state, bool(held), priority)
        for state, held, priority in tx.rows("grid.strata", job_id=job_id)
    ]
    return Source(dataset_id, job_id, bool(hold), bool(lacks), tuple(strata))


@record
class Layout:
    """Parts in order, and of those that begin and end at counted places how many chunks they have."""

    parts: tuple[Pair, ...]
    chunks: dict[str, int]


def _cut(tx: Transaction, source: Source, ends: Pair, most: int) -> Layout:
    """Divide a range into blocks: every so many chunks, and every so much open work."""
    between = {"first": ends[0], "last": ends[1]}

    def list_cuts(step: int) -> tuple[list[str], list[str]]:
        rows = tx.rows("grid.chunk_cuts", dataset_id=source.dataset_id, **between, step=step)
        chunks = [row[0] for row in rows]
        for stratum in source.strata:
            rows += tx.rows("grid.work_cuts", **source.of(stratum), **between, step=step)
        return chunks, sorted({row[0] for row in rows})

    step = FIRST_STEP
    chunks, cuts = list_cuts(step)
    while len(cuts) * 2 < most and step > 1:  # few chunks: walking over them again costs little
        step = max(1, step * len(cuts) // most)
        chunks, cuts = list_cuts(step)
    if step == 1:  # each a block of its own
        cuts = sorted({*cuts, *(row[0] for row in list_others(tx, source, ends))})
    every = -(-len(cuts) // most) or 1
    lows = [ends[0], *cuts[every::every]]
    if step > 1:
        lows = _at_chunks(lows, chunks)
    return _lay_out(lows, ends[1], chunks, step)


def _at_chunks(lows: Sequence[str], chunks: Sequence[str]) -> list[str]:
    """Move each place to the counted chunk before it, unless a part begins there already."""
    found = [lows[0]]
    for low in lows[1:]:
        before = chunks[place - 1] if (place := bisect_right(chunks, low)) else low
        found.append(before if before > found[-1] else low)
    return found


def _lay_out(lows: Sequence[str], end: str, chunks: Sequence[str], step: int) -> Layout:
    """Return the parts that begin at some places; every `step` chunks there is one of `chunks`."""
    parts = tuple(zip(lows, [*lows[1:], end], strict=True))
    places = {key: number for number, key in enumerate(chunks)}
    if chunks:
        places[lows[0]] = 0  # no chunk is before the first
    counted = {
        low: (places[high] - places[low]) * step for low, high in parts if low in places and high in places
    }
    return Layout(parts, counted)


def list_others(tx: Transaction, source: Source, ends: Pair) -> list[Row]:
    """Return the work that no index has in order: what runs, and what an output that came later lacks."""
    if source.job_id is None:
        return []
    where = {"job_id": source.job_id, "dataset_id": source.dataset_id, "first": ends[0], "last": ends[1]}
    rows = [(Status.RUNNING, *row) for row in tx.rows("grid.running", **where)]
    if source.lacks:
        rows += [(None, *row) for row in tx.rows("grid.done_without_chunk", **where)]
    return [(row[1], row[2], row[0], *row[3:]) for row in rows]


def _count(
    tx: Transaction, source: Source, parts: Sequence[Pair], counted: dict[str, int]
) -> list[StatusCount]:
    if not parts:
        return []
    tally = Tally([low for low, _ in parts])
    _count_chunks(tx, source.dataset_id, parts, counted, tally)
    counter = WorkCounter(tx, source, parts, tally)
    for stratum in source.strata:
        counter.count(stratum)
    if source.strata and not source.hold:
        counter.count_resubmitted()
    return _named(tx, source, tally, counter.count_others())


def _count_chunks(
    tx: Transaction, dataset_id: int, parts: Sequence[Pair], counted: dict[str, int], tally: Tally
) -> None:
    tally.chunks |= counted
    unknown = tx.batch([part for part in parts if part[0] not in counted])
    for low, count in tx.rows("grid.chunk_counts", dataset_id=dataset_id, **unknown):
        tally.chunks[low] = count
    filled = tx.batch([part for part in parts if tally.chunks[part[0]]])
    for low, first, last in tx.rows("grid.chunk_spans", dataset_id=dataset_id, **filled):
        tally.reach(low, first, last)
    for low, unready, unreadable in tx.rows("grid.unready_chunks", dataset_id=dataset_id, **filled):
        tally.unready[low], tally.unreadable[low] = unready, unreadable


class WorkCounter:
    """Counts the work that produces a dataset into a tally."""

    def __init__(self, tx: Transaction, source: Source, parts: Sequence[Pair], tally: Tally) -> None:
        self._tx = tx
        self._source = source
        self._parts = parts
        self._tally = tally

    def count(self, stratum: Stratum) -> None:
        """Count open work of one stratum: under the status it shows, or where it has no chunk."""
        tally, where = self._tally, self._source.of(stratum)
        found: dict[str, int] = {}
        for low, count, first, last in self._tx.rows("grid.work", **where, **self._tx.batch(self._parts)):
            if count:
                found[low] = count
                tally.reach(low, first, last)
        status = self._status_of(stratum)
        covered = self._covered("grid.work", where, found)
        for low, count in found.items():
            if status is None:
                tally.bare[low] += count - covered.get(low, 0)
            else:
                tally.show(status, low, count)
        if status is not None:
            self._cover("grid.work", where, covered)

    def count_resubmitted(self) -> None:
        """Count the RESUBMIT, which were counted as work that shows no status."""
        tally, where = self._tally, {"job_id": self._source.job_id}
        rows = self._tx.rows("grid.resubmitted", **where, **self._tx.batch(self._parts))
        found = {low: count for low, count in rows if count}
        covered = self._covered("grid.resubmitted", where, found)
        for low, count in found.items():
            tally.show(Status.RESUBMIT, low, count)
            tally.bare[low] -= count - covered.get(low, 0)
        self._cover("grid.resubmitted", where, covered)

    def count_others(self) -> dict[str, str]:
        """Count what runs and what an output that came later lacks; return their dataids by sort key."""
        tally = self._tally
        names: dict[str, str] = {}
        for key, dataid, status, *chunk in list_others(
            self._tx, self._source, (self._parts[0][0], self._parts[-1][1])
        ):
            names[key] = dataid
            low = tally.low_of(key)
            tally.reach(low, key, key)
            if status is None:
                tally.bare[low] += 1
                continue
            tally.show(status, low, 1)
            covered, unready, unreadable = map(bool, chunk)
            tally.covered[low] += covered
            tally.covered_unready[low] += unready
            tally.covered_unreadable[low] += unreadable
        return names

    def _status_of(self, stratum: Stratum) -> Status | None:
        if stratum.state not in UNFINISHED:
            return Status(stratum.state)
        return Status.HOLD if stratum.hold or self._source.hold else None

    def _covered(self, kind: str, where: dict[str, Any], found: dict[str, int]) -> dict[str, int]:
        """Return how much of this work has a chunk; only looked up in parts that have chunks."""
        rows = self._ask(CHUNKS_OF[kind], where, found, self._tally.chunks)
        return {low: row[0] for low, *row in rows}

    def _cover(self, kind: str, where: dict[str, Any], covered: dict[str, int]) -> None:
        """Take the chunks of this work out of those that are counted by their own status."""
        tally = self._tally
        for low, count in covered.items():
            tally.covered[low] += count
        for low, unready, unreadable in self._ask(UNREADY_OF[kind], where, covered, tally.unready):
            tally.covered_unready[low] += unready
            tally.covered_unreadable[low] += unreadable

    def _ask(
        self, queries: Pair, where: dict[str, Any], found: dict[str, int], chunks: dict[str, int]
    ) -> list[Row]:
        """Search the chunk of each work, or read work and chunks side by side in parts where that is less."""
        tx, where = self._tx, where | {"dataset_id": self._source.dataset_id}
        parts = [part for part in self._parts if found.get(part[0]) and chunks[part[0]]]
        many = [part for part in parts if chunks[part[0]] < found[part[0]] * tx.search_cost]
        few = [part for part in parts if chunks[part[0]] >= found[part[0]] * tx.search_cost]
        search, merge = queries
        rows = tx.rows(search, **where, **tx.batch(few)) if few else []
        if many:
            tx.lock("grid.by_merge")
            rows += tx.rows(merge, **where, **tx.batch(many))
            tx.lock("grid.by_index")
        return [(low, *map(int, counts)) for low, *counts in rows]


def _named(tx: Transaction, source: Source, tally: Tally, names: dict[str, str]) -> list[StatusCount]:
    """Return the parts that have any chunks, with the dataids of their first and last."""
    wanted = sorted({*tally.first.values(), *tally.last.values()} - names.keys())
    rows = tx.rows("grid.chunk_names", dataset_id=source.dataset_id, **tx.names(wanted))
    names |= {key: dataid for key, dataid in rows if dataid is not None}
    for stratum in source.strata:
        wanted = [key for key in wanted if key not in names]
        if wanted:
            rows = tx.rows("grid.work_names", **source.of(stratum), **tx.names(wanted))
            names |= {key: dataid for key, dataid in rows if dataid is not None}
    return [
        StatusCount(low, names[tally.first[low]], names[tally.last[low]], tally.counts(low))
        for low in tally.lows
        if low in tally.first
    ]
