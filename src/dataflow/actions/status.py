"""Status: how all jobs and datasets stand, counted over indexes: a million chunks take under a second."""

from __future__ import annotations

from datetime import datetime

from dataflow.actions.gaps import find_span, first_missing
from dataflow.actions.next_commands import resubmit_command
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.status import UNFINISHED, WorkState
from dataflow.store.reader import time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Row
    from dataflow.store.store import Store

HOLD = "HOLD"
COUNTED = (*[state.value for state in WorkState], HOLD)
"""What a job's work is counted by; open work on hold counts as HOLD and nothing else."""

SHOWN_MISSING = 5
SHOWN_FAILURES = 20


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
class Failure:
    """Work that failed or is invalid, and the command that has it done again."""

    job: str
    dataid: str
    state: str
    run_id: int | None
    reason: str
    modified_at: str
    next: str


@record
class StoreStatus:
    """How everything in a store stands."""

    jobs: tuple[JobStatus, ...]
    datasets: tuple[DatasetStatus, ...]
    failures: tuple[Failure, ...]

    def list_late(self, late_after_seconds: float) -> list[JobStatus]:
        """The jobs whose oldest open work has waited longer than this."""
        return [job for job in self.jobs if job.oldest and job.oldest.age_seconds > late_after_seconds]

    def count_failed(self) -> int:
        """How much work ended FAILED or INVALID."""
        return sum(job.counts[WorkState.FAILED] + job.counts[WorkState.INVALID] for job in self.jobs)


def get_status(store: Store) -> StoreStatus:
    """Counts, gaps, the oldest open work and the failures of a whole store."""
    now = _now(store)
    totals: dict[int, int] = dict(store.rows("status.all_work"))
    jobs: list[JobStatus] = []
    failures: list[Failure] = []
    open_work = store.rows("status.open_work")
    for job_id, name, job_hold, kind in store.rows("status.job_ids"):
        rows = [
            (state, bool(hold or job_hold), number, since)
            for found, state, hold, number, since in open_work
            if found == job_id
        ]
        counts = _counts(rows, totals.get(job_id, 0))
        jobs.append(JobStatus(name, kind, counts, _oldest(store, job_id, rows, now)))
        for state in (WorkState.FAILED, WorkState.INVALID):
            if counts[state]:
                failures += _failures(store, job_id, name, state)
    return StoreStatus(tuple(jobs), tuple(_datasets(store)), tuple(failures))


def _counts(rows: list[Row], total: int) -> dict[str, int]:
    counts = dict.fromkeys(COUNTED, 0)
    for state, hold, number, _ in rows:
        counts[HOLD if hold and state in UNFINISHED else state] += number
    counts[WorkState.DONE] = max(0, total - sum(counts.values()))
    return counts


def _oldest(store: Store, job_id: int, rows: list[Row], now: float) -> Oldest | None:
    """The open work, not on hold, that was called for first."""
    found = [(since, state) for state, hold, _, since in rows if state in UNFINISHED and not hold]
    if not found:
        return None
    since, state = min(found)
    row = store.find("status.first_in_state", job_id=job_id, state=state)
    if row is None or row[2] != since:
        row = store.find("status.work_since", job_id=job_id, state=state, called_at=since)
    if row is None:  # it moved between the two statements
        return None
    age_seconds = max(0.0, now - _seconds(since))
    return Oldest(row[0], state, time_text(since), age_seconds, row[1])


def _failures(store: Store, job_id: int, job: str, state: WorkState) -> list[Failure]:
    rows = store.rows("status.ended_badly", job_id=job_id, state=state.value, most=SHOWN_FAILURES)
    return [
        Failure(
            job, dataid, state.value, run_id or None, reason, time_text(at), resubmit_command(job, dataid)
        )
        for dataid, reason, run_id, at in rows
    ]


def _datasets(store: Store) -> list[DatasetStatus]:
    counted = {row[0]: row[1:] for row in store.rows("status.chunk_counts")}
    odd: dict[int, int] = dict(store.rows("status.odd_chunks"))
    found = []
    for dataset_id, name, grain, timezone, is_calendar in store.rows("status.datasets"):
        count, low, high = counted.get(dataset_id, (0, "", ""))
        first, last = _dataid_at(store, dataset_id, low), _dataid_at(store, dataset_id, high)
        gaps: int | None = None
        missing: tuple[str, ...] = ()
        # A calendar has the intervals its schedule gave it, and no others were ever meant to be there.
        if first and last and not is_calendar:
            gaps, missing = _gaps(store, dataset_id, (first, last), (Grain(grain), timezone), count)
        found.append(DatasetStatus(name, grain, count, odd.get(dataset_id, 0), first, last, gaps, missing))
    return found


def _gaps(
    store: Store, dataset_id: int, ends: tuple[str, str], order: tuple[Grain, str], count: int
) -> tuple[int | None, tuple[str, ...]]:
    span = find_span(*ends, *order)
    if span is None:
        return None, ()

    def count_between(first: str, last: str) -> int:
        row = store.find("status.count_between", dataset_id=dataset_id, first=first, last=last)
        return int(row[0]) if row else 0

    return span.size - count, tuple(first_missing(span, count, SHOWN_MISSING, count_between))


def _dataid_at(store: Store, dataset_id: int, key: str) -> str:
    row = store.find("reading.chunk_at", dataset_id=dataset_id, sort_key=key) if key else None
    return str(row[0]) if row else ""


def _now(store: Store) -> float:
    row = store.find("reading.now")
    assert row is not None
    return float(row[0])


def _seconds(moment: object) -> float:
    parsed = moment if isinstance(moment, datetime) else datetime.fromisoformat(str(moment))
    return parsed.timestamp()
