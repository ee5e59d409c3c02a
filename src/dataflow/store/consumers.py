"""The consumers of a dataset, and the changes to their work when its chunks change, in bulk.

`present` in work_input moves only when a chunk's readiness moved, so `ready` twice counts once.
"""

from __future__ import annotations

from dataflow.model.coverage import Kind
from dataflow.model.dataid import sort_key
from dataflow.model.days import has_day
from dataflow.model.grain import Grain
from dataflow.model.mapping import (
    ALL,
    CONTAINING,
    PREVIOUS,
    SAME,
    UNCALLING,
    WITHIN,
    consumers_of,
    creates_work,
    needed_dataids,
)
from dataflow.model.record import record
from dataflow.store import latest_inputs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dataflow.store.database import Call, Transaction

    Pair = tuple[str, str]

BATCH = 5000
"""Calls per statement: enough for a thousand consumers, and few enough to fit in memory."""


@record
class Consumer:
    """One input of one job that reads a dataset."""

    dataset_id: int
    job_id: int
    position: int
    mapping: str
    job: str
    first: str
    grain: str
    timezone: str
    inputs: int
    lagging: int
    covering: int
    source_grain: str
    source_timezone: str
    days: str
    source_days: str
    counting: int = 0
    rule: str = ""

    @property
    def kind(self) -> Kind:
        """How the input's dataids are ordered."""
        if self.mapping in (WITHIN, CONTAINING):
            return Kind(Grain(self.source_grain), self.source_timezone, self.source_days)
        return Kind(Grain(self.grain), self.timezone, self.source_days)

    @property
    def job_kind(self) -> Kind:
        """How the dataids of the job's work are ordered."""
        return Kind(Grain(self.grain), self.timezone)

    def needed(self, dataid: str) -> list[str]:
        """The dataids of the input that a work needs; none of `pairs`, which are in the store."""
        return needed_dataids(self.mapping, dataid, self.kind, self.first or None, self.job_kind)

    def called_by(self, chunk: str) -> list[str]:
        """The dataids of the work that a chunk of the input calls for; the inverse of `needed`."""
        return consumers_of(self.mapping, chunk, self.kind, self.first or None, self.job_kind)

    def creates(self, dataid: str) -> bool:
        """Return whether a chunk of the input creates the work of a dataid.

        Not before the job's start, nor on a day that another input leaves out; but a chunk that was forced,
        on a day that its own dataset leaves out, does.
        """
        if not creates_work(self.mapping, dataid, self.first or None, Grain(self.grain)):
            return False
        return has_day(self.days, dataid) or self.is_forced(dataid)

    def is_forced(self, chunk: str) -> bool:
        """Return whether a chunk that work of the same day needs is on a day that its dataset leaves out."""
        return self.mapping == SAME and not has_day(self.source_days, chunk)

    def calls(self, pairs: Iterable[Pair]) -> list[Call]:
        """The calls from this input to some work of the job."""
        return [(self.job_id, self.position, dataid, key, self.inputs) for dataid, key in pairs]


@record
class ChunkChange:
    """What happened to chunks of one dataset, as (dataid, sort_key) pairs.

    `gained` became ready, `lost` stopped being ready, `renewed` have a newer version than any consumer read.
    `wrong` were found to be wrong: whatever was made from them is to be made again.
    `published`: the gained chunks are also new, not merely readable again.
    `by_clock`: they are intervals that have ended; the age of work that waited for them counts from now on.
    """

    gained: Sequence[Pair] = ()
    lost: Sequence[Pair] = ()
    renewed: Sequence[Pair] = ()
    published: bool = False
    by_clock: bool = False
    wrong: Sequence[Pair] = ()

    @property
    def size(self) -> int:
        """How many chunks changed, counted once per change."""
        return len(self.gained) + len(self.lost) + len(self.renewed) + len(self.wrong)


def list_consumers(tx: Transaction, dataset_ids: Sequence[int], job_id: int = 0) -> list[Consumer]:
    """Return the job inputs that read any of these datasets, and those of one job."""
    rows = tx.rows("publish.consumers", job_id=job_id, **tx.ids(dataset_ids))
    return [Consumer(*row) for row in rows]


def chunks_changed(tx: Transaction, dataset_id: int, change: ChunkChange) -> None:
    """Update all work downstream of a dataset after a change of its chunks.

    What was made from them, directly or through other chunks, becomes stale in the same transaction.
    """
    if not change.size:
        return
    needing = move_inputs(tx, {dataset_id: change})
    if needing or change.renewed or change.wrong:
        from dataflow.store import staleness  # start-up: most chunks are published once

        staleness.outdate(tx, dataset_id, change, needing)


