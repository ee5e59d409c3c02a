"""Rejected rows: how many of a run are kept, and their file, one JSON object a line."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from dataflow.model.record import replace

if TYPE_CHECKING:
    from dataflow.pipelines.shape.policy import RejectPolicy
    from dataflow.pipelines.shape.shaped import Reject
    from dataflow.pipelines.stage import Report

REJECTS = "_rejects.jsonl"
KEPT_REJECTS = 1000
"""So many rejected rows of a run are kept to be looked at, or as many as may be left out if that is more."""
MOST_REJECTS = 20_000
"""So many are kept where a share of the rows may be left out, however many those are: they are in memory."""
COLUMNS = ("part", "row", "field", "value", "reason", "source_row")


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

    def take(self, report: Report) -> Report:
        """The report with no more rejects than there is room for: other tasks may have filled it by now."""
        places = list(dict.fromkeys((one.part, one.row) for one in report.rejects))
        with self._lock:
            kept = frozenset(places[: self.left])
            self.rows += len(kept)
        if len(kept) == len(places):
            return report
        return replace(report, rejects=tuple(one for one in report.rejects if (one.part, one.row) in kept))


def write_rejects(
    path: str, rejects: Sequence[Reject], opener: Callable[[str, int], int] | None = None
) -> None:
    """Writes the rejected values, in order."""
    with open(path, "w", encoding="utf-8", opener=opener) as file:
        for reject in rejects:
            facts = {name: getattr(reject, name) for name in COLUMNS}
            file.write(json.dumps(facts, ensure_ascii=False) + "\n")
