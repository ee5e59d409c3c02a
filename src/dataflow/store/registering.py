"""What is registered together is written together: several datasets and jobs, counts, passwords."""

from __future__ import annotations

from dataflow.model.record import replace
from dataflow.store import latest_inputs, registry
from dataflow.store.entries import write_dataset, write_datasets, write_jobs
from dataflow.store.journal import Entry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dataflow.model.records import Dataset, Plan
    from dataflow.store.database import Transaction
    from dataflow.store.entries import JobEntry


def write_entries(
    tx: Transaction, datasets: Sequence[Dataset], jobs: Sequence[JobEntry], before: Mapping[str, Plan]
) -> None:
    """Writes datasets and jobs that were checked as a whole; `before` are the jobs of these that exist."""
    names = {dataset.name for dataset in datasets}
    for entry in jobs:
        names.update(item.dataset for item in entry.inputs)
        names.update(entry.job.outputs)
    former = {source.dataset_id for plan in before.values() for source in plan.inputs}
    known = {found[0] for found in registry.find_datasets(tx, sorted(names)).values()}
    # All locks at once and by id, before any row is written: publishers take them in the same order.
    tx.lock("registration.lock_datasets", dataset_ids=sorted(known | former))
    calendars = [pair for entry in jobs for pair in entry.calendars]
    ids = write_datasets(tx, [*datasets, *(dataset for dataset, _ in calendars)])
    for dataset, calendar in calendars:
        registry.upsert_calendar(tx, ids[dataset.name], calendar)
    write_jobs(tx, jobs)
    for entry in jobs:
        plan = before.get(entry.job.name)
        if plan and plan.job.schedule and not entry.job.schedule:
            registry.remove_dataset(tx, registry.calendar_name(entry.job.name))


def count_anew(tx: Transaction, plan: Plan, actor: str) -> None:
    """Counts the inputs of all of a job's work anew, as registering the job does."""
    tx.lock("registration.lock_datasets", dataset_ids=sorted(source.dataset_id for source in plan.inputs))
    latest_inputs.measure(tx, plan)
    registry.rebuild_work(tx, plan.job_id, plan.job)
    write_journal(tx, Entry("repair", actor, plan.job.name, why="dataflow doctor --repair"))


def change_passwords(tx: Transaction, records: Sequence[tuple[Dataset, str]], actor: str) -> set[str]:
    """Gives datasets their new password records; gives the names of those that had not changed meanwhile."""
    changed = set()
    for before, encrypted in records:
        found = registry.find_dataset(tx, before.name)
        # The key takes half a second to derive, too long to hold the lock: compare, then set.
        if found is not None and found[1].encryptedpass == before.encryptedpass:
            write_dataset(tx, replace(found[1], encryptedpass=encrypted))
            changed.add(before.name)
    if changed:
        write_journal(tx, Entry("secret rotate", actor, items=len(changed)))
    return changed
