"""How far all jobs are, how fast, when they will be done, and by which workers.

Counted over indexes, from bounded history.
"""

from __future__ import annotations

from dataflow.actions.workers import list_live
from dataflow.model.record import record
from dataflow.model.status import UNFINISHED, WorkState
from dataflow.store.reads import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dataflow.actions.workers import IsDead
    from dataflow.model.worker_rows import WorkerRow
    from dataflow.store.run_reads import LiveRun, RecentRun
    from dataflow.store.store import Store

WINDOW_SECONDS = 600.0
"""A rate is that of the last minutes, or of the time since the first run in them began."""
MOST_RECENT = 2000
"""Runs of all jobs from which rates are computed; a job without any among them has none."""
SHORTEST_SECONDS = 1.0
MOST_INCIDENTS = 100


@record
class JobProgress:
    """One job's work, counted; a rate is in chunks per second, None without recent runs."""

    job: str
    total: int
    done: int
    running: int
    waiting: int
    failed: int
    held: int
    rate: float | None

    @property
    def eta_seconds(self) -> float | None:
        """How long the rest takes at this rate; None if nothing is left or the rate is unknown."""
        left = self.running + self.waiting
        return left / self.rate if left and self.rate else None


@record
class WorkerLoad:
    """A live worker, and how many of its streams are busy."""

    host: str
    pid: int
    version: str
    jobs: int
    busy: int
    streams: int
    started_at: float


@record
class Progress:
    """All jobs, their runs, the workers, and how much is in trouble, at one moment."""

    now_at: float
    jobs: tuple[JobProgress, ...]
    runs: tuple[LiveRun, ...]
    incidents: tuple[str, ...]
    workers: tuple[WorkerLoad, ...] = ()


def get_progress(store: Store, is_dead: IsDead) -> Progress:
    """Return the progress of all jobs, and the workers that are alive."""
    now = store.read.get_now()
    incidents = store.watching.list_incidents(False, MOST_INCIDENTS)
    trouble = tuple([f"{one.kind} {one.subject}" for one in incidents])
    workers = tuple([_load_of(row) for row in list_live(store, is_dead)])
    jobs = tuple(list_job_progress(store, now))
    return Progress(now, jobs, tuple(store.read.list_live_streams()), trouble, workers)


def list_job_progress(store: Store, now: float) -> list[JobProgress]:
    """Return the progress of all jobs."""
    totals = store.read.count_work_by_job()
    counts: dict[int, dict[str, int]] = {}
    held: dict[int, int] = {}
    jobs = store.read.list_job_holds()
    on_hold = {job.job_id for job in jobs if job.hold}
    for group in store.read.list_open_groups():
        if group.state in UNFINISHED and (group.hold or group.job_id in on_hold):
            held[group.job_id] = held.get(group.job_id, 0) + group.count
        else:
            states = counts.setdefault(group.job_id, {})
            states[group.state] = states.get(group.state, 0) + group.count
    rates = find_rates(store.read.list_recent_runs(MOST_RECENT), now)
    found = []
    for job in jobs:
        states = counts.get(job.job_id, {})
        total, kept = totals.get(job.job_id, 0), held.get(job.job_id, 0)
        open_count = sum(states.values()) + kept
        failed = states.get(WorkState.FAILED, 0) + states.get(WorkState.INVALID, 0)
        waiting = states.get(WorkState.WAITING, 0) + states.get(WorkState.CLAIMABLE, 0)
        done, running = max(0, total - open_count), states.get(WorkState.RUNNING, 0)
        parts = (max(total, open_count), done, running, waiting, failed, kept)
        found.append(JobProgress(job.job, *parts, rates.get(job.job_id)))
    return found


def _load_of(row: WorkerRow) -> WorkerLoad:
    busy, started_at = len(row.doing), seconds_of(row.started_at)
    return WorkerLoad(row.host, row.pid, row.version, row.jobs, busy, row.streams, started_at)


def find_rates(runs: Sequence[RecentRun], now: float) -> Mapping[int, float]:
    """Return how many chunks per second each job has finished lately."""
    begin = now - WINDOW_SECONDS
    if len(runs) == MOST_RECENT:  # older ones were left out
        begin = max(begin, min(run.ended_at for run in runs))
    since: dict[int, float] = {}
    counts: dict[int, int] = {}
    for run in runs:
        if run.ended_at >= begin:
            counts[run.job_id] = counts.get(run.job_id, 0) + 1
            since[run.job_id] = min(since.get(run.job_id, now), run.started_at)
    return {
        job_id: count / max(now - max(begin, since[job_id]), SHORTEST_SECONDS)
        for job_id, count in counts.items()
    }
