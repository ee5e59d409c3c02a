"""Chunks change, and the work that waits for them changes with them, in the same transaction.

`present` in work_input moves only when a chunk's readiness moved, so saying `ready` twice counts once.
"""

from __future__ import annotations

from dataflow import errors
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.mapping import LATEST, PREVIOUS, consumers_of, needed_dataids
from dataflow.model.record import record
from dataflow.model.records import Dataset, Publication
from dataflow.model.status import WorkState
from dataflow.store import covering

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from typing import Any

    from dataflow.model.records import PlanOutput
    from dataflow.store.database import Transaction

    Pair = tuple[str, str]

BATCH = 5000


@record
class Consumer:
    """One input of one job that reads a dataset."""

    job_id: int
    position: int
    mapping: str
    job: str
    priority: int
    ordered: bool
    first: str
    grain: str
    timezone: str
    inputs: int
    lagging: int
    covering: int
    source_grain: str
    source_timezone: str

    @property
    def order(self) -> tuple[str, str, str]:
        """What says which dataid of the job comes before which."""
        return self.grain, self.timezone, self.first


@record
class Change:
    """What happened to chunks of one dataset, as (dataid, sort_key) pairs.

    `gained` became ready, `lost` stopped being ready, `renewed` have a newer version than any consumer read.
    `published`: what was gained is new, too, and not merely open again.
    """

    gained: Sequence[Pair] = ()
    lost: Sequence[Pair] = ()
    renewed: Sequence[Pair] = ()
    published: bool = False


def list_consumers(tx: Transaction, dataset_id: int) -> list[Consumer]:
    """The job inputs that read a dataset."""
    return [Consumer(*row) for row in tx.rows("publish.consumers", dataset_id=dataset_id)]


def make_ready(tx: Transaction, dataset_id: int, pairs: Sequence[Pair], again: bool) -> int:
    """Publishes chunks that come from outside and gives how many changed."""
    batch = tx.batch(pairs)
    ready: set[str] = set()
    producer = tx.find("publish.producer", dataset_id=dataset_id)
    has_one_place = (
        producer is not None and Dataset("", mode=producer[2], location=producer[3]).is_overwritten
    )
    if again or has_one_place:
        # Nobody may begin to write to the one place meanwhile. And what was ready must be known before it is
        # published again.
        tx.lock("publish.lock_dataset_alone", dataset_id=dataset_id)
    else:
        tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
    if again:
        ready = {row[0] for row in tx.rows("publish.ready_among", dataset_id=dataset_id, **batch)}
    rows = tx.rows("publish.make_ready", dataset_id=dataset_id, again=again, **batch)
    changed: dict[str, int] = {row[0]: row[1] for row in rows}
    # In a later statement than theirs: a run that was claimed meanwhile and closed a chunk is seen.
    producer = tx.find("publish.producer", dataset_id=dataset_id)
    if producer is not None and changed:
        refuse_beside_writer(tx, producer[0], producer[1], None if has_one_place else changed)
    moved = [pair for pair in pairs if pair[0] in changed] if len(changed) < len(pairs) else pairs
    gained = [pair for pair in moved if pair[0] not in ready] if ready else moved
    renewed = [pair for pair in moved if changed[pair[0]] > 1]
    chunks_changed(tx, dataset_id, Change(gained=gained, renewed=renewed, published=True))
    if has_one_place and changed:
        _opened(tx, tx.rows("publish.clean_place", dataset_id=dataset_id))
    return len(changed)


def refuse_beside_writer(tx: Transaction, job_id: int, job: str, dataids: Collection[str] | None) -> None:
    """Nobody can say that a chunk is good while a run may be writing it. None: all dataids have one place."""
    for run_id, dataid, host, is_live in tx.rows("publish.writers", job_id=job_id):
        if dataids is None or dataid in dataids:
            found = "is RUNNING" if is_live else "was cancelled, but may still be ending,"
            wait = "Wait until it has ended" + (f", or: dataflow cancel {run_id}" if is_live else ".")
            raise errors.Conflict(
                f"Run {run_id} of {job}/{dataid} {found} on {host} and may be writing it; "
                f"nothing was changed. {wait}"
            )


@record
class Version:
    """A new version of a chunk: what is given out, by which run, and whether it is out of date at once."""

    publication: Publication
    run_id: int | None = None
    stale: bool = False


