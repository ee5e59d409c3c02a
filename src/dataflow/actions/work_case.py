"""One work under examination: where its facts come from, and what explanations are made of."""

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
    """One thing that stands in the way, and the command or repair that deals with it."""

    text: str
    next: str
    is_hold: bool = False
    question: Question | None = None  # the one of the five that it answers with no; None for a mere wait


@record
class WorkCase:
    """A job's dataid and where to look: store, configuration, and the kernel's word on dead processes."""

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
        """What is published of a dataset at this dataid, or None."""
        wanted = self.dataid if dataid is None else dataid
        return self.store.read.find_chunk(dataset_id, wanted)

    def is_gone(self, run: RunRow) -> bool:
        """True when the run was on this machine and its process is certainly dead."""
        return self.is_dead is not None and run.host == self.config.host and self.is_dead(run.claimant)


def why_not_ready(chunk: ChunkFacts) -> str:
    """Return what keeps a chunk from being ready, as the end of a sentence."""
    if chunk.withdrawn:
        return "was withdrawn"
    if chunk.dirty_run_id:
        return f"was left half overwritten by run {chunk.dirty_run_id}"
    if chunk.stale:
        return "is STALE: an input of its producer has a newer version"
    return "has not been published"
