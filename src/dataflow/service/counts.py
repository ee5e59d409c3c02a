"""How the runs of a worker have ended: numbers only, because it may run for months."""

from __future__ import annotations

from dataflow.model.records import Ending
from dataflow.model.status import RunOutcome
from dataflow.runjob.report import Tally


class Counts(Tally):
    """Counts runs, where RunJob's tally counts chunks."""

    def __init__(self) -> None:
        super().__init__()
        self.runs_done = self.runs_failed = 0

    def count(self, ending: Ending, state: str | None) -> None:
        self.lost += ending.outcome is RunOutcome.LOST
        self.runs_done += ending.outcome is RunOutcome.DONE
        self.runs_failed += ending.outcome in (RunOutcome.FAILED, RunOutcome.INVALID)

    def count_run(self, done: bool) -> None:
        """Count a run of a pipeline."""
        self.runs_done += done
        self.runs_failed += not done
