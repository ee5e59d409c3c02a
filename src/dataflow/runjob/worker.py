"""The work of one RunJob: claims, runs and finishes runs of one job until there is nothing left to claim."""

from __future__ import annotations

from dataflow.model.status import RunOutcome
from dataflow.runjob.loop import JobLine, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.runjob.guard import Guard
    from dataflow.runjob.output import Terminal
    from dataflow.runjob.report import Report, Tally
    from dataflow.store.store import Store


class Worker(Loop):
    """The runs of one job in this process."""

    def __init__(
        self, line: JobLine, store: Store, guard: Guard, report: Report, terminals: tuple[Terminal, Terminal]
    ) -> None:
        super().__init__(store, line.handoff.claimant.token, guard, report, terminals)
        self._line = line
        self._request = line.request
        self.waits_for_retries = line.request.drain

    def run(self) -> Tally:
        """Work until nothing is left to do or a signal arrives."""
        self.signals.catch()
        try:
            while self._settle() or self._has_to_wait():
                if not self._line.ended and self._has_to_wait():
                    self._wait()
            return self.tally
        finally:
            self.end()

    def _settle(self) -> bool:
        """Finish what has ended and claim what there is room for; False when idle."""
        wanted = 0 if self._is_crowded() else self._count_wanted()
        if not wanted and not self._line.ended:
            return False
        self.settle(self._line, wanted)
        self.tally.broken = self._line.broken
        return True

    def _count_wanted(self) -> int:
        """Return how many more runs there is room for."""
        if self._line.exhausted or self.signal or self._line.broken:
            return 0
        if self._request.drain:
            return max(0, self._request.streams - len(self._children))
        has_ended = any(ended.ending.outcome is not RunOutcome.RETURNED for ended in self._line.ended)
        return 0 if self._children or self.tally.last or self.tally.lost or has_ended else 1

    def _has_to_wait(self) -> bool:
        """True while something runs or is retried soon, or only the reader of our output delays a claim."""
        is_held_up = self._is_crowded() and self._count_wanted()
        return bool(self._children or is_held_up or self._line.retries_at)

    def _end_retries(self, now: float) -> None:
        line = self._line
        due = [at for at in line.retries_at if at <= now or self.signal or line.broken]
        if due:
            line.retries_at = [at for at in line.retries_at if at not in due]
            line.exhausted = False

    def _may_gather(self) -> bool:
        return bool(self._line.ended and self._children)

    def _list_deadlines(self) -> list[float]:
        return [*self._line.retries_at]
