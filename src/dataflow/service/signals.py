"""What signals mean to a worker: stop claiming, then hand the work back, then hurry; SIGHUP loads again.

A signal that finds the worker waiting for a store that does not answer ends that wait.
"""

from __future__ import annotations

import signal

from dataflow.runjob.loop import Signals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.store.database import Database

ANSWER_SECONDS = 1.0
"""How long a verb may wait for the store after a signal."""


class WorkerSignals(Signals):
    """The first SIGTERM or SIGINT drains, the second hands running work back, the third ends it at once."""

    def __init__(self, databases: Sequence[Database]) -> None:
        """`databases` are those that the main thread uses."""
        super().__init__()
        self.reloads = False
        self._databases = databases

    def catch(self) -> None:
        super().catch()
        signal.signal(signal.SIGALRM, self._interrupt)

    @property
    def stops_work(self) -> bool:
        return self.count > 1

    @property
    def hurries(self) -> bool:
        return self.count > 2

    def stop_work(self) -> None:
        super().stop_work()
        self.count = max(self.count, 2)

    def take_reload(self) -> bool:
        """Return whether SIGHUP came since the last call."""
        reloads, self.reloads = self.reloads, False
        return reloads

    def limit_wait(self) -> None:
        """Give the store a moment to answer the verb that is under way or begins now."""
        signal.setitimer(signal.ITIMER_REAL, ANSWER_SECONDS)

    def _heard(self, number: int, frame: object) -> None:
        if number == signal.SIGHUP:
            self.reloads = True
        else:
            super()._heard(number, frame)
            self.limit_wait()

    def _interrupt(self, _number: int, _frame: object) -> None:
        """End what has waited too long for the store, so that the signal is heard; once for each signal."""
        for database in self._databases:
            if (left := database.interrupt(ANSWER_SECONDS)) is not None:
                signal.setitimer(signal.ITIMER_REAL, left)
