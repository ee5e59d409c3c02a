"""What is registered together is written together: several datasets and jobs, counts, passwords."""

from __future__ import annotations

from dataflow.model.record import record, replace
from dataflow.store import covering, registration
from dataflow.store.journal import Entry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dataflow.model.records import Calendar, Dataset, Job, JobInput, Plan
    from dataflow.store.database import Transaction


@record
class JobEntry:
    """A checked job as it is to be written, with its new or changed calendars; a new job has no `before`."""

    job: Job
    inputs: tuple[JobInput, ...]
    grain: str
    timezone: str
    calendars: tuple[tuple[Dataset, Calendar], ...]
    before: Plan | None


def write_entries(
    tx: Transaction, datasets: Sequence[Dataset], jobs: Sequence[JobEntry], known: Mapping[str, int]
) -> None:
    """Writes datasets and jobs that were checked as a whole; `known` are the ids of present datasets."""
    names = {dataset.name for dataset in datasets}
    for entry in jobs:
        names.update(item.dataset for item in entry.inputs)
        names.update(entry.job.outputs)
    # All locks at once and by id, before any row is written: publishers take them in the same order.
    tx.lock("registration.lock_datasets", dataset_ids=sorted(known[name] for name in names if name in known))
    for dataset in datasets:
        registration.upsert_dataset(tx, dataset)
    for entry in jobs:
        for dataset, calendar in entry.calendars:
            registration.upsert_calendar(tx, registration.upsert_dataset(tx, dataset), calendar)
    for entry in jobs:
        # An output may move from one job to another in one go, in either order.
        if entry.before:
            registration.free_outputs(tx, entry.before, entry.job.outputs)
    for entry in jobs:
        registration.upsert_job(tx, entry.job, entry.inputs, entry.grain, entry.timezone)
        if entry.before and entry.before.job.schedule and not entry.job.schedule:
            registration.remove_dataset(tx, registration.calendar_name(entry.job.name))


def count_anew(tx: Transaction, plan: Plan, actor: str) -> None:
    """Counts the inputs of all of a job's work anew, as registering the job does."""
    tx.lock("registration.lock_datasets", dataset_ids=sorted(source.dataset_id for source in plan.inputs))
    covering.measure(tx, plan)
    registration.rebuild_work(tx, plan.job_id, plan.job)
    write_journal(tx, Entry("repair", actor, plan.job.name, why="dataflow doctor --repair"))


def change_passwords(tx: Transaction, records: Sequence[tuple[Dataset, str]], actor: str) -> set[str]:
    """Gives datasets their new password records; gives the names of those that had not changed meanwhile."""
    changed = set()
    for before, encrypted in records:
        found = registration.find_dataset(tx, before.name)
        # The key takes half a second to derive, too long to hold the lock: compare, then set.
        if found is not None and found[1].encryptedpass == before.encryptedpass:
            registration.upsert_dataset(tx, replace(found[1], encryptedpass=encrypted))
            changed.add(before.name)
    if changed:
        write_journal(tx, Entry("secret rotate", actor, items=len(changed)))
    return changed
