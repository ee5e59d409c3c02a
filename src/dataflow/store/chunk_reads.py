"""Reads of chunks and their versions: what is published, where, and how many there are."""

from __future__ import annotations

from dataflow.model.coverage import EVERYTHING
from dataflow.model.record import record
from dataflow.model.records import ChunkRow
from dataflow.store import chunks, latest_inputs, pins, registry
from dataflow.store.reads import Reads, first_of, time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataflow.model.records import Pin, Plan, PlanInput

LAST_KEY = EVERYTHING
"""Sorts after every sort key."""


@record
class ChunkFacts:
    """What is published of one chunk."""

    chunk_id: int
    version: int
    withdrawn: bool
    stale: bool
    dirty_run_id: int | None
    outdated: bool = False  # stale because of its own inputs, not merely because one of them is stale
    run_id: int | None = None

    @property
    def is_ready(self) -> bool:
        """Apply the claim's own rule for an input."""
        return self.version > 0 and not (self.withdrawn or self.stale or self.dirty_run_id)

    @property
    def is_stale(self) -> bool:
        """Return whether it can be read, but is not current."""
        return self.version > 0 and self.stale and not (self.withdrawn or self.dirty_run_id)


@record
class ChunkCount:
    """How many chunks a dataset has, and the first and last in order."""

    count: int = 0
    first_key: str = ""
    last_key: str = ""


@record
class PublishedChunk:
    """A chunk that can be read, and where."""

    chunk_id: int
    dataid: str
    version: int
    location: str
    stale: bool


@record
class KeptVersion:
    """One location of one version of a chunk; `current` if readers are sent there now.

    `missing` is a file of it that no longer exists, for those who looked.
    """

    version: int
    location: str
    run_id: int | None
    rows: int | None
    size: int | None
    published_at: str
    current: bool
    missing: str = ""


class ChunkReads(Reads):
    """Reads of chunks."""

    def find_chunk(self, dataset_id: int, dataid: str) -> ChunkFacts | None:
        """Return what is published of a chunk, or None."""
        return self._find_one(ChunkFacts, "explain.output_chunk", dataset_id=dataset_id, dataid=dataid)

    def list_chunks(
        self,
        dataset_id: int,
        first: str = "",
        last: str = LAST_KEY,
        status: str = "",
        most: int = 1 << 60,
    ) -> Iterator[ChunkRow]:
        """Stream chunks of a dataset in order."""
        readers: dict[int, list[int]] = {}
        for chunk_id, run_id in self._rows("reading.live_pins", dataset_id=dataset_id):
            readers.setdefault(chunk_id, []).append(run_id)
        where = {"dataset_id": dataset_id, "first": first, "last": last, "status": status, "most": most}
        for row in self._database.stream("reading.chunks", **where):
            dataset, dataid, shown, version, modified_at, location, chunk_id = row
            read_by = tuple(readers.get(chunk_id, ()))
            yield ChunkRow(dataset, dataid, shown, version, time_text(modified_at), read_by, location)

    def find_dataid_at(self, dataset_id: int, sort_key: str) -> str | None:
        """Return the dataid of the chunk at a sort key, or None."""
        found: str | None = first_of(self._find("reading.chunk_at", dataset_id=dataset_id, sort_key=sort_key))
        return found

    def list_ready_dataids(self, dataset_id: int) -> set[str]:
        """Return the dataids of all ready chunks of a dataset."""
        return {row[0] for row in self._rows("reading.ready_dataids", dataset_id=dataset_id)}

    def count_chunks(self, dataset_id: int) -> int:
        """Count the chunks of a dataset."""
        return self._read(lambda tx: registry.count_chunks(tx, dataset_id))

    def count_chunks_between(self, dataset_id: int, first: str, last: str) -> int:
        """Count the chunks of a dataset between two sort keys, both included."""
        return int(self._get("status.count_between", dataset_id=dataset_id, first=first, last=last))

    def count_chunks_by_dataset(self) -> dict[int, ChunkCount]:
        """Count the chunks of all datasets, by dataset id."""
        return {row[0]: ChunkCount(*row[1:]) for row in self._rows("status.chunk_counts")}

    def count_unready_by_dataset(self) -> dict[int, int]:
        """Count the chunks that exist but are not ready, by dataset id."""
        return {dataset_id: int(count) for dataset_id, count in self._rows("status.odd_chunks")}

    def list_pins(self, plan: Plan, dataid: str) -> tuple[Pin, ...]:
        """Return the input chunks that a claim made now would pin."""
        return self._read(lambda tx: pins.list_readable(tx, plan, dataid))

    def find_latest_pin(self, plan: Plan, source: PlanInput, dataid: str) -> Pin | None:
        """Return the chunk of an input mapped `latest` that a claim made now would pin."""
        return self._read(lambda tx: latest_inputs.find_pin(tx, plan, source, dataid))

    def list_newer_snapshots(self, plan: Plan, dataid: str) -> list[str]:
        """Return, per output, the newer snapshot that this dataid's would overwrite."""
        return self._read(lambda tx: chunks.list_newer_snapshots(tx, plan, dataid))

    def find_newest_ready(self, dataset_id: int) -> PublishedChunk | None:
        """Return the newest ready chunk of a dataset."""
        return self._find_one(PublishedChunk, "versions.newest", dataset_id=dataset_id)

    def find_published(self, dataset_id: int, dataid: str) -> PublishedChunk | None:
        """Return a chunk that can be read, or None."""
        return self._find_one(PublishedChunk, "versions.published", dataset_id=dataset_id, dataid=dataid)

    def list_published(self, dataset_id: int) -> list[PublishedChunk]:
        """Return all chunks of a dataset that can be read, in order."""
        return self._list(PublishedChunk, "versions.published", dataset_id=dataset_id, dataid="")

    def find_last_rows(self, dataset_id: int, pair: tuple[str, str], is_snapshot: bool) -> int | None:
        """Return the row count of the last version of a chunk, or of the snapshot before it."""
        dataid, sort_key = pair
        where = {"dataset_id": dataset_id, "dataid": dataid, "sort_key": sort_key}
        row = self._find("reading.last_rows", **where, is_snapshot=is_snapshot)
        return None if row is None else int(row[0])

    def list_versions(self, dataset_id: int, dataid: str) -> list[KeptVersion]:
        """Return the versions of a chunk that are kept, oldest first."""
        return self._list(KeptVersion, "versions.of_chunk", dataset_id=dataset_id, dataid=dataid)

    def list_locations(self, dataset_id: int, dataid: str) -> list[str]:
        """Return all locations of a chunk that a reader may be sent to."""
        return [row[0] for row in self._rows("versions.places", dataset_id=dataset_id, dataid=dataid)]
