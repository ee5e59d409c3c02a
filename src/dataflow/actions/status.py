"""Status of all jobs and datasets, counted over indexes: a million chunks take under a second."""

from __future__ import annotations

from dataflow.actions.lateness import find_wait, list_oldest_runs, list_overdue
from dataflow.actions.next_commands import resubmit_command
from dataflow.model.dataid import dataid_range, sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import record, replace
from dataflow.model.status import UNFINISHED, WorkState
from dataflow.model.wording import utc_text
from dataflow.store.chunk_reads import ChunkCount
from dataflow.store.reads import seconds_of, time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dataflow.actions.lateness import LongestRun, Overdue, Wait
    from dataflow.model.freshness import Lateness
    from dataflow.store.control_reads import PauseRow
    from dataflow.store.job_reads import DatasetGrain
    from dataflow.store.store import Store
    from dataflow.store.work_reads import AskingWork, BadEnding, OpenGroup, SkippedWork

    Counter = Callable[[str, str], int]

HOLD = "HOLD"
COUNTED = (*[state.value for state in WorkState], HOLD)
"""The columns that a job's work is counted in; open work on hold counts as HOLD only."""

SHOWN_MISSING = 5
SHOWN_FAILURES = 20
MOST_HOURS = 200_000
"""Hours are listed, because time zones prevent computing them; longer spans are skipped."""


@record
class Oldest:
    """The work of a job that has waited longest."""

    dataid: str
    state: str
    since_at: str
    age_seconds: float
    reason: str


@record
class JobStatus:
    """One job's work, counted."""

    job: str
    kind: str
    counts: dict[str, int]
    oldest: Oldest | None
    overdue: Overdue | None = None
    longest: LongestRun | None = None
    hold: bool = False
    skipped: SkippedWork | None = None
    quarantined: int = 0  # of the FAILED
    asking: AskingWork | None = None

    def is_late(self, late_after_seconds: float) -> bool:
        """Return whether open work, an overdue interval (unless on hold) or a run is late."""
        if self.oldest and self.oldest.age_seconds > late_after_seconds:
            return True
        if self.overdue and not self.hold and self.overdue.age_seconds > late_after_seconds:
            return True
        return self.longest is not None and self.longest.is_late(late_after_seconds)


@record
class DatasetStatus:
    """One dataset's chunks, counted; `gaps` is None where dataids cannot be counted."""

    dataset: str
    grain: str
    chunks: int
    not_ready: int
    first: str
    last: str
    gaps: int | None
    missing: tuple[str, ...]


@record
class StoreStatus:
    """The status of everything in a store."""

    jobs: tuple[JobStatus, ...]
    datasets: tuple[DatasetStatus, ...]
    failures: tuple[BadEnding, ...]
    paused: PauseRow | None = None
    late: tuple[Lateness, ...] = ()

    def list_late(self, late_after_seconds: float) -> list[JobStatus]:
        """Return the jobs with work, intervals or runs that are late."""
        return [job for job in self.jobs if job.is_late(late_after_seconds)]

    def count_failed(self) -> int:
        """Count the work that is FAILED or INVALID."""
        return sum(job.counts[WorkState.FAILED] + job.counts[WorkState.INVALID] for job in self.jobs)


def get_status(store: Store) -> StoreStatus:
    """Return counts, gaps, the oldest open work and the failures of a whole store."""
    now = store.read.get_now()
    totals = store.read.count_work_by_job()
    jobs: list[JobStatus] = []
    failures: list[BadEnding] = []
    open_groups: dict[int, list[OpenGroup]] = {}
    for group in store.read.list_open_groups():
        open_groups.setdefault(group.job_id, []).append(group)
    paced = store.read.list_paced_jobs()
    overdue, longest = list_overdue(store), list_oldest_runs(store, now)
    skipped, asking = store.read.list_skipped_work(), store.read.list_asking_work()
    for job in store.read.list_job_holds():
        groups = [replace(group, hold=group.hold or job.hold) for group in open_groups.get(job.job_id, ())]
        counts = _counts(groups, totals.get(job.job_id, 0))
        wait = find_wait(store, job, job.job_id in paced, now) if _has_waiting(groups) else None
        oldest, due = _oldest(store, groups, wait, now), overdue.get(job.job)
        quarantined = store.read.count_quarantined(job.job_id) if counts[WorkState.FAILED] else 0
        facts = (longest.get(job.job_id), job.hold, skipped.get(job.job_id))
        more = (quarantined, asking.get(job.job_id))
        jobs.append(JobStatus(job.job, job.kind, counts, oldest, due, *facts, *more))
        for state in (WorkState.FAILED, WorkState.INVALID):
            if counts[state]:
                found = store.read.list_bad_endings(job.job_id, state, SHOWN_FAILURES)
                failures += [replace(bad, next=resubmit_command(bad.job, bad.dataid)) for bad in found]
    late = tuple(store.watching.list_late())
    return StoreStatus(tuple(jobs), tuple(_datasets(store)), tuple(failures), store.read.find_pause(), late)


