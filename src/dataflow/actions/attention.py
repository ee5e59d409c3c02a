"""What needs attention now, oldest first: one item for each job and reason, however many chunks it has."""

from __future__ import annotations

import re

from dataflow.actions.lateness import list_overdue
from dataflow.actions.next_commands import resubmit_command, runner, shell, why_command
from dataflow.model.record import record, replace
from dataflow.model.wording import counted, format_seconds, utc_text
from dataflow.store.reads import seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dataflow.store.attention_reads import BadGroup, BadWork, DueNext, OutcomeCount
    from dataflow.store.store import Store

MOST_REASONS = 1000
"""Reasons that are read of all jobs, those with the most work first."""
LONG_HELD_SECONDS = 86_400.0
"""A hold needs attention after this time; until then it is somebody's intention."""
LAST_SECONDS = 86_400.0
MOST_DUE = 20


@record
class AttentionItem:
    """Trouble with one job or dataset for one reason; `dataid` is that of one of `count` chunks.

    `acknowledged_by` is who silenced the incident, if there is one.
    """

    kind: str
    job: str
    dataset: str
    dataid: str
    count: int
    since_at: str
    reason: str
    next: str
    incident_id: int | None = None
    acknowledged_by: str = ""


@record
class DueItem:
    """The next interval of a job's schedule: when it ends and becomes work."""

    job: str
    dataset: str
    due_at: str


@record
class Attention:
    """What needs attention, oldest first; what ran in the last 24 hours; what is due next."""

    now_at: str
    items: tuple[AttentionItem, ...]
    ran: tuple[OutcomeCount, ...]
    due: tuple[DueItem, ...]

    @property
    def is_well(self) -> bool:
        """Whether nothing needs attention."""
        return not self.items


def get_attention(store: Store) -> Attention:
    """Return what needs attention, what ran lately and what is due next."""
    now = store.read.get_now()
    found = [*_bad_endings(store), *_refused(store), *_asking(store), *_late(store)]
    items = _with_incidents(store, [*found, *_held(store, now), *_lost(store, now)])
    items.sort(key=lambda item: (item.since_at, item.kind, item.job, item.dataset, item.dataid))
    ran = store.read.count_outcomes_since(now - LAST_SECONDS)
    due = tuple([_due(one) for one in store.read.list_due_next(MOST_DUE)])
    return Attention(utc_text(now), tuple(items), tuple(ran), due)


def _due(found: DueNext) -> DueItem:
    return DueItem(found.job, found.dataset, utc_text(found.due_seconds))


def group_reasons(groups: Iterable[BadGroup]) -> list[BadGroup]:
    """Join groups of a job whose reasons differ in numbers only, such as those of a dataid or a time."""
    found: dict[tuple[str, str, bool, str], BadGroup] = {}
    for group in groups:
        key = (group.job, *kind_of(group))
        if known := found.get(key):
            first, since_at = min(known.dataid, group.dataid), min(known.since_at, group.since_at)
            example = known if first == known.dataid else group
            found[key] = replace(example, count=known.count + group.count, since_at=since_at)
        else:
            found[key] = group
    return list(found.values())


def kind_of(bad: BadGroup | BadWork) -> tuple[str, bool, str]:
    """Return what bad endings of one group have in common: the reason without its numbers."""
    return bad.state, bool(bad.quarantined), re.sub(r"[0-9]+", "#", bad.reason)


def _bad_endings(store: Store) -> Iterator[AttentionItem]:
    for group in group_reasons(store.read.list_bad_groups(MOST_REASONS)):
        kind = "quarantine" if group.quarantined else group.state.lower()
        if group.count == 1:
            following = resubmit_command(group.job, group.dataid)
        else:
            following = shell("dataflow", "resubmit", group.job, f"--{group.state.lower()}")
        yield _item(kind, group.job, group.dataid, group.count, (group.since_at, group.reason, following))


