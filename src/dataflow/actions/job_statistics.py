"""How a job does: its progress, how long its last dataids took, why work fails, and what is tried again."""

from __future__ import annotations

from dataflow.actions.attention import MOST_REASONS, group_reasons, kind_of
from dataflow.actions.job_progress import list_job_progress
from dataflow.actions.names import get_plan
from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.store.reads import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.job_progress import JobProgress
    from dataflow.model.records import Plan
    from dataflow.store.attention_reads import RunResult
    from dataflow.store.store import Store

MOST_POINTS = 1000
"""Dataids of one plot."""
MOST_NAMED = 1000
"""Dataids that the groups of failures name."""


@record
class RunPoint:
    """What the run of one dataid took, for a plot; `seconds` is None while it runs, `rows` if not counted."""

    dataid: str
    run_id: int
    attempt: int
    outcome: str
    started_at: str
    seconds: float | None
    rows: int | None


@record
class FailureGroup:
    """Work of a job that ended badly for one reason, or for several that differ in numbers only.

    `dataid` and `reason` are those of one of them; `dataids` are the first ones.
    """

    state: str
    quarantined: bool
    reason: str
    count: int
    dataid: str
    since_at: str
    dataids: tuple[str, ...]


@record
class JobStatistics:
    """One job: its counts, rate and ETA, its last dataids in order, its failures, and what is tried again."""

    job: str
    progress: JobProgress
    eta_seconds: float | None
    points: tuple[RunPoint, ...]
    failures: tuple[FailureGroup, ...]
    retrying: int


def get_job_statistics(store: Store, job: str, most: int = 100) -> JobStatistics:
    """Return how a job does, with its last dataids; UnknownName for an unknown job."""
    if not 1 <= most <= MOST_POINTS:
        raise BadInput(f"Statistics have 1 to {MOST_POINTS:,} dataids, not {most:,}.")
    plan = get_plan(store, job)
    progress = next(one for one in list_job_progress(store, store.read.get_now()) if one.job == plan.job.name)
    points = [_point(result) for result in reversed(store.read.list_last_results(plan, most))]
    failures = _list_failures(store, plan)
    retrying = store.read.count_retrying(plan.job_id)
    return JobStatistics(
        plan.job.name, progress, progress.eta_seconds, tuple(points), tuple(failures), retrying
    )


def _list_failures(store: Store, plan: Plan) -> list[FailureGroup]:
    groups = group_reasons(store.read.list_bad_groups(MOST_REASONS, plan.job.name))
    dataids: dict[tuple[str, bool, str], list[str]] = {}
    for work in store.read.list_bad_work(plan.job_id, MOST_NAMED) if groups else ():
        dataids.setdefault(kind_of(work), []).append(work.dataid)
    return [
        FailureGroup(
            *(one.state, one.quarantined, one.reason, one.count, one.dataid, one.since_at),
            tuple(dataids.get(kind_of(one), ())),
        )
        for one in sorted(groups, key=lambda group: (-group.count, group.dataid))
    ]


def _point(result: RunResult) -> RunPoint:
    seconds = None
    if result.ended_at is not None:
        seconds = round(seconds_of(result.ended_at) - seconds_of(result.started_at), 3)
    facts = (result.dataid, result.run_id, result.attempt, result.outcome, result.started_at)
    return RunPoint(*facts, seconds, result.rows)
