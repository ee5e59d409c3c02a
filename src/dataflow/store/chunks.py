"""Changes of chunks, and of the work that waits for them (consumers.py), in one transaction."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.records import Dataset, Publication
from dataflow.store.consumers import ChunkChange, chunks_changed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from typing import Any

    from dataflow.model.records import Plan, PlanOutput
    from dataflow.store.database import Transaction

    Pair = tuple[str, str]


def make_ready(
    tx: Transaction, dataset_id: int, pairs: Sequence[Pair], again: bool, by_clock: bool = False
) -> int:
    """Publish chunks that come from outside or, `by_clock`, of a calendar; return how many changed."""
    batch = tx.batch(pairs)
    ready: set[str] = set()
    producer = tx.find("publish.producer", dataset_id=dataset_id)
    has_one_place = (
        producer is not None and Dataset("", mode=producer[2], location=producer[3]).is_overwritten
    )
    # No run may start writing to the shared location now. And what was ready must be known before it is
    # published again.
    lock_dataset(tx, dataset_id, alone=again or has_one_place)
    if again:
        ready = {row[0] for row in tx.rows("publish.ready_among", dataset_id=dataset_id, **batch)}
    rows = tx.rows("publish.make_ready", dataset_id=dataset_id, again=again, **batch)
    changed: dict[str, int] = {row[0]: row[1] for row in rows}
    # In a later statement than the locks, to see a run that was claimed since and closed a chunk.
    producer = tx.find("publish.producer", dataset_id=dataset_id)
    if producer is not None and changed:
        refuse_beside_writer(tx, producer[0], producer[1], None if has_one_place else changed)
    moved = [pair for pair in pairs if pair[0] in changed] if len(changed) < len(pairs) else pairs
    gained = [pair for pair in moved if pair[0] not in ready] if ready else moved
    renewed = [pair for pair in moved if changed[pair[0]] > 1]
    change = ChunkChange(gained=gained, renewed=renewed, published=True, by_clock=by_clock)
    chunks_changed(tx, dataset_id, change)
    if has_one_place and changed:
        _opened(tx, tx.rows("publish.clean_place", dataset_id=dataset_id))
    return len(changed)


def lock_dataset(tx: Transaction, dataset_id: int, *, alone: bool) -> None:
    """Lock out registrations of a dataset; all other publishers, too, if `alone`."""
    if alone:
        tx.lock("publish.lock_dataset_alone", dataset_id=dataset_id)
    else:
        tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])


def refuse_beside_writer(tx: Transaction, job_id: int, job: str, dataids: Collection[str] | None) -> None:
    """Refuse to publish a chunk that a run may be writing. None: all dataids share one location."""
    for run_id, dataid, host, is_live in tx.rows("publish.writers", job_id=job_id):
        if dataids is None or dataid in dataids:
            found = "is RUNNING" if is_live else "was cancelled, but may still be ending,"
            wait = "Wait until it has ended" + (f", or: dataflow cancel {run_id}" if is_live else ".")
            raise errors.Conflict(
                f"Run {run_id} of {job}/{dataid} {found} on {host} and may be writing it; nothing was "
                f"changed. {wait}"
            )


def list_newer_snapshots(tx: Transaction, plan: Plan, dataid: str) -> list[str]:
    """Return, per output, the newer snapshot that this dataid's would overwrite."""
    found = []
    for output in plan.outputs:
        if not output.dataset.is_overwritten:
            continue
        newest = tx.find("reading.newest_chunk", dataset_id=output.dataset_id)
        if newest is not None and newest[1] > sort_key(dataid, Grain(output.dataset.grain)):
            found.append(f"{output.dataset.name} already holds the newer snapshot {newest[0]}")
    return found


@record
class Version:
    """A new version of a chunk: what is published, by which run, and whether it is stale already.

    `outdated`: because of a change of its inputs, not merely because one of them is stale.
    """

    publication: Publication
    run_id: int | None = None
    stale: bool = False
    outdated: bool = False


def publish(tx: Transaction, output: PlanOutput, dataid: str, version: Version) -> int:
    """Publish the next version of one chunk and return its number."""
    pair = (dataid, sort_key(dataid, Grain(output.dataset.grain)))
    row = None
    while row is None:  # try again if another process created the chunk in between
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
            outdated=version.outdated,
            known=before is not None,
        )
    if output.dataset.staged and version.publication.location:
        tx.run("publish.keep_version", dataset_id=output.dataset_id, dataid=dataid)
    was_ready = bool(before and before[2])
    change = ChunkChange(
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
    """Withdraw chunks; work that waits for them keeps waiting."""
    tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
    rows = tx.rows("publish.withdraw", dataset_id=dataset_id, **tx.batch(pairs))
    were_ready = {dataid for dataid, was_ready in rows if was_ready}
    chunks_changed(tx, dataset_id, ChunkChange(lost=[pair for pair in pairs if pair[0] in were_ready]))
    return len(rows)


def make_dirty(tx: Transaction, dataset_id: int, pair: Pair, chunk_id: int, run_id: int) -> None:
    """Close a chunk to new readers before a run overwrites it in place."""
    tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
    row = tx.find("publish.make_dirty", chunk_id=chunk_id, run_id=run_id)
    if row is not None and row[0]:
        chunks_changed(tx, dataset_id, ChunkChange(lost=[pair]))


def make_clean(tx: Transaction, run_id: int) -> None:
    """Undo make_dirty for a run whose command never started."""
    _opened(tx, tx.rows("publish.make_clean", run_id=run_id))


def _opened(tx: Transaction, rows: Iterable[tuple[Any, ...]]) -> None:
    for dataset_id, dataid, key, is_ready in rows:
        if is_ready:
            chunks_changed(tx, dataset_id, ChunkChange(gained=[(dataid, key)]))
