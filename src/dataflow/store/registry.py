"""Registered datasets and jobs: reading and removing them. entries.py registers and changes them."""

from __future__ import annotations

import json
from collections import defaultdict

from dataflow import errors
from dataflow.model.days import EVERY_DAY, has_day
from dataflow.model.grain import Grain
from dataflow.model.mapping import NAMING, UNCALLING, is_before
from dataflow.model.record import record
from dataflow.model.records import (
    DATASET,
    PIPELINE,
    VIEW,
    Dataset,
    Job,
    Plan,
    PlanInput,
    PlanOutput,
)
from dataflow.store import consumers, leases

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dataflow.model.records import Calendar
    from dataflow.store.database import Row, Transaction

REBUILD_BATCH = 5000
CALENDAR_SUFFIX = ".calendar"


@record
class Feed:
    """A dataset that a job reads, or else produces."""

    job: str
    dataset: str
    is_input: bool


def calendar_name(job: str) -> str:
    """Return the name of the calendar dataset of a job's schedule."""
    return job + CALENDAR_SUFFIX


def dataset_from_row(row: Row) -> Dataset:
    """Return a dataset from its columns after the id."""
    *plain, options, fresh_within_seconds, due_by = row
    pairs = tuple(sorted(json.loads(options).items()))
    return Dataset(*plain, pairs, fresh_within_seconds, due_by)  # type: ignore[call-arg]


def find_dataset(tx: Transaction, name: str) -> tuple[int, Dataset] | None:
    """Return a dataset and its id, or None."""
    return find_datasets(tx, [name]).get(name)


def find_datasets(tx: Transaction, names: Sequence[str]) -> dict[str, tuple[int, Dataset]]:
    """Return those of these datasets that are registered, with their ids, by name."""
    rows = tx.rows("registration.find_datasets", **tx.names(names))
    return {row[1]: (row[0], dataset_from_row(row[1:])) for row in rows}


def find_plan(tx: Transaction, name: str) -> Plan | None:
    """Return a job with all that a run of it needs."""
    return next(iter(find_plans(tx, [name])), None)


def find_plans(tx: Transaction, names: Sequence[str]) -> list[Plan]:
    """Return those of these jobs that are registered."""
    return _plans_from_rows(tx, tx.rows("registration.find_jobs", **tx.names(names)))


def list_plans(tx: Transaction) -> list[Plan]:
    """All jobs, by name."""
    return _plans_from_rows(tx, tx.rows("registration.list_jobs"))


def list_names(tx: Transaction, kind: str) -> list[str]:
    """Return the names of all datasets or of all jobs."""
    query = "registration.job_names" if kind == "job" else "registration.dataset_names"
    return [row[0] for row in tx.rows(query)]


def list_users(tx: Transaction, dataset_ids: Sequence[int]) -> list[str]:
    """Return the jobs that read or produce any of these datasets."""
    return [row[0] for row in tx.rows("registration.job_users", **tx.ids(dataset_ids))]


def list_downstream(tx: Transaction, dataset_ids: Sequence[int]) -> list[str]:
    """Return the jobs that read any of these datasets, directly or through other jobs."""
    return [row[0] for row in tx.rows("registration.jobs_downstream", **tx.ids(dataset_ids))]


def list_producers(tx: Transaction, dataset_ids: Sequence[int]) -> dict[str, str]:
    """Return the job that produces each of these datasets, by dataset."""
    return dict(tx.rows("registration.producers_of", **tx.ids(dataset_ids)))


def list_feeds(tx: Transaction, dataset_ids: Sequence[int]) -> list[Feed]:
    """Return what the jobs downstream of these datasets read and produce."""
    rows = tx.rows("registration.job_feeds", **tx.ids(dataset_ids))
    return [Feed(job, dataset, bool(is_input)) for job, dataset, is_input in rows]


def list_work(tx: Transaction, job_id: int) -> set[str]:
    """Return the dataids of all work of a job."""
    return {row[0] for row in tx.rows("registration.work_dataids", job_id=job_id)}


def has_work(tx: Transaction, job_id: int) -> bool:
    """Return whether a job has any work."""
    return tx.find("registration.job_has_work", job_id=job_id) is not None


