"""Registering and changing datasets and jobs in bulk, and a job's work with the job."""

from __future__ import annotations

import json

from dataflow import errors
from dataflow.model.days import EVERY_DAY
from dataflow.model.mapping import UNCALLING
from dataflow.model.record import names_of, record, replace
from dataflow.store import latest_inputs, registry
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from dataflow.model.records import Calendar, Dataset, Job, JobInput, Plan
    from dataflow.store.database import Row, Transaction

BATCH = 2000
"""Datasets or jobs written by one statement."""


@record
class JobEntry:
    """A checked job to write, in canonical form; `inputs` includes the calendar of its schedule.

    `automatic` are the calendar datasets that it needs, `calendars` those among them that are new or changed;
    `days` are those that the job has, `input_days` those that each of its inputs has.
    """

    job: Job
    inputs: tuple[JobInput, ...]
    grain: str
    timezone: str
    automatic: tuple[Dataset, ...] = ()
    calendars: tuple[tuple[Dataset, Calendar], ...] = ()
    days: str = EVERY_DAY
    input_days: tuple[str, ...] = ()


def write_dataset(tx: Transaction, dataset: Dataset) -> int:
    """Register a dataset or change its fields; return its id."""
    return write_datasets(tx, [dataset])[dataset.name]


def write_datasets(tx: Transaction, datasets: Sequence[Dataset]) -> dict[str, int]:
    """Register datasets or change their fields; return their ids. Runs of their jobs see the change.

    A location cannot change while a run may be writing it: readers would look in the wrong place.
    """
    before = registry.find_datasets(tx, [dataset.name for dataset in datasets])
    for dataset in datasets:
        if dataset.name in before and _place_of(before[dataset.name][1]) != _place_of(dataset):
            producer = tx.find("publish.producer", dataset_id=before[dataset.name][0])
            if producer is not None:
                refusal = f"The location of dataset {dataset.name} cannot change now"
                registry.refuse_beside_runs(tx, producer[0], refusal)
    ids: dict[str, int] = {}
    for some in _batches([_dataset_record(dataset) for dataset in datasets]):
        ids |= {row[0]: row[1] for row in tx.rows("registration.upsert_datasets", **tx.records(some))}
    if before:
        tx.run("registration.bump_revisions", **tx.ids([dataset_id for dataset_id, _ in before.values()]))
    _watch(tx, datasets, {name: dataset for name, (_, dataset) in before.items()}, ids)
    return ids


def _watch(
    tx: Transaction, datasets: Sequence[Dataset], before: Mapping[str, Dataset], ids: Mapping[str, int]
) -> None:
    """Begin to watch datasets whose limits are new or changed; stop where they are gone."""
    changed = [dataset for dataset in datasets if _limits_of(dataset) != _limits_of(before.get(dataset.name))]
    if not changed:
        return
    from dataflow.store import incidents  # start-up: no run needs it

    tx.run("watch.forget_watches", **tx.ids([ids[dataset.name] for dataset in changed]))
    watched = [ids[dataset.name] for dataset in changed if dataset.is_watched]
    if watched:
        tx.run("watch.add_watches", **tx.ids(watched))
    for dataset in changed:
        if not dataset.is_watched:
            incidents.forget(tx, dataset=dataset.name)


def _write_jobs(
    tx: Transaction, entries: Sequence[JobEntry], before: Mapping[str, Plan], ids: Mapping[str, int]
) -> None:
    """Register or change jobs, and rebuild the work of jobs whose work is created differently now."""
    for entry in entries:
        # An output may move from one job to another in one registration, in either order.
        if entry.job.name in before:
            registry.free_outputs(tx, before[entry.job.name], entry.job.outputs)
    reaches = {name: _reaches_of(tx, plan) for name, plan in before.items()}
    job_ids: dict[str, int] = {}
    for some in _batches([_job_record(entry) for entry in entries]):
        job_ids |= {row[0]: row[1] for row in tx.rows("registration.upsert_jobs", **tx.records(some))}
    _replace_parts(tx, entries, job_ids, ids)
    for entry in entries:
        if plan := before.get(entry.job.name):
            _note_late_outputs(tx, plan, [ids[name] for name in entry.job.outputs])
    _follow(tx, entries, job_ids, before, reaches)


