"""How far all jobs are, how fast, when they will be done, and by which workers.

Counted over indexes, from bounded history.
"""

from __future__ import annotations

from dataflow.actions.lateness import list_overdue
from dataflow.actions.workers import list_live
from dataflow.model.record import record
from dataflow.model.status import UNFINISHED, WorkState
from dataflow.store.reads import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dataflow.actions.workers import IsDead
    from dataflow.model.records import RunRow
    from dataflow.model.worker_rows import WorkerRow
    from dataflow.store.run_reads import LiveRun, RecentRun
    from dataflow.store.store import Store

WINDOW_SECONDS = 600.0
"""A rate is that of the last minutes; time in which no run of the job was at work does not count."""
MOST_RECENT = 2000
"""Runs of all jobs from which rates are computed; a job without any among them has none."""
SHORTEST_SECONDS = 1.0
MOST_INCIDENTS = 100


@record
class JobProgress:
    """One job's work, counted; a rate is in chunks per second, None without recent runs.

    `waiting` is what has not begun: the `claimable` and what waits for data, a retry or an interval.
    """

    job: str
    total: int
    done: int
    running: int
    waiting: int
    failed: int
    held: int
    rate: float | None
    claimable: int = 0
    gone: int = 0  # counted as RUNNING in the store, though the process has died

    @property
    def eta_seconds(self) -> float | None:
        """How long the rest takes at this rate; None if the rate is unknown or nothing can run now."""
        if not self.rate or not self.running + self.claimable + self.gone:
            return None
        return (self.running + self.waiting + self.gone) / self.rate


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
    gone: frozenset[int] = frozenset()  # the runs whose process has died
    is_paused: bool = False


def get_progress(store: Store, is_dead: IsDead, gone: Iterable[RunRow] = ()) -> Progress:
    """Return the progress of all jobs, and the workers that are alive; `gone` are runs that have died."""
    now = store.read.get_now()
    lost = list(gone)
    incidents = store.watching.list_incidents(False, MOST_INCIDENTS)
    trouble = tuple([f"{one.kind} {one.subject}" for one in incidents])
    workers = tuple([_load_of(row) for row in list_live(store, is_dead)])
    jobs = tuple(list_job_progress(store, now, [run.job for run in lost]))
    runs, numbers = tuple(store.read.list_live_streams()), frozenset([run.run_id for run in lost])
    return Progress(now, jobs, runs, trouble, workers, numbers, store.read.find_pause() is not None)


def list_job_progress(store: Store, now: float, gone: Sequence[str] = ()) -> list[JobProgress]:
    """Return the progress of all jobs; `gone` names the job of each run that has died."""
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
    active = {job_id for job_id, states in counts.items() if states.get(WorkState.RUNNING)}
    rates = find_rates(store.read.list_recent_runs(MOST_RECENT), now, active)
    overdue = list_overdue(store)
    found = []
    for job in jobs:
        states = counts.get(job.job_id, {})
        total, kept = totals.get(job.job_id, 0), held.get(job.job_id, 0)
        open_count = sum(states.values()) + kept
        failed = states.get(WorkState.FAILED, 0) + states.get(WorkState.INVALID, 0)
        claimable = states.get(WorkState.CLAIMABLE, 0)
        due = overdue[job.job].intervals if job.job in overdue else 0  # the next claim adds them
        waiting = states.get(WorkState.WAITING, 0) + claimable + due
        running = states.get(WorkState.RUNNING, 0)
        lost = min(running, gone.count(job.job))
        parts = (max(total, open_count) + due, max(0, total - open_count), running - lost, waiting)
        rate = rates.get(job.job_id)
        found.append(JobProgress(job.job, *parts, failed, kept, rate, claimable + due, lost))
    return found


def _load_of(row: WorkerRow) -> WorkerLoad:
    busy, started_at = len(row.doing), seconds_of(row.started_at)
    return WorkerLoad(row.host, row.pid, row.version, row.jobs, busy, row.streams, started_at)


def find_rates(runs: Sequence[RecentRun], now: float, active: Collection[int] = ()) -> Mapping[int, float]:
    """Return how many chunks per second each job has finished lately, while it was at work.

    The time since the last run of a job counts for the `active` jobs, which have a run now.
    """
    begin = now - WINDOW_SECONDS
    if len(runs) == MOST_RECENT:  # older ones were left out
        begin = max(begin, min(run.ended_at for run in runs))
    spans: dict[int, list[tuple[float, float]]] = {}
    for run in runs:
        if run.ended_at >= begin:
            spans.setdefault(run.job_id, []).append((max(begin, run.started_at), run.ended_at))
    found = {}
    for job_id, ended in spans.items():
        last = [(max(end for _, end in ended), now)] if job_id in active else []
        found[job_id] = len(ended) / max(_covered([*ended, *last]), SHORTEST_SECONDS)
    return found


def _covered(spans: Iterable[tuple[float, float]]) -> float:
    """Return how many seconds some spans of time cover together."""
    seconds, until = 0.0, float("-inf")
    for start, end in sorted(spans):
        seconds += max(0.0, end - max(start, until))
        until = max(until, end)
    return seconds
