"""What signals mean to a worker: stop claiming, then hand the work back, then hurry; SIGHUP loads again."""

from __future__ import annotations

import signal

from dataflow.runjob.loop import Signals


class WorkerSignals(Signals):
    """The first SIGTERM or SIGINT drains, the second hands running work back, the third ends it at once."""

    def __init__(self) -> None:
        super().__init__()
        self.reloads = False

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

    def _heard(self, number: int, frame: object) -> None:
        if number == signal.SIGHUP:
            self.reloads = True
        else:
            super()._heard(number, frame)