def count_chunks(tx: Transaction, dataset_id: int) -> int:
    """Count the chunks of a dataset."""
    row = tx.find("registration.count_chunks", dataset_id=dataset_id)
    return int(row[0]) if row else 0


def list_newest_dataids(tx: Transaction, dataset_id: int) -> list[str]:
    """Return the last dataids of a dataset's chunks, newest first; at most 1,000."""
    return [row[0] for row in tx.rows("registration.newest_dataids", dataset_id=dataset_id)]


def set_kinds(tx: Transaction, kinds: Mapping[str, str]) -> None:
    """Record which kind of pipeline does the work of each of these jobs."""
    for kind in dict.fromkeys(kinds.values()):
        jobs = tx.names([name for name, found in kinds.items() if found == kind])
        tx.run("registration.set_kind", kind=kind, script_path=PIPELINE, **jobs)


def forget_script(tx: Transaction, job: str) -> None:
    """Forget which script does a job's work."""
    tx.run("registration.forget_script", name=job)


def upsert_calendar(tx: Transaction, dataset_id: int, calendar: Calendar) -> None:
    """Make a dataset a calendar, whose chunks become ready as time passes."""
    tx.run(
        "registration.upsert_calendar",
        dataset_id=dataset_id,
        expression=calendar.expression,
        start_at=calendar.start,
        end_at=calendar.end,
        catchup=calendar.catchup,
    )


def remove_dataset(tx: Transaction, name: str) -> int:
    """Remove a dataset that no job uses, with its chunks; return how many there were."""
    found = find_dataset(tx, name)
    assert found is not None
    dataset_id = found[0]
    tx.lock("registration.lock_datasets", dataset_ids=[dataset_id])
    users = list_users(tx, [dataset_id])
    if users:
        raise errors.Conflict(
            f"Dataset {name} is used by {', '.join(users)}. Remove or change these jobs first: "
            f"dataflow job remove {users[0]}"
        )
    tx.run("registration.delete_versions", dataset_id=dataset_id)
    chunks = tx.run("registration.delete_chunks", dataset_id=dataset_id)
    tx.run("registration.delete_calendar", dataset_id=dataset_id)
    tx.run("registration.forget_late_output", dataset_id=dataset_id)
    from dataflow.store import incidents  # start-up: no run needs it

    tx.run("watch.forget_watches", **tx.ids([dataset_id]))
    tx.run("registration.delete_dataset", dataset_id=dataset_id)
    incidents.forget(tx, dataset=name)
    return chunks


def free_outputs(tx: Transaction, plan: Plan, outputs: Sequence[str]) -> None:
    """Remove the outputs that a job no longer has, so another job may have them.

    Refused while its runs may be running: they write the outputs the job had when they were claimed.
    """
    before = {output.dataset.name: output.dataset_id for output in plan.outputs}
    if set(before) == set(outputs):
        return
    refuse_beside_runs(tx, plan.job_id, f"The outputs of job {plan.job.name} cannot change now")
    for name in before.keys() - set(outputs):
        tx.run("registration.delete_job_output", dataset_id=before[name])


def refuse_beside_runs(tx: Transaction, job_id: int, refusal: str, lapsed: bool = False) -> None:
    """Refuse a change while a run of the job may be running, or was revoked and may still be ending."""
    # No claim gets through from here on; the next statement sees one that came before.
    tx.lock("registration.lock_work", job_id=job_id)
    row = tx.find("registration.at_work", job_id=job_id, lapsed=lapsed)
    if row is None:
        return
    run_id, host, is_live, has_kill_command, left_seconds = row
    if is_live:
        why, command = f"is running on {host}", f"Wait for it, or: dataflow cancel {run_id}"
    else:
        why, command = leases.describe_ending(host, has_kill_command, left_seconds)
    raise errors.Conflict(f"{refusal}: run {run_id} {why}. Nothing was changed. {command}")


def lock_used(tx: Transaction, plans: Sequence[Plan]) -> None:
    """Lock the datasets that these jobs use: all at once and by id, as publishers do."""
    read = {item.dataset_id for plan in plans for item in plan.inputs}
    produced = {item.dataset_id for plan in plans for item in plan.outputs}
    tx.lock("registration.lock_datasets", dataset_ids=sorted(read | produced))