def publish(tx: Transaction, output: PlanOutput, dataid: str, version: Version) -> int:
    """Gives out the next version of one chunk and returns its number."""
    pair = (dataid, sort_key(dataid, Grain(output.dataset.grain)))
    row = None
    while row is None:  # again when somebody else made the chunk in between
        before = tx.find("publish.find_chunk", dataset_id=output.dataset_id, dataid=dataid)
        row = tx.find(
            "publish.publish",
            dataset_id=output.dataset_id,
            dataid=dataid,
            sort_key=pair[1],
            run_id=version.run_id,
            location=version.publication.location,
            row_count=version.publication.rows,
            size=version.publication.size,
            checked=version.publication.checked,
            stale=version.stale,
            known=before is not None,
        )
    if output.dataset.staged and version.publication.location:
        tx.run("publish.keep_version", dataset_id=output.dataset_id, dataid=dataid)
    was_ready = bool(before and before[2])
    change = Change(
        gained=[pair] if not was_ready and not version.stale else (),
        lost=[pair] if was_ready and version.stale else (),
        renewed=[pair] if before and before[1] > 0 else (),
        published=True,
    )
    chunks_changed(tx, output.dataset_id, change)
    if output.dataset.is_overwritten:
        _opened(tx, tx.rows("publish.clean_place", dataset_id=output.dataset_id))
    return int(row[0])


def withdraw(tx: Transaction, dataset_id: int, pairs: Sequence[Pair]) -> int:
    """Takes chunks out of use; work that waits for them waits on."""
    tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
    rows = tx.rows("publish.withdraw", dataset_id=dataset_id, **tx.batch(pairs))
    were_ready = {dataid for dataid, was_ready in rows if was_ready}
    chunks_changed(tx, dataset_id, Change(lost=[pair for pair in pairs if pair[0] in were_ready]))
    return len(rows)


def make_dirty(tx: Transaction, dataset_id: int, pair: Pair, chunk_id: int, run_id: int) -> None:
    """Stops new readers of a chunk that a run is about to overwrite in place."""
    tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
    row = tx.find("publish.make_dirty", chunk_id=chunk_id, run_id=run_id)
    if row is not None and row[0]:
        chunks_changed(tx, dataset_id, Change(lost=[pair]))


def make_clean(tx: Transaction, run_id: int) -> None:
    """Undoes make_dirty for a run whose command never started."""
    _opened(tx, tx.rows("publish.make_clean", run_id=run_id))


def _opened(tx: Transaction, rows: Iterable[tuple[Any, ...]]) -> None:
    for dataset_id, dataid, key, is_ready in rows:
        if is_ready:
            chunks_changed(tx, dataset_id, Change(gained=[(dataid, key)]))


def chunks_changed(tx: Transaction, dataset_id: int, change: Change) -> None:
    """Brings all work downstream of a dataset up to date with a change of its chunks."""
    if not (change.gained or change.lost or change.renewed):
        return
    for consumer in list_consumers(tx, dataset_id):
        if consumer.mapping == LATEST:
            _latest_changed(tx, consumer, dataset_id, change)
            continue
        if change.gained:
            known = arrive(tx, consumer, change.gained)
            if change.published and known:
                _renew(tx, consumer, _tried(tx, consumer, known))
        if change.lost:
            _depart(tx, consumer, _work_of(consumer, change.lost))
        if change.renewed:
            _renew(tx, consumer, _work_of(consumer, change.renewed))


def arrive(tx: Transaction, consumer: Consumer, chunks: Sequence[Pair]) -> Sequence[Pair]:
    """Makes or updates the work that these ready chunks serve; gives what there was before."""
    pairs = _work_of(consumer, chunks)
    if not pairs:
        return ()
    if consumer.covering:
        covering.lock(tx, consumer.job_id)
    new = tx.rows(
        "publish.insert_work",
        job_id=consumer.job_id,
        priority=consumer.priority,
        ordered=consumer.ordered,
        state=WorkState.CLAIMABLE.value if consumer.inputs == 1 else WorkState.WAITING.value,
        missing=consumer.inputs - 1,
        **tx.batch(pairs),
    )
    if new:
        ids = tx.ids([row[0] for row in new])
        tx.run("publish.insert_work_input", job_id=consumer.job_id, position=consumer.position, **ids)
    made = {row[1] for row in new}
    if consumer.lagging and made:
        waive_inputs(tx, consumer.job_id, consumer.order, made)
    if consumer.covering and made:
        covering.cover(tx, consumer.job_id, [pair for pair in pairs if pair[0] in made])
    known = [pair for pair in pairs if pair[0] not in made] if len(new) < len(pairs) else []
    if known:
        _count(tx, consumer, known, 1)
        tx.run("publish.arrive", job_id=consumer.job_id, **tx.batch(known))
    return known


