"""The states of work, the outcomes of runs, the status people see, and the legal moves between them."""

from __future__ import annotations

from enum import StrEnum


class WorkState(StrEnum):
    """What is being done about one (job, dataid)."""

    WAITING = "WAITING"  # an input is missing, or it waits for a time, with a reason
    CLAIMABLE = "CLAIMABLE"  # the next claim may take it
    RUNNING = "RUNNING"  # a run holds it under a lease
    DONE = "DONE"  # its outputs are published from the current versions of its inputs
    FAILED = "FAILED"  # no attempts left, a final error, quarantined, or cancelled
    INVALID = "INVALID"  # produced, but its checks failed; not retried automatically


class RunOutcome(StrEnum):
    """How one attempt ended."""

    RUNNING = "RUNNING"  # it has not ended
    DONE = "DONE"  # accepted and published
    FAILED = "FAILED"  # the command failed or timed out
    INVALID = "INVALID"  # the command succeeded, its checks did not
    RETURNED = "RETURNED"  # one of the five answers was no, or it could not start; no attempt used
    INTERRUPTED = "INTERRUPTED"  # returned on SIGTERM; no attempt used
    CANCELLED = "CANCELLED"  # revoked by an operator
    LOST = "LOST"  # its lease lapsed or could not be renewed in time, or its process died


class Status(StrEnum):
    """The status people see: a function of what is published and what is being done."""

    READY = "READY"  # published and current
    STALE = "STALE"  # published, but made from something that has changed since
    RUNNING = "RUNNING"  # being produced
    FAILED = "FAILED"  # the last attempt to produce it failed
    INVALID = "INVALID"  # produced, but its checks failed
    RESUBMIT = "RESUBMIT"  # an operator resubmitted it
    HOLD = "HOLD"  # an operator blocked it
    PENDING = "PENDING"  # known, not yet produced


FINAL = frozenset({WorkState.DONE, WorkState.FAILED, WorkState.INVALID})
"""States that only an operator or a newer input version changes."""

UNFINISHED = frozenset({WorkState.WAITING, WorkState.CLAIMABLE})
"""States of open work that no run holds."""

_UNCLAIMED = frozenset(WorkState) - {WorkState.RUNNING}
_RUNNING = frozenset({WorkState.RUNNING})

MOVES: dict[str, tuple[frozenset[WorkState], frozenset[WorkState]]] = {
    "claim": (frozenset({WorkState.CLAIMABLE}), _RUNNING),
    "force": (_UNCLAIMED, _RUNNING),
    "finish": (_RUNNING, _UNCLAIMED),
    "free": (_RUNNING, UNFINISHED | {WorkState.FAILED}),
    "cancel": (_RUNNING, frozenset({WorkState.FAILED})),
    "mark": (frozenset(WorkState), FINAL),
    "resubmit": (_UNCLAIMED, UNFINISHED),
    "accept": (_UNCLAIMED, frozenset({WorkState.DONE})),
    "arrive": (frozenset({WorkState.WAITING}), frozenset({WorkState.CLAIMABLE})),
    "depart": (frozenset({WorkState.CLAIMABLE}), frozenset({WorkState.WAITING})),
    "renew": (FINAL, UNFINISHED),
    "promote": (frozenset({WorkState.WAITING}), frozenset({WorkState.CLAIMABLE})),
}
"""The legal moves of work, from which states to which. The names are the journal's actions."""

FOLLOWING = frozenset({"arrive", "depart", "renew", "promote"})
"""Moves that follow from a change of the inputs, the job or the clock; the journal records the cause."""
