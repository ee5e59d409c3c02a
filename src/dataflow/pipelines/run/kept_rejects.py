"""How many rejected rows of a run are kept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dataflow.model.record import replace

if TYPE_CHECKING:
    from dataflow.pipelines.handover.records import TaskReport
    from dataflow.pipelines.shape.policy import RejectPolicy

KEPT_REJECTS = 1000
"""So many rejected rows of a run are kept to be looked at, or as many as may be left out if that is more."""
MOST_REJECTS = 20_000
"""So many are kept where a share of the rows may be left out, however many those are: they are in memory."""


class KeptRejects:
    """How many rejected rows of one run are kept, of all its tasks together; several threads ask and tell."""

    def __init__(self, policy: RejectPolicy) -> None:
        limit = policy.limit
        self._most = max(KEPT_REJECTS, int(limit)) if limit >= 1 or not limit else MOST_REJECTS
        self._lock = threading.Lock()
        self.rows = 0

    @property
    def left(self) -> int:
        """How many rows a task that begins now may keep."""
        return self._most - self.rows

    def take(self, report: TaskReport) -> TaskReport:
        """The report with no more rejects than there is room for: other tasks may have filled it by now."""
        places = list(dict.fromkeys((one.part, one.row) for one in report.rejects))
        with self._lock:
            kept = frozenset(places[: self.left])
            self.rows += len(kept)
        if len(kept) == len(places):
            return report
        return replace(report, rejects=tuple(one for one in report.rejects if (one.part, one.row) in kept))
