"""Register: add, change and remove datasets and jobs; each call is one transaction."""

from __future__ import annotations

from dataflow.actions.calendar import TODAY_EXPRESSION, schedule_of
from dataflow.actions.dataset_rules import TODAY
from dataflow.actions.differences import CHANGED, UNCHANGED
from dataflow.actions.names import unknown
from dataflow.actions.registry_draft import Registry, merge
from dataflow.errors import Conflict
from dataflow.model.record import replace
from dataflow.model.records import Calendar
from dataflow.model.schedule import Schedule, keeps_start
from dataflow.model.wording import counted
from dataflow.store import registry
from dataflow.store.calendars import find_calendar
from dataflow.store.entries import write_entries
from dataflow.store.journal import JournalEntry, write_journal, write_lines
from dataflow.store.registry import CALENDAR_SUFFIX, set_kinds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dataflow.actions.differences import Change
    from dataflow.actions.registry_draft import Draft
    from dataflow.model.records import Dataset, Job, Plan
    from dataflow.store.database import Transaction
    from dataflow.store.entries import JobEntry
    from dataflow.store.store import Store


def add_dataset(store: Store, dataset: Dataset, given: Iterable[str] | None = None) -> Change:
    """Register or change a dataset; of an existing one only the `given` fields change (None: all)."""

    def draft(registry: Registry) -> Draft:
        before = registry.datasets.get(dataset.name)
        return registry.draft([merge(before, dataset, given)], [])

    return register(store, draft)[0]


def add_job(store: Store, job: Job, given: Iterable[str] | None = None) -> Change:
    """Register or change a job; of an existing one only the `given` fields change (None: all)."""

    def draft(registry: Registry) -> Draft:
        return registry.draft([], [merge(registry.find_job(job.name), job, given)])

    change, *others = register(store, draft)
    return replace(change, followers=tuple(others))


def remove_dataset(store: Store, name: str) -> int:
    """Remove a dataset that no job uses, with its chunks' status; return the number of chunks."""

    def verb(tx: Transaction) -> int:
        if registry.find_dataset(tx, name) is None:
            raise unknown("dataset", name, registry.list_names(tx, "dataset"), store.database.url)
        _refuse_own_calendar(tx, name)
        chunks = registry.remove_dataset(tx, name)
        write_journal(
            tx, JournalEntry("dataset remove", store.actor, dataset=name, why=f"it had {chunks} chunks")
        )
        return chunks

    return int(store.register(verb))


def remove_job(store: Store, name: str) -> list[Change]:
    """Remove a job with its work and its calendar; return the changes of jobs that followed its days.

    Its runs and journal stay as history.
    """

    def verb(tx: Transaction) -> list[Change]:
        plan, current = _get_plan(store, tx, name), Registry(tx)
        drafted = current.draft_removal(plan)
        registry.lock_used(tx, [plan, *(current.plans[follower] for follower in drafted.followers)])
        registry.remove_job(tx, plan)
        write_journal(tx, JournalEntry("job remove", store.actor, job=name))
        _write(store, tx, current, drafted)
        return drafted.changes

    changes: list[Change] = store.register(verb)
    return changes


def repair_days(store: Store) -> list[Change]:
    """Derive the days of all jobs again from what is declared; return what changed."""
    return register(store, lambda registry: registry.draft_all_days())


def reset_script(store: Store, name: str) -> None:
    """Forget which script does the job's work: the next run decides again."""

    def verb(tx: Transaction) -> None:
        if _get_plan(store, tx, name).is_pipeline:
            raise Conflict(f"Job {name} is a pipeline and has no script. See: dataflow pipeline show {name}")
        registry.forget_script(tx, name)
        write_journal(tx, JournalEntry("job reset-script", store.actor, job=name))

    store.register(verb)


def register(
    store: Store,
    draft: Callable[[Registry], Draft],
    kinds: Mapping[str, str] | None = None,
) -> list[Change]:
    """Write what is drafted from the current registry: all of it, or nothing if any of it is invalid.

    `kinds` are those of drafted jobs that are pipelines, by name.
    """

    def verb(tx: Transaction) -> list[Change]:
        current = Registry(tx)
        drafted = draft(current)
        _write(store, tx, current, drafted)
        set_kinds(tx, kinds or {})
        return drafted.changes

    changes: list[Change] = store.register(verb)
    return changes


