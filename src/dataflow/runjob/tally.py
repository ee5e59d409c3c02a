"""What one call of RunJob has done so far."""

from __future__ import annotations

from dataflow.model.status import RunOutcome

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.errors import DataFlowError
    from dataflow.model.records import Ending


class Tally:
    """Outcomes counted, the last run that really ran, and what stands in the way of more."""

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.last: Ending | None = None
        self.started = 0
        self.lost = 0
        self.broken: DataFlowError | None = None

    def count(self, ending: Ending) -> None:
        """Adds a run's outcome."""
        self.outcomes[ending.outcome] = self.outcomes.get(ending.outcome, 0) + 1
        if ending.outcome is RunOutcome.LOST:
            self.lost += 1
        if ending.outcome is not RunOutcome.RETURNED:
            self.last = ending

    @property
    def done(self) -> int:
        """Runs that ended well."""
        return self.outcomes.get(RunOutcome.DONE, 0)

    @property
    def failed(self) -> int:
        """Runs that did not."""
        return self.outcomes.get(RunOutcome.FAILED, 0) + self.outcomes.get(RunOutcome.INVALID, 0)
