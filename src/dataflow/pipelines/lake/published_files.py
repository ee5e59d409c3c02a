"""Location of a dataset's current data in the lake. Needs neither Spark nor pyarrow."""

from __future__ import annotations

from dataflow.actions.locations import absolute_place
from dataflow.actions.names import get_dataset
from dataflow.actions.next_commands import shell
from dataflow.errors import BadInput, Conflict
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.location import Location
from dataflow.model.mapping import LATEST
from dataflow.model.record import record
from dataflow.model.records import VIEW, Dataset, PlanInput
from dataflow.pipelines.handover.published_table import interval_table
from dataflow.pipelines.lake.manifest import Manifest, read_manifest
from dataflow.store.chunk_reads import PublishedChunk
from dataflow.store.store import Store


@record
class LakeChunk:
    """The current version of one chunk: its manifest and the manifest's location."""

    dataset: str
    dataid: str
    version: int
    location: str  # as published
    path: str  # of the manifest, on this machine
    manifest: Manifest

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of its data files."""
        return self.manifest.open(self.path).files


@record
class Located:
    """The chunks that form a dataset now, and those left out because an input has a newer version."""

    chunks: tuple[LakeChunk, ...]
    stale: tuple[str, ...] = ()


def is_read_whole(source: PlanInput) -> bool:
    """True for an input of which a view reads all ready chunks, which form the dataset together."""
    return source.mapping == LATEST and source.dataset.mode == "partition"


def locate(store: Store, name: str, project_dir: str, *, with_stale: bool = False) -> Located:
    """The ready chunks of a dataset, optionally with STALE ones; for snapshots, the newest."""
    dataset_id, dataset = get_dataset(store, name)
    _refuse_elsewhere(store, dataset_id, dataset)
    published = store.read.list_published(dataset_id)
    kept = [chunk for chunk in published if with_stale or not chunk.stale]
    left = [chunk for chunk in published if chunk.stale and not with_stale]
    if dataset.mode == "snapshot":
        kept = kept[-1:]
        left = published[published.index(kept[0]) + 1 :] if kept else published[-1:]
    chunks = tuple(_chunk(dataset, chunk, project_dir) for chunk in kept)
    return Located(chunks, tuple(chunk.dataid for chunk in left))


def locate_chunk(store: Store, name: str, dataid: str, project_dir: str) -> tuple[LakeChunk, bool]:
    """The current version of one chunk, and whether it is STALE; Conflict if none is readable now."""
    dataset_id, dataset = get_dataset(store, name)
    dataid = canonical_dataid(dataid, Grain(dataset.grain), dataset.timezone)
    _refuse_elsewhere(store, dataset_id, dataset, dataid)
    published = store.read.find_published(dataset_id, dataid)
    if published is None:
        raise Conflict(f"{name}/{dataid} is not published, or was withdrawn. See: dataflow chunks {name}")
    return _chunk(dataset, published, project_dir), published.stale


def _chunk(dataset: Dataset, chunk: PublishedChunk, project_dir: str) -> LakeChunk:
    path = absolute_place(chunk.location, project_dir)
    return LakeChunk(dataset.name, chunk.dataid, chunk.version, chunk.location, path, read_manifest(path))


def _refuse_elsewhere(store: Store, dataset_id: int, dataset: Dataset, dataid: str = "") -> None:
    location = Location(dataset.location)
    if location.is_manifest:
        return
    place = tell_place(dataset.location)
    if is_view(store, dataset_id) and location.is_in_database:
        newest = store.read.find_newest_ready(dataset_id)
        dataid = dataid or (newest.dataid if newest else "")
        table = f"{dataset.schemaname}.{interval_table(dataset.tablename, dataid)}" if dataid else "none yet"
        place = (
            f"is in PostgreSQL (connection {location.connection}), where each interval is a table or view of "
            f"its own: {table}{f' is that of {dataid}' if dataid else ''}"
        )
    listing = f"Its chunks: {shell('dataflow', 'chunks', dataset.name)}"
    if dataset.staged:
        listing = f"The places of a chunk: {shell('dataflow', 'versions', dataset.name, dataid or 'DATAID')}"
    raise BadInput(f"Dataset {dataset.name} is not in the lake: it {place}. {listing}")


def is_view(store: Store, dataset_id: int) -> bool:
    """True for the output of a view pipeline."""
    producer = store.read.find_producer(dataset_id)
    plan = store.find_plan(producer) if producer else None
    return plan is not None and plan.kind == VIEW


def tell_place(location: str) -> str:
    """The location of a dataset, as words that follow its name."""
    if (found := Location(location)).is_in_database:
        return f"is the table {found.table} in PostgreSQL (connection {found.connection})"
    return f"is at {location}" if location else "declares no location"
