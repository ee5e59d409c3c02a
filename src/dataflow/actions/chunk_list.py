"""Chunks as `dataflow chunks --json` and the API list them, and in pages."""

from __future__ import annotations

from dataflow.actions.names import get_dataset
from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import ChunkRow
    from dataflow.store.store import Store

MOST_CHUNKS = 1000
"""Chunks of one page."""


@record
class ListedChunk:
    """A chunk with its status and the runs that read it; `lacked` counts chunks its run did without."""

    dataset: str
    dataid: str
    status: str
    version: int
    modified_at: str
    readers: tuple[int, ...]
    partial: bool
    lacked: int


@record
class ChunkPage:
    """Chunks of a dataset in order; `next` is the dataid to go on after, None at the end."""

    dataset: str
    chunks: tuple[ListedChunk, ...]
    next: str | None


def describe_chunk(chunk: ChunkRow) -> ListedChunk:
    """Return a chunk as JSON carries it."""
    facts = (chunk.dataset, chunk.dataid, chunk.status, chunk.version, chunk.modified_at, chunk.readers)
    return ListedChunk(*facts, bool(chunk.lacked), chunk.lacked)


def get_chunk_page(store: Store, name: str, after: str = "", most: int = 100, status: str = "") -> ChunkPage:
    """Return the next chunks of a dataset after a dataid, which need not exist; all or of one status."""
    if not 1 <= most <= MOST_CHUNKS:
        raise BadInput(f"A page has 1 to {MOST_CHUNKS:,} chunks, not {most:,}.")
    dataset_id, dataset = get_dataset(store, name)
    grain = Grain(dataset.grain)
    key = sort_key(canonical_dataid(after, grain, dataset.timezone), grain) if after else ""
    found = store.read.list_chunk_page(dataset_id, key, most + 1, status)
    chunks = tuple([describe_chunk(chunk) for chunk in found[:most]])
    return ChunkPage(dataset.name, chunks, chunks[-1].dataid if len(found) > most else None)
