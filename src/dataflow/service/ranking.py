"""The jobs with something to claim, as the store last said: when to look again, and whose turn it is."""

from __future__ import annotations

from dataflow.runjob.processes import boottime
from dataflow.service.job_choice import find_next_due, rank

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dataflow.service.job_choice import Candidate
    from dataflow.service.roster import Roster, ServedJob
    from dataflow.store.store import Store

LOOK_SECONDS = 0.5
"""How long a ranking is good while streams are busy."""
FALLBACK_SECONDS = 10.0
"""An idle worker looks this often even if nobody told it anything."""


class Ranking:
    """The order of a worker's jobs."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._candidates: list[Candidate] = []
        self._looked_at = 0.0
        self.due_at = 0.0  # when something becomes due, or has to be asked again
        self.is_stale = True  # something has changed since the last look

    @property
    def is_old(self) -> bool:
        """Whether to look again before the next claim, even if nothing is known to have changed."""
        return not self._candidates or boottime() - self._looked_at > LOOK_SECONDS

    def forget(self) -> None:
        """Look again before the next claim: others have changed something."""
        self.is_stale, self._candidates = True, []

    def look(self, store: Store) -> None:
        """Rank the jobs by what the store says now: one query for all of them."""
        roster = self._roster
        if roster.unregistered:
            self._find_ids(store)
        outlooks = store.list_outlooks(roster.ids) if roster.ids else []
        if len(outlooks) < len(roster.ids) and self._find_ids(store):  # else on hold, or paused
            outlooks = store.list_outlooks(roster.ids) if roster.ids else []
        self.is_stale = False
        now = self._looked_at = boottime()
        self._candidates = rank(outlooks, {job.job_id for job in roster if job.has_dead and job.job_id})
        left = find_next_due(outlooks)
        # One that is due but gave nothing is asked again after a while.
        again = [job.next_at for one in self._candidates if (job := roster.find(one.job_id)) is not None]
        due = [now + FALLBACK_SECONDS, *(at for at in again if at > now)]
        self.due_at = min(due) if left is None else min(*due, now + left + 0.01)

    def _find_ids(self, store: Store) -> bool:
        """Ask for the ids of the jobs; True if one has changed: it was registered, removed, or both."""
        ids = store.read.find_job_ids([job.name for job in self._roster])
        return self._roster.set_ids(ids)

    def find_first(self, may_claim: Callable[[ServedJob], bool]) -> ServedJob | None:
        """Return the job whose turn it is; None if there is none."""
        return next((job for job, _ in self._list_claimable(may_claim)), None)

    def find_rival(
        self, first: ServedJob, may_claim: Callable[[ServedJob], bool]
    ) -> tuple[int, int, str] | None:
        """Return the rank of the first work of any other job; None if no other has something to claim."""
        return next((rank for job, rank in self._list_claimable(may_claim) if job is not first), None)

    def _list_claimable(
        self, may_claim: Callable[[ServedJob], bool]
    ) -> Iterator[tuple[ServedJob, tuple[int, int, str]]]:
        for candidate in self._candidates:
            job = self._roster.find(candidate.job_id)
            if job is not None and job.may_claim(candidate.work_id) and may_claim(job):
                yield job, candidate.rank

    def find_work(self, job: ServedJob) -> int | None:
        """Return the first claimable work of a job."""
        return next((one.work_id for one in self._candidates if one.job_id == job.job_id), None)