def waive_inputs(tx: Transaction, job_id: int, order: tuple[str, str, str], dataids: Iterable[str]) -> None:
    """Work with nothing before it needs no chunk of its `previous` inputs.

    `order` is the job's grain, time zone and first dataid, which together say what comes before what.
    """
    grain, timezone, first = order
    facts = (Grain(grain), timezone, first or None)
    waived = [dataid for dataid in dataids if not needed_dataids(PREVIOUS, dataid, *facts)]
    if waived:
        batch = tx.batch([(dataid, "") for dataid in waived])
        tx.run("publish.waive_inputs", job_id=job_id, **batch)
        tx.run("publish.count_missing", job_id=job_id, **batch)
        tx.run("publish.arrive", job_id=job_id, **batch)


def do_again(
    tx: Transaction, job_id: int, pairs: Sequence[Pair], reason: str, resubmitted: bool = False
) -> list[str]:
    """Has finished work done again, and if it is `resubmitted` unfinished work too; gives the new states."""
    where = {"job_id": job_id, "reason": reason, "resubmitted": resubmitted}
    return [row[0] for row in tx.rows("publish.do_again", **where, **tx.batch(pairs))]


def _latest_changed(tx: Transaction, consumer: Consumer, dataset_id: int, change: Change) -> None:
    """Only what the newest chunk covers can be claimed; what was read from a renewed one is done again."""
    if change.gained or change.lost:
        covered, uncovered = covering.move_reach(tx, consumer, dataset_id, change)
        for pairs in batches(covered):
            _count(tx, consumer, pairs, 1)
            tx.run("publish.arrive", job_id=consumer.job_id, **tx.batch(pairs))
        for pairs in batches(uncovered):
            _depart(tx, consumer, pairs)
    if change.renewed:
        readers = covering.list_readers(tx, consumer.job_id, dataset_id, change.renewed)
        if readers:
            # Lock first, read in a later statement: one of them may have read a newer chunk since.
            tx.lock("publish.lock_work", job_id=consumer.job_id, dataids=[pair[0] for pair in readers])
            _renew(tx, consumer, covering.list_readers(tx, consumer.job_id, dataset_id, change.renewed))


def batches(pairs: Sequence[Pair]) -> Iterator[Sequence[Pair]]:
    """Some thousands at a time."""
    for start in range(0, len(pairs), BATCH):
        yield pairs[start : start + BATCH]


def _depart(tx: Transaction, consumer: Consumer, pairs: Sequence[Pair]) -> None:
    _count(tx, consumer, pairs, -1)
    tx.run("publish.depart", job_id=consumer.job_id, **tx.batch(pairs))


def _tried(tx: Transaction, consumer: Consumer, pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Those that a run has had, forced or before the input was one: none of them has read what came now."""
    rows = tx.rows("publish.tried_among", job_id=consumer.job_id, **tx.batch(pairs))
    return [(dataid, key) for dataid, key in rows]


def _renew(tx: Transaction, consumer: Consumer, pairs: Sequence[Pair]) -> None:
    if not pairs:
        return
    tx.lock("publish.lock_work", job_id=consumer.job_id, dataids=[pair[0] for pair in pairs])
    batch = tx.batch(pairs)
    do_again(tx, consumer.job_id, pairs, "an input has a newer version")
    outputs = [row[0] for row in tx.rows("publish.outputs_of", job_id=consumer.job_id)]
    tx.lock("publish.lock_datasets", dataset_ids=outputs)
    for output_id in outputs:
        # Whatever the work's state: a run that fails later must not leave the old output looking current.
        rows = tx.rows("publish.make_stale", dataset_id=output_id, **batch)
        lost = {dataid for dataid, was_ready in rows if was_ready}
        chunks_changed(tx, output_id, Change(lost=[pair for pair in pairs if pair[0] in lost]))


def _count(tx: Transaction, consumer: Consumer, pairs: Sequence[Pair], delta: int) -> None:
    tx.lock("publish.lock_work", job_id=consumer.job_id, dataids=[pair[0] for pair in pairs])
    batch = tx.batch(pairs)
    tx.run("publish.count_present", job_id=consumer.job_id, position=consumer.position, delta=delta, **batch)
    tx.run("publish.count_missing", job_id=consumer.job_id, **batch)


def _work_of(consumer: Consumer, chunks: Sequence[Pair]) -> Sequence[Pair]:
    """The work that chunks of an input serve, in the job's own order."""
    grain = Grain(consumer.grain)
    if consumer.mapping == "same":
        if grain is Grain.TEXT:
            return chunks
        return [(dataid, sort_key(dataid, grain)) for dataid, _ in chunks]
    served = []
    for dataid, _ in chunks:
        for work in consumers_of(consumer.mapping, dataid, grain, consumer.timezone):
            served.append((work, sort_key(work, grain)))
    return served