def move_inputs(tx: Transaction, changes: Mapping[int, ChunkChange]) -> list[Call]:
    """Count what arrived and what is gone; return the calls to work that needs a chunk published since."""
    consumers = list_consumers(tx, list(changes))
    needing: list[Call] = []
    simple = []
    for consumer in consumers:
        if consumer.mapping in UNCALLING:
            needing += _latest_changed(tx, consumer, changes[consumer.dataset_id])
        elif consumer.counting:
            from dataflow.store import several_inputs  # start-up: few jobs have such inputs

            needing += several_inputs.chunks_changed(tx, consumer, changes[consumer.dataset_id])
        else:
            simple.append(consumer)
    for some in _groups(simple, changes):
        needing += _others_changed(tx, some, changes)
    return needing


def arrive(
    tx: Transaction, consumers: Sequence[Consumer], chunks: Mapping[int, Sequence[Pair]]
) -> list[Call]:
    """Create or update the work that needs these ready chunks; return the work that existed before."""
    calls = _calls_of(consumers, chunks)
    if not calls:
        return []
    for consumer in consumers:
        if consumer.covering or consumer.days:
            latest_inputs.lock(tx, consumer.job_id)
    calling = _calling(consumers, calls)
    rows = tx.rows("publish.insert_work", **tx.calls(calling)) if calling else []
    new: dict[tuple[int, str], int] = {(job_id, dataid): work_id for work_id, job_id, dataid in rows}
    made: list[Call] = []
    known: list[Call] = []
    for call in calls:
        # If two inputs call for the same work at once, the first has created it. Forced work may also exist.
        work_id = new.pop((call[0], call[2]), None)
        if work_id is None:
            known.append(call)
        else:
            made.append((*call[:4], work_id))
    if made:
        tx.run("publish.insert_work_input", **tx.calls(made))
        _complete(tx, consumers, made)
    if known:
        _count(tx, known, 1)
        tx.run("publish.arrive", **tx.calls(known))
    return known


def waive_inputs(tx: Transaction, job_id: int, kind: Kind, first: str, dataids: Iterable[str]) -> None:
    """Waive the `previous` inputs of work that has no predecessor; `first` is the job's first dataid."""
    waived = [dataid for dataid in dataids if not needed_dataids(PREVIOUS, dataid, kind, first or None)]
    if waived:
        tx.run("publish.waive_inputs", job_id=job_id, **tx.batch([(dataid, "") for dataid in waived]))
        calls = tx.calls(to_work(job_id, waived))
        tx.run("publish.count_missing", **calls)
        tx.run("publish.arrive", **calls)


def count_ready(tx: Transaction, job_id: int, dataids: Sequence[str]) -> None:
    """Count the ready chunks that did not create this work, because its day is left out."""
    calls: list[Call] = []
    readers = list_consumers(tx, (), job_id)
    if readers and readers[0].counting:
        from dataflow.store import several_inputs  # start-up: few jobs have such inputs

        return several_inputs.count_ready(tx, job_id, dataids)
    for consumer in readers:
        for dataid in dataids:
            needed = needed_dataids(consumer.mapping, dataid, consumer.kind, None)
            batch = tx.batch([(chunk, "") for chunk in needed])
            if needed and tx.rows("publish.ready_among", dataset_id=consumer.dataset_id, **batch):
                calls += consumer.calls([(dataid, "")])
    if calls:
        tx.run("publish.set_present", **tx.calls(calls))
    parameters = tx.calls(to_work(job_id, dataids))
    tx.run("publish.count_missing", **parameters)
    tx.run("publish.arrive", **parameters)


def do_again(tx: Transaction, calls: Sequence[Call], reason: str, resubmitted: bool = False) -> list[str]:
    """Have finished work done again, and unfinished work too if `resubmitted`; return the new states."""
    rows = tx.rows("publish.do_again", reason=reason, resubmitted=resubmitted, **tx.calls(calls))
    return [row[0] for row in rows]


def to_work(job_id: int, dataids: Iterable[str]) -> list[Call]:
    """Calls that name work of a job but come from none of its inputs."""
    return [(job_id, 0, dataid, "", 0) for dataid in dataids]


def _others_changed(
    tx: Transaction, consumers: Sequence[Consumer], changes: Mapping[int, ChunkChange]
) -> list[Call]:
    """Update consumers that read the chunks their mapping names; return the calls of new versions."""
    known = arrive(tx, consumers, {key: change.gained for key, change in changes.items()})
    for consumer in consumers:
        gained = changes[consumer.dataset_id].gained if consumer.source_days else ()
        if forced := [dataid for dataid, _ in gained if consumer.is_forced(dataid)]:
            count_ready(tx, consumer.job_id, forced)
    if known and any(change.by_clock for change in changes.values()):
        tx.run("publish.call_by_clock", **tx.calls(known))
    if lost := _calls_of(consumers, {key: change.lost for key, change in changes.items()}):
        for consumer in consumers:
            if consumer.days:
                latest_inputs.lock(tx, consumer.job_id)
        _depart(tx, lost)
    renewed = _calls_of(consumers, {key: change.renewed for key, change in changes.items()})
    if known and any(change.published for change in changes.values()):
        # Work that a run had, forced or before the job read this input, was not done from the new chunk.
        renewed += [tuple(row) for row in tx.rows("publish.tried_among", **tx.calls(known))]
    return renewed


