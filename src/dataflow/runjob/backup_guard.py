"""The guard's backup: ends a run's processes when RunJob and the guard were killed or frozen together.

It hears all that the guard hears, and acts only where the guard should have acted already."""

from __future__ import annotations

import os
import select

from dataflow.runjob.guard_process import DONE, GuardProcess, Watch
from dataflow.runjob.processes import GUARD_NAMES, boottime

# The guard has killed by then, one second before the lease lapses (child.MARGIN_SECONDS).
_DELAY_SECONDS = 1.0
# How long the guard may take to end what a dead RunJob left, if no deadline comes first.
_PATIENCE_SECONDS = 2.0


class BackupGuard(GuardProcess):
    """A guard that leaves the work to the first as long as that one does it."""

    title = GUARD_NAMES[1]

    def _new_watch(self, group: int, kill_at: float, grace_seconds: float) -> Watch:
        """Its processes have had their grace when their turn comes here."""
        return Watch(group, kill_at, 0.0, grace_seconds + _DELAY_SECONDS)

    def _finish(self) -> None:
        """RunJob is gone: end what it left, unless the guard says that it has."""
        deadlines = [watch.kill_at - boottime() for watch in self._watches.values()]
        patience = max(0.0, min([_PATIENCE_SECONDS, *deadlines]))
        poller = select.poll()
        poller.register(self._partner, select.POLLIN)
        if not poller.poll(patience * 1000) or os.read(self._partner, 1) != DONE:
            self._end_everything()
