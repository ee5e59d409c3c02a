"""Reads of what needs attention, grouped by job and reason, of what ran lately, and of what is due next."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.store.reads import Reads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.model.records import Plan


@record
class BadGroup:
    """Work of a job that ended FAILED or INVALID for one reason; `dataid` is that of one of them."""

    job: str
    dataid: str
    state: str
    quarantined: bool
    reason: str
    count: int
    since_at: str


@record
class BadWork:
    """Work that ended FAILED or INVALID."""

    dataid: str
    state: str
    quarantined: bool
    reason: str


@record
class RefusedGroup:
    """Work of a job that was handed back for one reason."""

    job: str
    dataid: str
    reason: str
    count: int
    since_at: str


@record
class WorkGroup:
    """Work of a job; for a job as a whole, without dataid and count."""

    job: str
    dataid: str
    count: int
    since_at: str


@record
class LapsedRun:
    """A run whose lease lapsed so many seconds ago; None if its machine has restarted."""

    job: str
    dataid: str
    run_id: int
    host: str
    lapsed_seconds: float | None
    started_at: str


@record
class LostWorker:
    """A worker whose heartbeat lapsed so many seconds ago; None if its machine has restarted."""

    name: str
    host: str
    pid: int
    lapsed_seconds: float | None
    started_at: str


@record
class OutcomeCount:
    """How many runs of a job had an outcome."""

    job: str
    outcome: str
    count: int


@record
class DueNext:
    """When the next interval of a job's schedule ends, in seconds since 1970."""

    job: str
    dataset: str
    due_seconds: float


@record
class RunResult:
    """The run that made the result of one dataid, and how many rows it has."""

    dataid: str
    run_id: int
    attempt: int
    outcome: str
    started_at: str
    ended_at: str | None
    rows: int | None


@record
class _RunStart:
    run_id: int
    started_at: float


class AttentionReads(Reads):
    """Reads for people who watch."""

    def list_bad_groups(self, most: int, job: str = "") -> list[BadGroup]:
        """Return the FAILED and INVALID work of all jobs, or of one, by reason, the most first."""
        return self._list(BadGroup, "attention.bad_endings", most=most, job=job)

    def list_bad_work(self, job_id: int, most: int) -> list[BadWork]:
        """Return the first FAILED and INVALID work of a job, in order."""
        return self._list(BadWork, "attention.bad_work", job_id=job_id, most=most)

    def list_last_results(self, plan: Plan, most: int) -> list[RunResult]:
        """Return the runs of a job's last dataids, last first; those that made its first output, if any."""
        if plan.outputs:
            return self._list(
                RunResult, "attention.last_results", dataset_id=plan.outputs[0].dataset_id, most=most
            )
        return self._list(RunResult, "attention.last_runs", job_id=plan.job_id, most=most)

    def count_retrying(self, job_id: int) -> int:
        """Count a job's work that failed and is tried again after a wait."""
        return int(self._get("attention.count_retrying", job_id=job_id))

    def list_refused_groups(self, most: int) -> list[RefusedGroup]:
        """Return work of all jobs that was handed back, by reason."""
        return self._list(RefusedGroup, "attention.refused", most=most)

    def list_asking_groups(self) -> list[WorkGroup]:
        """Return work that asks what to do because its inputs have changed, by job."""
        return self._list(WorkGroup, "attention.asking")

    def list_held_groups(self) -> Sequence[WorkGroup]:
        """Return the jobs on hold, and the work on hold of the others."""
        return self._list(WorkGroup, "attention.held_jobs") + self._list(WorkGroup, "attention.held_work")

    def list_lapsed(self) -> list[LapsedRun]:
        """Return the runs whose lease has lapsed and that no claim has freed yet."""
        return self._list(LapsedRun, "attention.lapsed_runs")

    def list_lost_workers(self) -> list[LostWorker]:
        """Return the workers whose heartbeat has lapsed."""
        return self._list(LostWorker, "attention.lost_workers")

    def count_outcomes_since(self, since_at: float) -> list[OutcomeCount]:
        """Count the runs that started after a time by job and outcome.

        Run ids grow with time: the first such run is found by halving, among any number of runs.
        """
        low, high = 1, int(self._get("reading.newest_run")) + 1
        while low < high:
            middle = (low + high) // 2
            found = self._find_one(_RunStart, "attention.run_from", run_id=middle)
            if found is None or found.started_at >= since_at:
                high = middle
            else:
                low = found.run_id + 1
        return self._list(OutcomeCount, "attention.outcomes_from", run_id=low)

    def list_due_next(self, most: int) -> list[DueNext]:
        """Return the next intervals of all schedules, soonest first."""
        return self._list(DueNext, "attention.due_next", most=most)
