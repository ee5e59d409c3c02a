"""Frozen records of workers and of what there is to do for them."""

from __future__ import annotations

from dataflow.model.record import record


@record
class JobOutlook:
    """What there is to do for a job, as a worker sees it; times in seconds from now, None for never."""

    job_id: int
    job_priority: int
    work_id: int | None  # the first claimable work
    priority: int | None
    called_at: str | None
    wait_seconds: float | None
    calendar_seconds: float | None
    deadline_seconds: float | None
    lease_seconds: float | None


@record
class WorkerEntry:
    """A worker as it enlists in the store; its name is that of its claimant."""

    name: str
    host: str
    boot_id: str
    pid: int
    user_name: str
    environment: str
    version: str
    streams: int
    jobs: int = 0
    listening: bool = False


@record
class WorkerRun:
    """A run that a worker is doing."""

    run_id: int
    job: str
    dataid: str
    started_at: str


@record
class WorkerRow:
    """A worker as `dataflow workers` shows it."""

    name: str
    host: str
    boot_id: str
    pid: int
    user: str
    environment: str
    version: str
    streams: int
    jobs: int
    started_at: str
    has_lapsed: bool
    doing: tuple[WorkerRun, ...] = ()
