"""One work under examination: where its facts come from, and what explanations are made of."""

from __future__ import annotations

from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.config.settings import Config
    from dataflow.model.answers import Question
    from dataflow.model.records import Plan, RunRow
    from dataflow.store.store import Store


@record
class Reason:
    """One thing that stands in the way, and the command or repair that deals with it."""

    text: str
    next: str
    is_hold: bool = False
    question: Question | None = None  # the one of the five that it answers with no; None for a mere wait


@record
class ChunkFacts:
    """What is published of one chunk."""

    chunk_id: int
    version: int
    withdrawn: bool
    stale: bool
    dirty_run_id: int | None

    @property
    def is_ready(self) -> bool:
        """The claim's own rule for an input."""
        return self.version > 0 and not (self.withdrawn or self.stale or self.dirty_run_id)

    @property
    def why_not_ready(self) -> str:
        """What keeps it from being ready, as the end of a sentence."""
        if self.withdrawn:
            return "was withdrawn"
        if self.dirty_run_id:
            return f"was left half overwritten by run {self.dirty_run_id}"
        if self.stale:
            return "is STALE: an input of its producer has a newer version"
        return "has not been published"


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
        row = self.store.find("explain.output_chunk", dataset_id=dataset_id, dataid=wanted)
        if row is None:
            return None
        return ChunkFacts(row[0], row[1], bool(row[2]), bool(row[3]), row[4])

    def is_gone(self, run: RunRow) -> bool:
        """True when the run was on this machine and its process is certainly dead."""
        return self.is_dead is not None and run.host == self.config.host and self.is_dead(run.claimant)