def remove_job(tx: Transaction, plan: Plan) -> None:
    """Remove a job with its work; its runs and journal stay as history."""
    job_id = plan.job_id
    lock_used(tx, [plan])
    refuse_beside_runs(tx, job_id, f"Job {plan.job.name} cannot be removed now", lapsed=True)
    tx.run("several.delete_deadlines", job_id=job_id)
    tx.run("registration.delete_work_inputs", job_id=job_id)
    tx.run("registration.delete_work", job_id=job_id)
    delete_parts(tx, [job_id])
    tx.run("several.delete_unused_pairs", **tx.ids([job_id]))
    tx.run("registration.delete_job", job_id=job_id)
    from dataflow.store import incidents  # start-up: no run needs it

    incidents.forget(tx, job=plan.job.name)
    calendar = find_dataset(tx, calendar_name(plan.job.name))
    if calendar is not None:
        remove_dataset(tx, calendar_name(plan.job.name))


def second_producer(dataset: str, producer: str, wanted: str) -> errors.Conflict:
    """Return the error for a dataset that two jobs would produce."""
    return errors.Conflict(
        f"Dataset {dataset} is already produced by job {producer}, and a dataset has one producer. "
        f"Give {wanted} another output, or: dataflow job remove {producer}"
    )


def rebuild_work(tx: Transaction, job_id: int, job: Job) -> None:
    """Recompute the input counts of a job's work, and create work for chunks that were ready before.

    The caller has computed what its inputs mapped `latest` cover.
    """
    # Before any work is locked, as a claim does that has found one to be due.
    tx.run("several.delete_deadlines", job_id=job_id)
    tx.run("registration.delete_work_inputs", job_id=job_id)
    inputs = tx.rows("registration.job_inputs", **tx.ids([job_id]))
    tx.run(
        "registration.reset_work",
        job_id=job_id,
        inputs=len(inputs),
        priority=job.priority,
        ordered=job.ordered,
    )
    readers = consumers.list_consumers(tx, (), job_id)
    days = readers[0].days if readers else EVERY_DAY
    if left_out := [*_list_left_out(tx, job_id, days), *_list_early(tx, readers)]:
        batch = tx.batch([(dataid, "") for dataid in left_out])
        tx.run("registration.delete_left_out", job_id=job_id, **batch)
    tx.run("registration.insert_work_inputs", job_id=job_id)
    if any(row[3] in UNCALLING for row in inputs):
        tx.run("registration.count_missing", job_id=job_id)
    if readers and readers[0].counting:
        from dataflow.store import several_inputs  # start-up: few jobs have such inputs

        several_inputs.set_needed(tx, job_id, sorted(list_work(tx, job_id)))
    for consumer in readers:
        # The chunks of a latest input call for no work, so skip them.
        if consumer.mapping not in UNCALLING:
            if consumer.lagging and not consumer.counting:
                dataids = list_work(tx, job_id)
                consumers.waive_inputs(tx, job_id, consumer.kind, consumer.first, dataids)
            _arrive_all(tx, consumer)
    if left_out := _list_left_out(tx, job_id, days):
        consumers.count_ready(tx, job_id, left_out)
    tx.run("registration.delete_uncalled_inputs", job_id=job_id)
    tx.run("registration.delete_uncalled", job_id=job_id)
    tx.run("several.delete_ended_deadlines", job_id=job_id)


def set_pairs(tx: Transaction, plan: Plan, dataset_id: int, pairs: Sequence[tuple[str, str]]) -> None:
    """Replace the (work, chunk) pairs of an input, and the work that they call for."""
    lock_used(tx, [plan])
    where = {"job_id": plan.job_id, "dataset_id": dataset_id}
    tx.run("several.delete_pairs", **where)
    for start in range(0, len(pairs), REBUILD_BATCH):
        tx.run("several.insert_pairs", **where, **tx.batch(pairs[start : start + REBUILD_BATCH]))
    rebuild_work(tx, plan.job_id, plan.job)


