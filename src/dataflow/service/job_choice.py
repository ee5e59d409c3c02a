"""Which job comes next: by the priority of its first claimable work, then by the age of that work. Pure."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.model.records import rank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from dataflow.model.worker_rows import JobOutlook


@record
class Candidate:
    """A job with something to claim; `work_id` is None if a claim has to make it claimable first.

    The smallest `rank` comes first: by priority, and then by when its first work was called for.
    """

    job_id: int
    work_id: int | None
    rank: tuple[int, int, str]


def rank(outlooks: Iterable[JobOutlook], dead: Collection[int]) -> list[Candidate]:
    """Return the jobs with something to claim, in the order in which they get it.

    Among equals, a job whose wait, interval or lease is over goes first: only a claim shows how old its work
    is. `dead` are jobs with runs of a process that is gone.
    """
    found = []
    for one in outlooks:
        if one.work_id is not None and one.priority is not None:
            found.append(Candidate(one.job_id, one.work_id, rank_of(one.priority, one.called_at or "")))
        elif one.job_id in dead or _is_due(one):
            found.append(Candidate(one.job_id, None, (-one.job_priority, 0, "")))
    return sorted(found, key=lambda candidate: candidate.rank)


def find_next_due(outlooks: Iterable[JobOutlook]) -> float | None:
    """Return in how many seconds the next wait, interval or lease is over; None if nothing is waited for."""
    return min((left for one in outlooks for left in _list_due(one) if left > 0), default=None)


def _is_due(outlook: JobOutlook) -> bool:
    return any(left <= 0 for left in _list_due(outlook))


def _list_due(outlook: JobOutlook) -> list[float]:
    spans = (outlook.wait_seconds, outlook.calendar_seconds, outlook.deadline_seconds, outlook.lease_seconds)
    return [left for left in spans if left is not None]