def write_entries(tx: Transaction, datasets: Sequence[Dataset], jobs: Sequence[JobEntry]) -> None:
    """Write datasets and jobs that were checked together."""
    before = {plan.job.name: plan for plan in registry.find_plans(tx, [entry.job.name for entry in jobs])}
    used = {name for entry in jobs for name in (*(item.dataset for item in entry.inputs), *entry.job.outputs)}
    names = used | {dataset.name for dataset in datasets}
    ids = {name: found[0] for name, found in registry.find_datasets(tx, sorted(names)).items()}
    # Former inputs too: a chunk that arrives now must not be counted for another input's position.
    former = {source.dataset_id for plan in before.values() for source in plan.inputs}
    # All locks at once and by id, before any row is written: publishers take them in the same order.
    tx.lock("registration.lock_datasets", dataset_ids=sorted({*ids.values(), *former}))
    calendars = [pair for entry in jobs for pair in entry.calendars]
    ids |= write_datasets(tx, [*datasets, *(dataset for dataset, _ in calendars)])
    for name in sorted(used - ids.keys()):
        raise errors.UnknownName(f"No dataset {name}. Register it: dataflow dataset add {name}")
    for dataset, calendar in calendars:
        registry.upsert_calendar(tx, ids[dataset.name], calendar)
    _write_jobs(tx, jobs, before, ids)
    for entry in jobs:
        plan = before.get(entry.job.name)
        if plan and plan.job.schedule and not entry.job.schedule:
            registry.remove_dataset(tx, registry.calendar_name(entry.job.name))


def recount(tx: Transaction, plan: Plan, actor: str) -> None:
    """Recompute the input counts of a job's work, as registering the job does."""
    tx.lock("registration.lock_datasets", dataset_ids=sorted(source.dataset_id for source in plan.inputs))
    latest_inputs.measure(tx, plan)
    registry.rebuild_work(tx, plan.job_id, plan.job)
    write_journal(tx, JournalEntry("repair", actor, plan.job.name, why="dataflow doctor --repair"))


def change_passwords(tx: Transaction, records: Sequence[tuple[Dataset, str]], actor: str) -> set[str]:
    """Store new password records; return the datasets whose record had not changed since."""
    changed = set()
    for before, encrypted in records:
        found = registry.find_dataset(tx, before.name)
        # Deriving the key takes half a second, too long to hold the lock: compare, then set.
        if found is not None and found[1].encryptedpass == before.encryptedpass:
            write_dataset(tx, replace(found[1], encryptedpass=encrypted))
            changed.add(before.name)
    if changed:
        write_journal(tx, JournalEntry("secret rotate", actor, items=len(changed)))
    return changed


def _replace_parts(
    tx: Transaction, entries: Sequence[JobEntry], job_ids: Mapping[str, int], ids: Mapping[str, int]
) -> None:
    registry.delete_parts(tx, list(job_ids.values()))
    makers = {name: entry.job.name for entry in entries for name in entry.job.outputs}
    for dataset, producer in registry.list_producers(tx, [ids[name] for name in makers]).items():
        raise registry.second_producer(dataset, producer, makers[dataset])
    inputs: list[dict[str, Any]] = []
    outputs: list[dict[str, Any]] = []
    variables: list[dict[str, Any]] = []
    for entry in entries:
        job_id = job_ids[entry.job.name]
        input_days = entry.input_days or (EVERY_DAY,) * len(entry.inputs)
        for position, (item, days) in enumerate(zip(entry.inputs, input_days, strict=True)):
            where = {"job_id": job_id, "position": position, "dataset_id": ids[item.dataset]}
            inputs.append(where | {"mapping": item.mapping, "days": days, "rule": item.rule})
        for position, name in enumerate(entry.job.outputs):
            outputs.append({"job_id": job_id, "position": position, "dataset_id": ids[name]})
        for name, value in entry.job.environment:
            variables.append({"job_id": job_id, "name": name, "value": value})
    insertions = {
        "registration.insert_inputs": inputs,
        "registration.insert_outputs": outputs,
        "registration.insert_environments": variables,
    }
    for query, records in insertions.items():
        for some in _batches(records):
            tx.run(query, **tx.records(some))
    tx.run("several.delete_unused_pairs", **tx.ids(list(job_ids.values())))