def _counts(groups: list[OpenGroup], total: int) -> dict[str, int]:
    counts = dict.fromkeys(COUNTED, 0)
    for group in groups:
        counts[HOLD if group.hold and group.state in UNFINISHED else group.state] += group.count
    counts[WorkState.DONE] = max(0, total - sum(counts.values()))
    return counts


def _has_waiting(groups: list[OpenGroup]) -> bool:
    return any(group.state == WorkState.WAITING and not group.hold for group in groups)


def _oldest(store: Store, groups: list[OpenGroup], wait: Wait | None, now: float) -> Oldest | None:
    """Return the open work, not on hold, that has waited longest."""
    found = []
    if wait is not None:
        since_at = utc_text(wait.since_at)
        found.append(Oldest(wait.dataid, WorkState.WAITING, since_at, now - wait.since_at, wait.reason))
    others = [group for group in groups if group.state in UNFINISHED and not group.hold]
    for group in others:
        work = None if group.state == WorkState.WAITING else store.read.find_oldest_work(group)
        if work is not None:  # it may have moved between the two statements
            age_seconds = max(0.0, now - seconds_of(group.since))
            found.append(Oldest(work.dataid, group.state, time_text(group.since), age_seconds, work.reason))
    return max(found, key=lambda work: work.age_seconds, default=None)


def _datasets(store: Store) -> list[DatasetStatus]:
    counted = store.read.count_chunks_by_dataset()
    unready = store.read.count_unready_by_dataset()
    found = []
    for one in store.read.list_dataset_grains():
        chunks = counted.get(one.dataset_id, ChunkCount())
        first = _dataid_at(store, one.dataset_id, chunks.first_key)
        last = _dataid_at(store, one.dataset_id, chunks.last_key)
        gaps: int | None = None
        missing: tuple[str, ...] = ()
        # A calendar has the intervals of its schedule, so it has no gaps; nor has what it lets a job produce.
        if first and last and not one.is_calendar and not one.days:
            gaps, missing = _gaps(store, one, (first, last), chunks.count)
        facts = (one.dataset, one.grain, chunks.count, unready.get(one.dataset_id, 0), first, last)
        found.append(DatasetStatus(*facts, gaps, missing))
    return found


def _gaps(
    store: Store, dataset: DatasetGrain, ends: tuple[str, str], count: int
) -> tuple[int | None, tuple[str, ...]]:
    span = find_span(*ends, Grain(dataset.grain), dataset.timezone)
    if span is None:
        return None, ()

    def count_between(first: str, last: str) -> int:
        return store.read.count_chunks_between(dataset.dataset_id, first, last)

    return span.size - count, tuple(first_missing(span, count, SHOWN_MISSING, count_between))


def _dataid_at(store: Store, dataset_id: int, key: str) -> str:
    return (store.read.find_dataid_at(dataset_id, key) if key else None) or ""


@record
class Span:
    """The dataids from first to last, numbered from 0."""

    size: int
    dataid_at: Callable[[int], str]
    grain: Grain

    def key_at(self, number: int) -> str:
        """The sort key of one of them."""
        return sort_key(self.dataid_at(number), self.grain)


def find_span(first: str, last: str, grain: Grain, timezone: str) -> Span | None:
    """Return all dataids from first to last, or None if they cannot be counted."""
    if grain is Grain.TEXT:
        return None
    if grain is Grain.SEQUENCE:
        base = int(first)
        return Span(int(last) - base + 1, lambda number: str(base + number), grain)
    from dataflow.model import clock

    if grain is Grain.HOURLY:
        return _hours(first, last, timezone)
    start = clock.period_from_text(first, grain)
    size = clock.period_from_text(last, grain) - start + 1
    return Span(size, lambda number: clock.period_text(start + number, grain), grain)


def first_missing(span: Span, count: int, most: int, count_between: Counter) -> Sequence[str]:
    """Return the first dataids of a span without a chunk, if `count` of the span have one."""
    found: list[str] = []
    begin, missing = 0, span.size - count
    while missing > 0 and len(found) < most:
        number = _next_missing(span, begin, count_between)
        found.append(span.dataid_at(number))
        begin, missing = number + 1, missing - 1
    return found


def _next_missing(span: Span, begin: int, count_between: Counter) -> int:
    """Return the number of the first missing dataid from `begin` on; there must be one.

    Strides double until one contains a gap and are then halved, so the cost depends on the distance only.
    """
    stride = 1
    while begin + stride < span.size and _is_whole(span, begin, begin + stride, count_between):
        begin, stride = begin + stride, stride * 2
    end = min(begin + stride, span.size)
    while end - begin > 1:
        middle = (begin + end) // 2
        if _is_whole(span, begin, middle, count_between):
            begin = middle
        else:
            end = middle
    return begin


def _is_whole(span: Span, begin: int, end: int, count_between: Counter) -> bool:
    return count_between(span.key_at(begin), span.key_at(end - 1)) == end - begin


def _hours(first: str, last: str, timezone: str) -> Span | None:
    from dataflow.model import clock

    if clock.hour_from_text(last) - clock.hour_from_text(first) > MOST_HOURS * clock.HOUR_SECONDS:
        return None
    hours = list(dataid_range(first, last, Grain.HOURLY, timezone))
    return Span(len(hours), hours.__getitem__, Grain.HOURLY)
