"""All reads of the store that are not part of the handoff, grouped by noun. Nothing here changes anything.

`store.read` imports this module on first use, so a run that reads nothing for people does not load it.
Names follow the result: get_ returns one or fails, find_ one or None, list_ many, count_ a number.
"""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.store import workers
from dataflow.store.attention_reads import AttentionReads
from dataflow.store.chunk_pages import ChunkPages
from dataflow.store.chunk_reads import ChunkReads
from dataflow.store.control_reads import ControlReads
from dataflow.store.grid_reads import GridReads
from dataflow.store.job_reads import JobReads
from dataflow.store.lineage_reads import LineageReads
from dataflow.store.reads import Reads
from dataflow.store.run_reads import RunReads
from dataflow.store.work_reads import WorkReads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dataflow.model.worker_rows import WorkerRow


@record
class JournalRow:
    """One line of the journal as `dataflow journal` shows it."""

    journal_id: int
    at: str
    actor: str
    action: str
    job: str
    dataset: str
    dataid: str
    run_id: int | None
    from_state: str
    to_state: str
    items: int
    why: str


class JournalReads(Reads):
    """Reads of the journal and of the store itself."""

    def list_journal(self, most: int, **where: Any) -> list[JournalRow]:
        """Return lines of the journal, newest first: of a `job`, `dataset`, `dataid` or `run_id`.

        With `before`, those older than the line of this id.
        """
        anything = {"job": "", "dataset": "", "dataid": "", "run_id": 0, "before": 0}
        return self._list(JournalRow, "reading.journal", most=most, **(anything | where))

    def get_now(self) -> float:
        """Return the store's own time, in seconds since 1970."""
        return float(self._get("reading.now"))

    def get_store_id(self) -> str:
        """Return the id the store got when it was created."""
        return str(self._get("versions.store_id"))


class WorkerReads(Reads):
    """Reads of workers."""

    def list_workers(self) -> list[WorkerRow]:
        """Return all workers, oldest first, with what each is doing."""
        return self._read(workers.list_workers)

    def find_job_ids(self, names: Sequence[str]) -> dict[str, int]:
        """Return the ids of the jobs of these names that are registered."""
        return self._read(lambda tx: workers.find_job_ids(tx, names))

    def list_held_jobs(self, claimant: str) -> list[int]:
        """Return the jobs whose live runs a claimant holds."""
        return [row[0] for row in self._rows("worker.jobs_of_claimant", claimant=claimant)]


class Reader(
    JobReads,
    WorkReads,
    RunReads,
    ChunkReads,
    GridReads,
    ChunkPages,
    LineageReads,
    JournalReads,
    ControlReads,
    AttentionReads,
    WorkerReads,
):
    """Every read of one store."""
