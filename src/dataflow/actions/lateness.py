"""Lateness: intervals that ended but nobody has added, and runs that take much longer than usual."""

from __future__ import annotations

from statistics import median

from dataflow.actions.calendar import TODAY_EXPRESSION, list_due_intervals
from dataflow.model.coverage import EVERYTHING
from dataflow.model.dataid import interval_of
from dataflow.model.grain import Grain
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.calendars import DueCalendar
    from dataflow.store.job_reads import JobHold
    from dataflow.store.store import Store

SLOW_FACTOR = 3.0
"""A run is late when it has taken this many times as long as its job usually does."""
MOST_CALLED_EARLY = 100
"""Works of a job that are looked at, if each was called for before its interval ended."""
COMPARED_RUNS = 10
"""Last successful runs of a job whose median duration is the usual one."""


@record
class Overdue:
    """Intervals of a job's schedule that have ended and are not added as work; at most 1,000 are counted."""

    dataset: str
    intervals: int
    since_at: float
    age_seconds: float


@record
class LongestRun:
    """The run of a job that has been RUNNING longest; `usual_seconds` is None without successful runs."""

    run_id: int
    dataid: str
    age_seconds: float
    usual_seconds: float | None

    def is_late(self, late_after_seconds: float) -> bool:
        """Return whether it has run longer than this and much longer than usual."""
        slow_after = SLOW_FACTOR * (self.usual_seconds or 0.0)
        return self.age_seconds > max(late_after_seconds, slow_after)


@record
class Wait:
    """The WAITING work of a job that has waited longest since its turn came."""

    dataid: str
    since_at: float
    reason: str


def find_wait(store: Store, job: JobHold, is_paced: bool, now: float) -> Wait | None:
    """Return the work of a job that has waited longest; None if none waits, or no interval of it has ended.

    Work is often called for before its own interval has ended: a day by its first hour. Its wait counts from
    the end of the interval. In order of the calls, only earlier work can have waited longer.
    """
    found: Wait | None = None
    before = EVERYTHING
    for _ in range(MOST_CALLED_EARLY):
        work = store.read.find_first_called(job.job_id, is_paced, before)
        if work is None:
            break
        interval = interval_of(work.dataid, Grain(job.grain), job.timezone)
        end_at = interval[1].timestamp() if interval else work.called_at
        since_at = max(work.called_at, end_at)
        if since_at <= now and (found is None or since_at < found.since_at):
            found = Wait(work.dataid, since_at, work.reason)
        if work.called_at >= end_at:
            break
        before = work.sort_key
    return found


def list_overdue(store: Store) -> dict[str, Overdue]:
    """Return the overdue intervals of each job, by job; those of its calendar that is overdue longest."""
    found: dict[str, Overdue] = {}
    for item in store.read.list_due_calendars():
        overdue = _overdue(item.dataset, item.calendar)
        if overdue and (item.job not in found or overdue.since_at < found[item.job].since_at):
            found[item.job] = overdue
    return found


def list_oldest_runs(store: Store, now: float) -> dict[int, LongestRun]:
    """Return the run of each job that has been RUNNING longest, by job id."""
    found: dict[int, LongestRun] = {}
    for run in store.read.list_started_runs():
        if run.job_id not in found:
            durations = store.read.list_durations(run.job_id, COMPARED_RUNS)
            usual_seconds = median(durations) if durations else None
            age_seconds = max(0.0, now - run.started_at)
            found[run.job_id] = LongestRun(run.run_id, run.dataid, age_seconds, usual_seconds)
    return found


def _overdue(dataset: str, calendar: DueCalendar) -> Overdue | None:
    intervals, _ = list_due_intervals(calendar)
    if not intervals:
        return None
    if calendar.due_at:  # 0 until the calendar has its first interval
        since_at = calendar.due_at
    else:
        is_today = calendar.expression == TODAY_EXPRESSION
        since_at = intervals[0].start_at if is_today else intervals[0].end_at
    return Overdue(dataset, len(intervals), since_at, max(0.0, calendar.now_at - since_at))
