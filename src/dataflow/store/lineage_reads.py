"""Reads of what was made from what: the registered jobs, and the versions that runs have pinned."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.store.reads import Reads, record_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Pair = tuple[str, str]


@record
class JobFeed:
    """A dataset that a job reads, with its mapping, or else produces."""

    job: str
    dataset: str
    is_input: bool
    mapping: str


@record
class LineageChunk:
    """A chunk as it is published now."""

    chunk_id: int
    dataset: str
    dataid: str
    version: int
    run_id: int | None
    stale: bool
    withdrawn: bool


@record
class PublishedId:
    """A published chunk with its place in order."""

    chunk_id: int
    dataid: str
    sort_key: str


@record
class MadeFrom:
    """A version of a chunk that a run read, and the current result that it made."""

    input_id: int
    input_version: int
    run_id: int
    job: str
    dataid: str
    chunk_id: int
    version: int


@record
class ReadBy:
    """A version of a chunk that a run read, and the run that made it."""

    run_id: int
    job: str
    dataid: str
    input_id: int
    input_version: int
    made_by: int | None


@record
class Reader:
    """A run that is at work, or done without an output, and a version of a chunk that it read."""

    run_id: int
    job: str
    dataid: str
    input_id: int
    input_version: int
    is_at_work: bool


@record
class PinnedChunk:
    """A version that a run has read, and the chunk as it is now."""

    dataset: str
    dataid: str
    read_version: int
    version: int
    withdrawn: bool
    stale: bool


class LineageReads(Reads):
    """Reads of what was made from what. Each takes and returns sets, however long the line is."""

    def list_job_feeds(self) -> list[JobFeed]:
        """Return what all jobs read and produce."""
        return self._list(JobFeed, "lineage.feeds")

    def list_lineage_chunks(self, chunk_ids: Sequence[int]) -> list[LineageChunk]:
        """Return some chunks by dataset and in order."""
        rows = self._read(lambda tx: tx.rows("lineage.chunks", **tx.ids(chunk_ids)))
        return [record_from(LineageChunk, row) for row in rows]

    def list_published_among(self, dataset_id: int, pairs: Sequence[Pair]) -> list[PublishedId]:
        """Return the published chunks among these, in order."""
        query = "lineage.published_among"
        rows = self._read(lambda tx: tx.rows(query, dataset_id=dataset_id, **tx.batch(pairs)))
        return [record_from(PublishedId, row) for row in rows]

    def list_published_between(self, dataset_id: int, first: str, last: str) -> list[PublishedId]:
        """Return the published chunks between two sort keys, both included, in order."""
        where = {"dataset_id": dataset_id, "first": first, "last": last}
        return self._list(PublishedId, "lineage.published_between", **where)

    def list_made_from(self, chunk_ids: Sequence[int]) -> list[MadeFrom]:
        """Return all current results made from these chunks, directly or through others."""
        rows = self._read(lambda tx: tx.rows("lineage.made_from", **tx.ids(chunk_ids)))
        return [record_from(MadeFrom, row) for row in rows]

    def list_read_by(self, run_ids: Sequence[int]) -> list[ReadBy]:
        """Return all that these runs read, directly or through the runs that made it."""
        rows = self._read(lambda tx: tx.rows("lineage.read_by", **tx.ids(run_ids)))
        return [record_from(ReadBy, row) for row in rows]

    def list_readers(self, chunk_ids: Sequence[int]) -> list[Reader]:
        """Return the runs that read any of these chunks and are at work, or done without an output."""
        rows = self._read(lambda tx: tx.rows("lineage.readers", **tx.ids(chunk_ids)))
        return [record_from(Reader, row) for row in rows]

    def list_changed_pins(self, run_id: int) -> list[PinnedChunk]:
        """Return what a run read that has changed since."""
        return self._list(PinnedChunk, "lineage.changed_pins", run_id=run_id)

    def list_pinned(self, run_id: int, most: int) -> list[PinnedChunk]:
        """Return the first of the chunks that a run has read, in the order of its inputs."""
        return self._list(PinnedChunk, "lineage.pinned", run_id=run_id, most=most)
