"""How a status looks: an icon, a word and a colour, so that nobody depends on the colour."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.model.status import RunOutcome, Status, WorkState


@record
class Mark:
    """The icon of a status, and the class of its colour in the style sheet."""

    icon: str
    kind: str


_DONE, _BUSY, _OPEN = Mark("✓", "done"), Mark("▶", "busy"), Mark("○", "open")
_BAD, _DOUBTFUL, _OLD = Mark("✕", "bad"), Mark("⚠", "doubtful"), Mark("◐", "old")
_AGAIN, _HELD = Mark("↻", "again"), Mark("‖", "held")

STATUSES: dict[str, Mark] = {
    Status.READY: _DONE,
    Status.STALE: _OLD,
    Status.RUNNING: _BUSY,
    Status.FAILED: _BAD,
    Status.INVALID: _DOUBTFUL,
    Status.RESUBMIT: _AGAIN,
    Status.HOLD: _HELD,
    Status.PENDING: _OPEN,
}
"""The statuses of chunks, in the order in which they are listed."""

_MARKS: dict[str, Mark] = {
    **STATUSES,
    WorkState.WAITING: _OPEN,
    WorkState.CLAIMABLE: _OPEN,
    WorkState.DONE: _DONE,
    RunOutcome.LOST: _BAD,
    RunOutcome.CANCELLED: _HELD,
}


def mark_of(word: str) -> Mark:
    """Return how a status, a state of work or an outcome of a run looks."""
    return _MARKS.get(word, _OPEN)
