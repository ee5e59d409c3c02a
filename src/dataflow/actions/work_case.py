"""One work to explain: the sources of its facts, and the parts of an explanation."""

from __future__ import annotations

from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.config.settings import Config
    from dataflow.model.answers import Question
    from dataflow.model.records import Plan, RunRow
    from dataflow.store.chunk_reads import ChunkFacts
    from dataflow.store.store import Store


@record
class Reason:
    """One obstacle, and the command or repair that removes it."""

    text: str
    next: str
    is_hold: bool = False
    question: Question | None = None  # the question that it answers with no; None for a wait
    is_outside: bool = False  # the schedule has no such interval, so nothing else would help


@record
class WorkCase:
    """A job's dataid with the store, the configuration, and a check for dead processes."""

    store: Store
    config: Config
    plan: Plan
    dataid: str
    is_dead: Callable[[str], bool] | None = None
    depth: int = 0

    @property
    def name(self) -> str:
        """The work's name."""
        return f"{self.plan.job.name}/{self.dataid}"

    def find_chunk(self, dataset_id: int, dataid: str | None = None) -> ChunkFacts | None:
        """Return what is published of a dataset at this dataid, or None."""
        wanted = self.dataid if dataid is None else dataid
        return self.store.read.find_chunk(dataset_id, wanted)

    def is_gone(self, run: RunRow) -> bool:
        """Return whether the run was on this machine and its process is certainly dead."""
        return self.is_dead is not None and run.host == self.config.host and self.is_dead(run.claimant)


def why_not_ready(chunk: ChunkFacts) -> str:
    """Return what keeps a chunk from being ready, as the end of a sentence."""
    if chunk.withdrawn:
        return "was withdrawn"
    if chunk.dirty_run_id:
        return f"was left partly overwritten by run {chunk.dirty_run_id}"
    if chunk.stale:
        return "is STALE: an input of its producer has a newer version"
    return "has not been published"
