"""Reads of chunks and their versions: what is published, where, and how many there are."""

from __future__ import annotations

from dataflow.model.coverage import EVERYTHING
from dataflow.model.record import record
from dataflow.model.records import ChunkRow
from dataflow.store import chunks, latest_inputs, pins, registry, several_inputs
from dataflow.store.reads import Reads, first_of, time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dataflow.model.records import Lacking, Pin, Plan, PlanInput

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


@record
class InputCount:
    """How many chunks of an input a work waits for, how many are ready, and until when for all of them."""

    needed: int
    present: int
    deadline: float | None


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
            dataset, dataid, shown, version, modified_at, location, chunk_id, lacked = row
            read_by = tuple(readers.get(chunk_id, ()))
            yield ChunkRow(dataset, dataid, shown, version, time_text(modified_at), read_by, location, lacked)

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

    def list_lacking(self, plan: Plan, dataid: str, pinned: tuple[Pin, ...]) -> tuple[Lacking, ...]:
        """Return the chunks of inputs with several that a work needs and are not pinned, in order."""
        return self._read(lambda tx: pins.list_lacking(tx, plan, dataid, pinned))

    def list_needed(self, plan: Plan, source: PlanInput, dataid: str) -> list[str]:
        """Return the dataids of one input that a work needs, in order; none of `latest` and `all`."""
        return self._read(lambda tx: several_inputs.list_needed(tx, plan, source, dataid))

    def list_ready_among(self, dataset_id: int, dataids: Sequence[str]) -> set[str]:
        """Return which of these chunks are ready."""
        pairs = [(dataid, "") for dataid in dataids]
        rows = self._read(lambda tx: tx.rows("publish.ready_among", dataset_id=dataset_id, **tx.batch(pairs)))
        return {row[0] for row in rows}

    def list_known_chunks(self, dataset_id: int, dataids: Sequence[str]) -> set[str]:
        """Return which of these chunks a dataset has, ready or not."""
        pairs = [(dataid, "") for dataid in dataids]
        rows = self._read(
            lambda tx: tx.rows("registration.known_chunks", dataset_id=dataset_id, **tx.batch(pairs))
        )
        return {row[0] for row in rows}

    def list_pairs(self, job_id: int, dataset_id: int) -> list[tuple[str, str]]:
        """Return the (work, chunk) pairs of an input mapped `pairs`."""
        rows = self._rows("several.pairs_of", job_id=job_id, dataset_id=dataset_id)
        return [(work, chunk) for work, chunk in rows]

    def count_pairs(self, job_id: int, dataset_id: int) -> int:
        """Count the (work, chunk) pairs of an input mapped `pairs`."""
        return int(self._get("several.count_pairs", job_id=job_id, dataset_id=dataset_id))

    def list_counts(self, work_id: int) -> dict[int, InputCount]:
        """Return what is kept of a work's inputs, by position."""
        return {row[0]: InputCount(*row[1:]) for row in self._rows("several.counts", work_id=work_id)}

    def list_relaxed(self, job_id: int) -> frozenset[tuple[str, int]]:
        """Return the dataid and position of a job's inputs that need not be complete any more."""
        return frozenset([(row[0], row[1]) for row in self._rows("several.relaxed", job_id=job_id)])

    def has_ready(self, dataset_id: int, least: int) -> bool:
        """Return whether a dataset has at least so many ready chunks."""
        return int(self._get("several.ready_count", dataset_id=dataset_id, most=least)) >= least

    def count_lacked(self, run_id: int) -> int:
        """Return how many chunks that its work needs a run did without; 0 for an unknown run."""
        found: int | None = first_of(self._find("several.lacked", run_id=run_id))
        return found or 0

    def list_run_pins(self, run_id: int) -> dict[int, list[str]]:
        """Return the dataids that a run has pinned, in order, by position."""
        found: dict[int, list[str]] = {}
        for row in self._rows("claim.pins_of", run_id=run_id):
            found.setdefault(row[0], []).append(row[2])
        return found

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