def _list_left_out(tx: Transaction, job_id: int, days: str) -> list[str]:
    """Return the work of a job on days that it leaves out."""
    return [dataid for dataid in list_work(tx, job_id) if not has_day(days, dataid)] if days else []


def _list_early(tx: Transaction, readers: Sequence[consumers.Consumer]) -> list[str]:
    """Return the work of a job before its start, if chunks do not create it any more."""
    if not any(reader.first and reader.mapping not in (*NAMING, *UNCALLING) for reader in readers):
        return []
    first, grain = readers[0].first, Grain(readers[0].grain)
    return [dataid for dataid in list_work(tx, readers[0].job_id) if is_before(dataid, first, grain)]


def _arrive_all(tx: Transaction, consumer: consumers.Consumer) -> None:
    from dataflow.store import several_inputs  # start-up: no run needs it

    after = ""
    while True:
        rows = tx.rows(
            "registration.ready_chunks", dataset_id=consumer.dataset_id, after=after, most=REBUILD_BATCH
        )
        if not rows:
            return
        pairs = [(row[0], row[1]) for row in rows]
        if consumer.counting:
            several_inputs.arrive(tx, consumer, pairs)
        else:
            consumers.arrive(tx, [consumer], {consumer.dataset_id: pairs})
        after = rows[-1][1]


def delete_parts(tx: Transaction, job_ids: Sequence[int]) -> None:
    """Remove inputs, outputs and environment from jobs."""
    ids = tx.ids(job_ids)
    tx.run("registration.delete_environments", **ids)
    tx.run("registration.delete_inputs", **ids)
    tx.run("registration.delete_outputs", **ids)


def _plans_from_rows(tx: Transaction, rows: Sequence[Row]) -> list[Plan]:
    """Return jobs with their parts, read for all of them at once."""
    ids = tx.ids([row[0] for row in rows])
    inputs: defaultdict[int, list[PlanInput]] = defaultdict(list)
    for job_id, position, dataset_id, mapping, days, rule, *dataset in tx.rows(
        "registration.job_inputs", **ids
    ):
        item = PlanInput(position, dataset_id, mapping, dataset_from_row(tuple(dataset)), days, rule)
        inputs[job_id].append(item)
    outputs: defaultdict[int, list[PlanOutput]] = defaultdict(list)
    for job_id, dataset_id, *dataset in tx.rows("registration.job_outputs", **ids):
        outputs[job_id].append(PlanOutput(dataset_id, dataset_from_row(tuple(dataset))))
    environments: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)
    for job_id, name, value in tx.rows("registration.job_environments", **ids):
        environments[job_id].append((name, value))
    return [_plan_from_row(row, inputs[row[0]], outputs[row[0]], environments[row[0]]) for row in rows]


def _plan_from_row(
    row: Row, inputs: list[PlanInput], outputs: list[PlanOutput], environment: list[tuple[str, str]]
) -> Plan:
    job_id, name, schedule, start, end, catchup, timezone, ordered, *limits = row[:15]
    grain, grain_timezone, _, script_path, revision, kind, days, *control = row[15:]
    calendar = calendar_name(name)  # not an input that was declared
    declared = [item for item in inputs if item.dataset.name != calendar]
    reads = tuple([item.as_declared for item in declared])
    parts = (reads, tuple([item.dataset.name for item in outputs]), tuple(environment))
    when: Row = (schedule, start, end, bool(catchup), timezone, bool(ordered))
    pool, order, backoff, max_delay_seconds, exit_codes, max_crashes, *change = control
    final_exit_codes = tuple([int(code) for code in exit_codes.split(",") if code])
    retries: Row = (backoff, max_delay_seconds, final_exit_codes, max_crashes)
    job = Job(name, *parts, *when, *limits, pool, order, *retries, *change)  # type: ignore[call-arg]
    if not kind and script_path == PIPELINE:  # registered by a worker of a version that stores no kind
        kind = VIEW if any(item.dataset.name != "today" for item in declared) else DATASET
    facts = (grain, grain_timezone, script_path, kind)
    return Plan(job_id, job, revision, *facts, tuple(inputs), tuple(outputs), days)
