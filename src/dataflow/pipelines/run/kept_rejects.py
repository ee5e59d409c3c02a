"""Limits how many rejected rows of a run are kept."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dataflow.model.record import replace

if TYPE_CHECKING:
    from dataflow.pipelines.handover.records import TaskReport
    from dataflow.pipelines.shape.shaped import RejectPolicy

KEPT_REJECTS = 1000
"""Up to this many rejected rows are kept per run, or as many as may be rejected if that is more."""
MOST_REJECTS = 20_000
"""Up to this many are kept if a share of the rows may be rejected, because they are held in memory."""


class KeptRejects:
    """Counts the kept rejects of one run, over all its tasks; used by several threads."""

    def __init__(self, policy: RejectPolicy) -> None:
        limit = policy.limit
        self._most = max(KEPT_REJECTS, int(limit)) if limit >= 1 or not limit else MOST_REJECTS
        self._lock = threading.Lock()
        self.rows = 0

    @property
    def left(self) -> int:
        """How many rows a task that starts now may keep."""
        return self._most - self.rows

    def take(self, report: TaskReport) -> TaskReport:
        """The report, cut to the rejects that still fit: other tasks may have used up the limit meanwhile."""
        places = list(dict.fromkeys((one.part, one.row) for one in report.rejects))
        with self._lock:
            kept = frozenset(places[: self.left])
            self.rows += len(kept)
        if len(kept) == len(places):
            return report
        return replace(report, rejects=tuple(one for one in report.rejects if (one.part, one.row) in kept))