def _refused(store: Store) -> Iterator[AttentionItem]:
    for group in store.read.list_refused_groups(MOST_REASONS):
        following = why_command(group.job, group.dataid)
        yield _item(
            "blocked", group.job, group.dataid, group.count, (group.since_at, group.reason, following)
        )


def _asking(store: Store) -> Iterator[AttentionItem]:
    for group in store.read.list_asking_groups():
        reason = f"inputs of {counted(group.count, 'result')} have changed since: decide what to do"
        following = why_command(group.job, group.dataid)
        yield _item("asking", group.job, group.dataid, group.count, (group.since_at, reason, following))


def _late(store: Store) -> Iterator[AttentionItem]:
    for one in store.watching.list_late():
        producer = store.read.list_producers().get(one.dataset, "")
        following = why_command(producer) if producer else shell("dataflow", "chunks", one.dataset)
        since_at = utc_text(one.since_at)
        item = _item(str(one.kind), producer, one.dataid, 1, (since_at, one.reason, following))
        yield replace(item, dataset=one.dataset)
    for job, overdue in list_overdue(store).items():
        plan = store.find_plan(job)
        adds = runner(plan) if plan else "RunJob"
        reason = (
            f"{counted(overdue.intervals, 'interval')} of {overdue.dataset} ended; nobody has claimed since"
        )
        text = (utc_text(overdue.since_at), reason, f"Run {adds}" if adds == "RunJob" else adds)
        yield replace(_item("overdue", job, "", overdue.intervals, text), dataset=overdue.dataset)


def _held(store: Store, now: float) -> Iterator[AttentionItem]:
    for group in store.read.list_held_groups():
        age_seconds = now - seconds_of(group.since_at)
        if age_seconds < LONG_HELD_SECONDS:
            continue
        line = store.read.find_hold(group.job, "" if not group.dataid else group.dataid)
        by = f" by {line.actor}" + (f" ({line.why})" if line.why else "") if line else ""
        reason = f"on hold for {format_seconds(int(age_seconds))}{by}"
        one = [group.dataid] if group.count == 1 else []
        following = shell("dataflow", "release", group.job, *one)
        if group.count > 1:
            following = why_command(group.job, group.dataid)
        yield _item("held", group.job, group.dataid, max(group.count, 1), (group.since_at, reason, following))


def _lost(store: Store, now: float) -> Iterator[AttentionItem]:
    for run in store.read.list_lapsed():
        reason = f"run {run.run_id} on {run.host} let its lease lapse; the next claim takes the work over"
        since_at = _since(run.lapsed_seconds, run.started_at, now)
        yield _item("lost", run.job, run.dataid, 1, (since_at, reason, why_command(run.job, run.dataid)))
    for worker in store.read.list_lost_workers():
        reason = f"worker {worker.name} (process {worker.pid} on {worker.host}) is not heard from any more"
        since_at = _since(worker.lapsed_seconds, worker.started_at, now)
        yield _item("worker", "", "", 1, (since_at, reason, f"On {worker.host}: dataflow worker"))


def _since(lapsed_seconds: float | None, started_at: str, now: float) -> str:
    return started_at if lapsed_seconds is None else utc_text(now - lapsed_seconds)


def _item(kind: str, job: str, dataid: str, count: int, text: tuple[str, str, str]) -> AttentionItem:
    since_at, reason, following = text
    return AttentionItem(kind, job, "", dataid, count, since_at, reason, following)


def _with_incidents(store: Store, items: list[AttentionItem]) -> list[AttentionItem]:
    """Add the open incident of each item, and who has acknowledged it."""
    found = {
        (one.kind, one.job or one.dataset): one for one in store.watching.list_incidents(False, MOST_REASONS)
    }
    joined = []
    for item in items:
        incident = found.get((item.kind, item.dataset or item.job))
        facts = (incident.incident_id, incident.acknowledged_by) if incident else (None, "")
        joined.append(replace(item, incident_id=facts[0], acknowledged_by=facts[1]))
    return joined