def _note_late_outputs(tx: Transaction, plan: Plan, dataset_ids: Sequence[int]) -> None:
    """Remember the outputs that a job did not have: the work it has done has no chunks there."""
    added = set(dataset_ids) - {output.dataset_id for output in plan.outputs}
    if added:
        tx.run("registration.note_late_outputs", job_id=plan.job_id, **tx.ids(sorted(added)))


def _follow(
    tx: Transaction,
    entries: Sequence[JobEntry],
    job_ids: Mapping[str, int],
    before: Mapping[str, Plan],
    reaches: Mapping[str, list[Row]],
) -> None:
    """Update the work of these jobs after their change."""
    after = {plan.job.name: plan for plan in registry.find_plans(tx, list(job_ids))}
    new = [job_id for name, job_id in job_ids.items() if name not in before]
    # A new job has no work yet, and gets none from inputs without chunks: usually all of them.
    called = {row[0] for row in tx.rows("registration.jobs_with_chunks", **tx.ids(new))}
    for entry in entries:
        plan = after[entry.job.name]
        if any(source.mapping in UNCALLING for source in plan.inputs):
            latest_inputs.measure(tx, plan)
        if entry.job.name not in before:
            is_another = plan.job_id in called
        else:
            # What a snapshot covers also depends on its dataset's time zone.
            moved = reaches[entry.job.name] != _reaches_of(tx, plan)
            is_another = moved or _shape_of_work(before[entry.job.name]) != _shape_of_work(plan)
        if is_another:
            registry.rebuild_work(tx, plan.job_id, entry.job)


def _reaches_of(tx: Transaction, plan: Plan) -> list[Row]:
    has_latest = any(source.mapping in UNCALLING for source in plan.inputs)
    return tx.rows("cover.reaches", job_id=plan.job_id) if has_latest else []


def _shape_of_work(plan: Plan) -> tuple[object, ...]:
    """What a job's work is created from: while it is unchanged, existing work can stay."""
    inputs = tuple(
        (item.position, item.dataset_id, item.mapping, item.days, item.rule) for item in plan.inputs
    )
    return inputs, plan.grain, plan.timezone, plan.days, plan.job.start, plan.job.ordered, plan.job.priority


def _place_of(dataset: Dataset) -> tuple[str, ...]:
    """The fields that determine where a dataset's chunks are, and which of them share a location."""
    table = (dataset.hostname, dataset.database, dataset.schemaname, dataset.tablename)
    return (*table, dataset.location, dataset.mode)


def _limits_of(dataset: Dataset | None) -> tuple[object, ...]:
    """What decides when a dataset is late; nothing for one without limits."""
    if dataset is None or not dataset.is_watched:
        return ()
    return dataset.fresh_within_seconds, dataset.due_by, dataset.grain, dataset.timezone


def _dataset_record(dataset: Dataset) -> dict[str, Any]:
    fields = {name: getattr(dataset, name) for name in names_of(dataset)}
    options = json.dumps(dict(dataset.options), sort_keys=True)
    return fields | {"grain": str(dataset.grain), "options": options}


def _job_record(entry: JobEntry) -> dict[str, Any]:
    parts = ("inputs", "outputs", "environment")
    fields = {name: getattr(entry.job, name) for name in names_of(entry.job) if name not in parts}
    fields["final_exit_codes"] = ",".join(map(str, entry.job.final_exit_codes))
    return fields | {"grain": str(entry.grain), "grain_timezone": entry.timezone, "days": entry.days}


def _batches(records: Sequence[dict[str, Any]]) -> Iterator[Sequence[dict[str, Any]]]:
    for start in range(0, len(records), BATCH):
        yield records[start : start + BATCH]
