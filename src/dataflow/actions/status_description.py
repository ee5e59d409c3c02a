"""The status of a store as JSON: what `dataflow status --json` and the API answer."""

from __future__ import annotations

import re

from dataflow.actions.descriptions import find_loss
from dataflow.actions.pipeline_names import list_texts
from dataflow.model.record import as_dict
from dataflow.model.records import SCRIPT
from dataflow.model.status import RunOutcome, WorkState
from dataflow.model.wording import utc_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from dataflow.actions.status import JobStatus, StoreStatus
    from dataflow.model.records import RunRow
    from dataflow.store.store import Store

    LostRun = tuple[RunRow, str]

MOST_RUNNING = 10_000


def list_lost(store: Store, host: str, is_gone: Callable[[str], bool]) -> list[LostRun]:
    """Return runs that count as RUNNING though their process is gone or their lease has lapsed, and which."""
    runs = store.read.list_runs(MOST_RUNNING, "", "", RunOutcome.RUNNING)
    return [(run, loss) for run in runs if (loss := find_loss(run, host, is_gone))]


def list_undefined(found: StoreStatus, project_dir: str) -> list[str]:
    """Return pipelines that no file of the project names; none where this folder has no pipelines.

    Found by reading, not by loading: status must be quick, and run no code of the project.
    """
    texts = list_texts(project_dir)
    words = set(re.findall(r"\w+", "\n".join(texts)))
    pipelines = [job.job for job in found.jobs if job.kind not in ("", SCRIPT)]
    return [job for job in pipelines if texts and job not in words]


def describe_status(
    found: StoreStatus,
    producers: Mapping[str, str],
    late: Sequence[str],
    lost: Sequence[LostRun],
    gone: Sequence[str],
) -> dict[str, Any]:
    """The status of all jobs and datasets; `late`, `lost` and `gone` say which jobs and runs are."""
    not_done, lateness = _count_not_done(found, producers), _lateness(found)
    jobs = [_describe_job(job) for job in found.jobs]
    for job in jobs:
        name = job["job"]
        lost_run = any(run.job == name for run, _ in lost)
        job |= {"late": name in late, "gone": name in gone, "process_gone": lost_run}
    datasets = [as_dict(dataset) for dataset in found.datasets]
    return {
        "jobs": jobs,
        "datasets": [
            one | {"not_done": not_done.get(one["dataset"], 0), "late": lateness.get(one["dataset"], [])}
            for one in datasets
        ],
        "failures": [as_dict(failure) for failure in found.failures],
        "paused": _part(found.paused),
    }


def _count_not_done(found: StoreStatus, producers: Mapping[str, str]) -> dict[str, int]:
    """Return the number of unfinished chunks of each dataset, from the counts of its job."""
    unfinished = {job.job: sum(job.counts.values()) - job.counts[WorkState.DONE] for job in found.jobs}
    return {dataset: unfinished.get(job, 0) for dataset, job in producers.items()}


def _lateness(found: StoreStatus) -> dict[str, list[dict[str, Any]]]:
    late: dict[str, list[dict[str, Any]]] = {}
    for one in found.late:
        part = {"kind": str(one.kind), "dataid": one.dataid, "since_at": utc_text(one.since_at)}
        late.setdefault(one.dataset, []).append(part | {"reason": one.reason})
    return late


def _describe_job(job: JobStatus) -> dict[str, Any]:
    overdue = _part(job.overdue)
    if overdue:
        overdue["since_at"] = utc_text(overdue["since_at"])
    return {
        "job": job.job,
        "hold": job.hold,
        **job.counts,
        "oldest": _part(job.oldest),
        "due": overdue is not None,
        "overdue": overdue,
        "skipped": _part(job.skipped),
        "running": _part(job.longest),
        "quarantined": job.quarantined,
        "asking": _part(job.asking),
    }


def _part(found: object) -> dict[str, Any] | None:
    """A part of a job's status, durations to the millisecond; None if the job has no such part."""
    if found is None:
        return None
    values = as_dict(found).items()
    return {name: round(value, 3) if isinstance(value, float) else value for name, value in values}