def _latest_changed(tx: Transaction, consumer: Consumer, change: ChunkChange) -> list[Call]:
    """Make work claimable up to what the newest chunk covers; return the calls of new versions, if `all`."""
    if not (change.gained or change.lost):
        return []
    covered, uncovered = latest_inputs.move_reach(tx, consumer, change)
    for pairs in _batches(covered):
        calls = consumer.calls(pairs)
        _count(tx, calls, 1)
        tx.run("publish.arrive", **tx.calls(calls))
    for pairs in _batches(uncovered):
        _depart(tx, consumer.calls(pairs))
    if consumer.mapping != ALL or not (change.gained and change.published):
        return []
    from dataflow.store import several_inputs  # start-up: few jobs have such inputs

    # Each run has read every chunk there was, under the same lock; none of them the new one.
    return [call for calls in several_inputs.list_tried(tx, consumer) for call in calls]


def _complete(tx: Transaction, consumers: Sequence[Consumer], made: Sequence[Call]) -> None:
    """Waive inputs of new work that has no predecessor, or that the newest chunk already covers."""
    for consumer in consumers:
        if not (consumer.lagging or consumer.covering):
            continue
        pairs = [(dataid, key) for job_id, _, dataid, key, _ in made if job_id == consumer.job_id]
        if consumer.lagging and pairs:
            dataids = [dataid for dataid, _ in pairs]
            waive_inputs(tx, consumer.job_id, consumer.kind, consumer.first, dataids)
        if consumer.covering and pairs:
            latest_inputs.cover(tx, consumer.job_id, pairs)


def _depart(tx: Transaction, calls: Sequence[Call]) -> None:
    _count(tx, calls, -1)
    tx.run("publish.depart", **tx.calls(calls))


def _count(tx: Transaction, calls: Sequence[Call], delta: int) -> None:
    parameters = tx.calls(calls)
    tx.lock("publish.lock_work", **parameters)
    tx.run("publish.count_present", delta=delta, **parameters)
    tx.run("publish.count_missing", **parameters)


def _calls_of(consumers: Iterable[Consumer], chunks: Mapping[int, Sequence[Pair]]) -> list[Call]:
    """Return the calls of some datasets' chunks to the work of their consumers."""
    served: dict[tuple[object, ...], Sequence[Pair]] = {}
    calls: list[Call] = []
    for item in consumers:
        if not chunks[item.dataset_id]:
            continue
        kind = item.dataset_id, item.mapping, item.grain, item.timezone, item.source_days
        if kind not in served:
            served[kind] = _work_of(item, chunks[item.dataset_id])
        calls += item.calls(served[kind])
    return calls


def _calling(consumers: Sequence[Consumer], calls: list[Call]) -> list[Call]:
    """Return the calls that create work."""
    choosy = {
        (item.job_id, item.position): item
        for item in consumers
        if item.days or (item.first and item.mapping == PREVIOUS)
    }
    if not choosy:
        return calls
    return [call for call in calls if call[:2] not in choosy or choosy[call[:2]].creates(call[2])]


def _work_of(consumer: Consumer, chunks: Sequence[Pair]) -> Sequence[Pair]:
    """Return the work that needs these chunks of an input, in the job's order."""
    grain = Grain(consumer.grain)
    if consumer.mapping == SAME:
        if grain is Grain.TEXT:
            return chunks
        return [(dataid, sort_key(dataid, grain)) for dataid, _ in chunks]
    served = []
    for dataid, _ in chunks:
        for work in consumers_of(consumer.mapping, dataid, consumer.kind):
            served.append((work, sort_key(work, grain)))
    return served


def _groups(consumers: Iterable[Consumer], changes: Mapping[int, ChunkChange]) -> Iterator[list[Consumer]]:
    """Yield groups of consumers that can be updated together."""
    some: list[Consumer] = []
    size = 0
    for consumer in consumers:
        if some and size + changes[consumer.dataset_id].size > BATCH:
            yield some
            some, size = [], 0
        some.append(consumer)
        size += changes[consumer.dataset_id].size
    if some:
        yield some


def _batches(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    for start in range(0, len(pairs), BATCH):
        yield pairs[start : start + BATCH]