def would_change(store: Store, draft: Callable[[Registry], Draft]) -> bool:
    """Return whether registering a draft would change anything; reads only."""
    changes = store.database.read(lambda tx: draft(Registry(tx)).changes)
    return any(change.what != UNCHANGED for change in changes)


def _write(store: Store, tx: Transaction, current: Registry, draft: Draft) -> None:
    """Write what is drafted and a line of the journal per change."""
    job_ids = {name: current.plans[name].job_id for name in draft.followers}
    before = {name: registry.list_work(tx, job_id) for name, job_id in job_ids.items()}
    write_entries(tx, draft.datasets, _entries(tx, current, draft))
    lines = []
    for change in draft.changes:
        if change.name in job_ids and change.kind == "job":
            after = registry.list_work(tx, job_ids[change.name])
            lines.append(_follower_line(change, store.actor, before[change.name], after))
        elif change.what != UNCHANGED:
            lines.append(_line(change, store.actor))
    write_lines(tx, lines)


def _get_plan(store: Store, tx: Transaction, name: str) -> Plan:
    plan = registry.find_plan(tx, name)
    if plan is None:
        raise unknown("job", name, registry.list_names(tx, "job"), store.database.url)
    return plan


def _refuse_own_calendar(tx: Transaction, name: str) -> None:
    job = name.removesuffix(CALENDAR_SUFFIX)
    if job != name and registry.find_plan(tx, job) is not None:
        raise Conflict(
            f"Dataset {name} is created by the schedule of job {job}. To remove the schedule: dataflow "
            f"job add {job} --schedule ''"
        )


def _entries(tx: Transaction, registry: Registry, draft: Draft) -> list[JobEntry]:
    """Return the drafted jobs to write."""
    entries, today_is_there = [], TODAY in registry.dataset_ids
    for checked in draft.jobs:
        before, job = registry.plans.get(checked.job.name), checked.job
        calendars = []
        for dataset in checked.automatic:
            if dataset.name != TODAY:
                # Writing it again unchanged would make it due again.
                known = [item.dataset for item in before.inputs] if before else []
                if before is None or _schedule_of(before.job) != _schedule_of(job) or dataset not in known:
                    start = _find_start(tx, registry.dataset_ids.get(dataset.name), job)
                    calendars.append((dataset, Calendar(job.schedule, start, job.end, job.catchup)))
            elif not today_is_there:
                calendars.append((dataset, Calendar(TODAY_EXPRESSION)))
                today_is_there = True
        entries.append(replace(checked, calendars=tuple(calendars)))
    return entries


def _find_start(tx: Transaction, calendar_id: int | None, job: Job) -> str:
    """Return the start of a job's calendar; it keeps its start if the job's moves with the clock."""
    calendar = None if calendar_id is None else find_calendar(tx, calendar_id)
    if calendar is None:
        return job.start
    before = schedule_of(calendar)
    after = Schedule(job.schedule, job.timezone, job.start or None, job.end or None, job.catchup)
    return calendar.start if keeps_start(before, after, calendar.now_at) else job.start


def _schedule_of(job: Job) -> tuple[object, ...]:
    return job.schedule, job.start, job.end, job.catchup, job.timezone


def _line(change: Change, actor: str) -> JournalEntry:
    why = "; ".join(map(str, change.differences)) if change.what == CHANGED else ""
    job, dataset = (change.name, "") if change.kind == "job" else ("", change.name)
    return JournalEntry(f"{change.kind} add", actor, job, dataset, to_state=change.what, why=why)


def _follower_line(change: Change, actor: str, before: set[str], after: set[str]) -> JournalEntry:
    """The line of a job whose days follow others: its work on other days comes or goes with them."""
    moves = {"removed": len(before - after), "added": len(after - before)}
    counts = [f"{counted(count, 'dataid')} {move}" for move, count in moves.items() if count]
    why = "; ".join([*map(str, change.differences), *counts])
    return JournalEntry("job follow", actor, change.name, to_state=change.what, why=why)
