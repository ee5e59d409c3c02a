"""Invalidate: data that was found to be wrong, all that was made from it, and having both made again."""

from __future__ import annotations

from dataflow.actions.dataset_rules import refuse_automatic
from dataflow.actions.make_ready import batches_of, in_batches
from dataflow.actions.names import get_dataset
from dataflow.errors import UnknownName
from dataflow.model.dataid import canonical_dataid, refuse_backwards, sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.store.store import BULK_BATCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dataflow.model.records import Dataset, Plan
    from dataflow.store.lineage_reads import LineageChunk, PublishedId, Reader
    from dataflow.store.store import Store


@record
class WrongData:
    """The chunks that were found to be wrong, and who is affected.

    `chunks` are they and all current results made from them; `readers` are the runs that read any of these
    and are at work, or done without an output. `jobs` are the jobs of all these runs. `producer` makes the
    wrong chunks again; None: they come from outside.
    """

    dataset_id: int
    dataset: str
    producer: Plan | None
    named: tuple[PublishedId, ...]
    chunks: tuple[LineageChunk, ...]
    readers: tuple[Reader, ...]
    jobs: tuple[str, ...]


def find_wrong(store: Store, dataset_name: str, dataids: Iterable[str]) -> WrongData:
    """Return who is affected by these chunks; UnknownName if any was never published."""
    dataset_id, dataset = _get_dataset(store, dataset_name)
    named: list[PublishedId] = []
    for batch in batches_of(dataset, dataids, "found"):
        found = store.read.list_published_among(dataset_id, batch)
        if len(found) < len(batch):
            known = {one.dataid for one in found}
            missing = [dataid for dataid, _ in batch if dataid not in known]
            others = f" and {len(missing) - 1} others" if len(missing) > 1 else ""
            raise UnknownName(
                f"{dataset_name}/{missing[0]}{others} was never published; nothing was changed. "
                f"See: dataflow chunks {dataset_name}"
            )
        named += found
    return _affected(store, dataset_id, dataset, named)


def find_wrong_between(store: Store, dataset_name: str, first: str, last: str) -> WrongData:
    """Return who is affected by the published chunks of a range, both ends included."""
    dataset_id, dataset = _get_dataset(store, dataset_name)
    grain = Grain(dataset.grain)
    ends = [canonical_dataid(text, grain, dataset.timezone) for text in (first, last)]
    keys = [sort_key(dataid, grain) for dataid in ends]
    if keys[1] < keys[0]:
        raise refuse_backwards(*ends)
    named = store.read.list_published_between(dataset_id, *keys)
    if not named:
        raise UnknownName(
            f"{dataset_name} has no published chunk from {ends[0]} to {ends[1]}; nothing was changed. "
            f"See: dataflow chunks {dataset_name}"
        )
    return _affected(store, dataset_id, dataset, named)


def invalidate(
    store: Store, found: WrongData, why: str = "", progress: Callable[[int], None] | None = None
) -> int:
    """Withdraw wrong chunks and redo all that was made from them; return how many chunks changed.

    Conflict if a run is producing one of them. A repeat changes nothing. Each batch is one transaction and
    one line of the journal.
    """
    pairs = [(one.dataid, one.sort_key) for one in found.named]
    batches = [pairs[start : start + BULK_BATCH] for start in range(0, len(pairs), BULK_BATCH)]
    dataset = (found.dataset_id, found.dataset)
    return in_batches(batches, lambda batch: store.invalidate(dataset, found.producer, batch, why), progress)[
        0
    ]


def _get_dataset(store: Store, name: str) -> tuple[int, Dataset]:
    found = get_dataset(store, name)
    refuse_automatic(name, "cannot be wrong. To do the work of a day again: dataflow resubmit JOB DATAID")
    return found


def _affected(store: Store, dataset_id: int, dataset: Dataset, named: list[PublishedId]) -> WrongData:
    first = [one.chunk_id for one in named]
    made = store.read.list_made_from(first)
    ids = list(dict.fromkeys([*first, *(one.chunk_id for one in made)]))
    chunks = {one.chunk_id: one for one in store.read.list_lineage_chunks(ids)}
    readers = store.read.list_readers(ids)
    name = store.read.find_producer(dataset_id)
    producer = store.find_plan(name) if name else None
    jobs = sorted({one.job for one in made} | {one.job for one in readers})
    in_order = tuple([chunks[chunk_id] for chunk_id in ids if chunk_id in chunks])
    return WrongData(dataset_id, dataset.name, producer, tuple(named), in_order, tuple(readers), tuple(jobs))
