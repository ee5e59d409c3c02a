"""Metrics for Prometheus, as samples: counters only grow, and no dataid is a label."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.model.status import UNFINISHED, RunOutcome, WorkState
from dataflow.store.reads import seconds_of
from dataflow.store.run_tally import RunTally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from dataflow.store.run_tally import RunTotal
    from dataflow.store.store import Store

    Labels = tuple[tuple[str, str], ...]

COUNTER, GAUGE = "counter", "gauge"
HOLD = "HOLD"


@record
class Sample:
    """One value and its labels."""

    labels: Labels
    value: float


@record
class Metric:
    """A metric with its samples."""

    name: str
    kind: str
    help: str
    samples: tuple[Sample, ...]


def list_metrics(store: Store) -> list[Metric]:
    """Return all metrics of a store. Counts runs that have ended into the store's totals first."""
    tally = RunTally(store.database)
    tally.tally()
    totals = tally.list_totals()
    return [*_runs(totals), _last_success(store, totals), *_work(store)]


def _runs(totals: Iterable[RunTotal]) -> list[Metric]:
    claims: dict[str, int] = {}
    for total in totals:
        claims[total.job] = claims.get(total.job, 0) + total.count
    ended = [total for total in totals if total.outcome != RunOutcome.RUNNING]
    outcomes = [Sample((("job", one.job), ("outcome", one.outcome)), one.count) for one in ended]
    return [
        Metric("dataflow_claims_total", COUNTER, "Claims.", _by_job(claims)),
        Metric("dataflow_outcomes_total", COUNTER, "Runs that ended, by outcome.", tuple(outcomes)),
        Metric(
            "dataflow_refused_publishes_total",
            COUNTER,
            "Results that were not published because their checks failed.",
            _by_job({one.job: one.count for one in ended if one.outcome == RunOutcome.INVALID}),
        ),
        Metric(
            "dataflow_lease_losses_total",
            COUNTER,
            "Runs that lost their work because they died or did not renew their lease.",
            _by_job({one.job: one.count for one in ended if one.outcome == RunOutcome.LOST}),
        ),
    ]


def _by_job(values: dict[str, int]) -> tuple[Sample, ...]:
    return tuple([Sample((("job", job),), value) for job, value in sorted(values.items())])


def _last_success(store: Store, totals: Iterable[RunTotal]) -> Metric:
    done = {one.job: one.last_seconds for one in totals if one.outcome == RunOutcome.DONE}
    samples = [
        Sample((("dataset", dataset),), last_seconds)
        for dataset, job in sorted(store.read.list_producers().items())
        if (last_seconds := done.get(job)) is not None
    ]
    text = "When the job that produces a dataset last succeeded, in seconds since 1970."
    return Metric("dataflow_last_success_timestamp_seconds", GAUGE, text, tuple(samples))


def _work(store: Store) -> list[Metric]:
    now = store.read.get_now()
    jobs = {job.job_id: job for job in store.read.list_job_holds()}
    depth: dict[tuple[str, str], int] = {}
    ages: dict[str, float] = {job.job: 0.0 for job in jobs.values()}
    for group in store.read.list_open_groups():
        job = jobs.get(group.job_id)
        if job is None:  # registered since
            continue
        held = group.state in UNFINISHED and (group.hold or job.hold)
        key = (job.job, HOLD if held else group.state)
        depth[key] = depth.get(key, 0) + group.count
        if group.state == WorkState.CLAIMABLE and not held:
            ages[job.job] = max(ages[job.job], now - seconds_of(group.since))
    oldest = [Sample((("job", job),), round(age, 3)) for job, age in sorted(ages.items())]
    queued = [
        Sample((("job", job), ("state", state)), count) for (job, state), count in sorted(depth.items())
    ]
    return [
        Metric(
            "dataflow_oldest_claimable_seconds",
            GAUGE,
            "How long ago the oldest claimable work was called for; 0 if there is none.",
            tuple(oldest),
        ),
        Metric("dataflow_work", GAUGE, "Work that is not done, by state.", tuple(queued)),
    ]
