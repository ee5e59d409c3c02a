"""Datasets and jobs come, change and go; a job's work is rebuilt in the same transaction as its inputs."""

from __future__ import annotations

import json

from dataflow import errors
from dataflow.model.mapping import LATEST
from dataflow.model.records import Dataset, Job, JobInput, Plan, PlanInput, PlanOutput
from dataflow.store import covering, publishing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.model.records import Calendar
    from dataflow.store.database import Row, Transaction

REBUILD_BATCH = 5000
CALENDAR_SUFFIX = ".calendar"


def calendar_name(job: str) -> str:
    """The name of the calendar dataset that a job's schedule makes."""
    return job + CALENDAR_SUFFIX


def dataset_from_row(row: Row) -> Dataset:
    """A dataset record from its columns after the id."""
    options = tuple(sorted(json.loads(row[-1]).items()))
    return Dataset(*row[:-1], options)  # type: ignore[call-arg]


def job_from_row(
    row: Row, inputs: Sequence[JobInput], outputs: Sequence[str], environment: Sequence[Row]
) -> Job:
    """A job record from its columns after the id and its parts; its schedule's calendar is not an input."""
    name, schedule, start, end, catchup, timezone, ordered, *limits = row[:13]
    return Job(
        name,
        tuple(item for item in inputs if item.dataset != calendar_name(name)),
        tuple(outputs),
        tuple((item[0], item[1]) for item in environment),
        schedule,
        start,
        end,
        bool(catchup),
        timezone,
        bool(ordered),
        *limits,
    )


def find_dataset(tx: Transaction, name: str) -> tuple[int, Dataset] | None:
    """A dataset and its id by name."""
    row = tx.find("registration.find_dataset", name=name)
    return None if row is None else (row[0], dataset_from_row(row[1:]))


def find_plan(tx: Transaction, name: str) -> Plan | None:
    """A job with all that a run of it needs."""
    row = tx.find("registration.find_job", name=name)
    return None if row is None else _plan_from_row(tx, row)


def list_plans(tx: Transaction) -> list[Plan]:
    """All jobs, by name."""
    return [_plan_from_row(tx, row) for row in tx.rows("registration.list_jobs")]


def upsert_dataset(tx: Transaction, dataset: Dataset) -> int:
    """Registers a dataset or changes its fields; runs of its jobs will see the change.

    Where it is cannot change while a run may be writing it: its readers would be sent to the other place.
    """
    before = find_dataset(tx, dataset.name)
    if before is not None and _place_of(before[1]) != _place_of(dataset):
        producer = tx.find("publish.producer", dataset_id=before[0])
        if producer is not None:
            _refuse_beside_runs(tx, producer[0], f"The place of dataset {dataset.name} cannot change now")
    row = tx.find(
        "registration.upsert_dataset",
        name=dataset.name,
        hostname=dataset.hostname,
        database=dataset.database,
        schemaname=dataset.schemaname,
        tablename=dataset.tablename,
        username=dataset.username,
        encryptedpass=dataset.encryptedpass,
        location=dataset.location,
        format=dataset.format,
        grain=str(dataset.grain),
        timezone=dataset.timezone,
        mode=dataset.mode,
        options=json.dumps(dict(dataset.options), sort_keys=True),
    )
    assert row is not None
    tx.run("registration.bump_revisions", dataset_id=row[0])
    return int(row[0])


def _place_of(dataset: Dataset) -> tuple[str, ...]:
    """What says where a dataset's chunks are, and which of them share a place."""
    table = (dataset.hostname, dataset.database, dataset.schemaname, dataset.tablename)
    return (*table, dataset.location, dataset.mode)


def upsert_calendar(tx: Transaction, dataset_id: int, calendar: Calendar) -> None:
    """Makes a dataset a calendar: its chunks become ready as time passes."""
    tx.run(
        "registration.upsert_calendar",
        dataset_id=dataset_id,
        expression=calendar.expression,
        start_at=calendar.start,
        end_at=calendar.end,
        catchup=calendar.catchup,
    )


def remove_dataset(tx: Transaction, name: str) -> int:
    """Removes a dataset that no job uses, with its chunks; gives how many there were."""
    found = find_dataset(tx, name)
    assert found is not None
    dataset_id = found[0]
    tx.lock("registration.lock_datasets", dataset_ids=[dataset_id])
    users = [row[0] for row in tx.rows("registration.users_of_dataset", dataset_id=dataset_id)]
    if users:
        raise errors.Conflict(
            f"Dataset {name} is used by {', '.join(users)}. Remove or change these jobs first: "
            f"dataflow job remove {users[0]}"
        )
    tx.run("registration.delete_versions", dataset_id=dataset_id)
    chunks = tx.run("registration.delete_chunks", dataset_id=dataset_id)
    tx.run("registration.delete_calendar", dataset_id=dataset_id)
    tx.run("registration.delete_dataset", dataset_id=dataset_id)
    return chunks


def upsert_job(tx: Transaction, job: Job, inputs: Sequence[JobInput], grain: str, grain_timezone: str) -> int:
    """Registers a job or changes it, and rebuilds its work; `inputs` holds the schedule's calendar too."""
    ids = {name: _dataset_id(tx, name) for name in {*(item.dataset for item in inputs), *job.outputs}}
    # The inputs it has had too: one that arrives now must not be counted at the place of another.
    former = [row[0] for row in tx.rows("registration.inputs_of", name=job.name)]
    tx.lock("registration.lock_datasets", dataset_ids=sorted({*ids.values(), *former}))
    before = find_plan(tx, job.name)
    kept: list[Row] = []
    if before is not None:
        free_outputs(tx, before, job.outputs)
        kept = tx.rows("cover.reaches", job_id=before.job_id)
    job_id = _upsert_job_row(tx, job, grain, grain_timezone)
    _replace_parts(tx, job_id, job, inputs, ids)
    after = find_plan(tx, job.name)
    assert after is not None
    covering.measure(tx, after)
    # What a snapshot covers changes with its dataset's time zone, too.
    moved = kept != tx.rows("cover.reaches", job_id=job_id)
    if before is None or moved or _shape_of_work(before) != _shape_of_work(after):
        rebuild_work(tx, job_id, job)
    return job_id


def free_outputs(tx: Transaction, plan: Plan, outputs: Sequence[str]) -> None:
    """Takes from a job the outputs that it shall no longer have, so that another may be given them.

    Refused while runs of it may be at work: they were claimed for the outputs it has had, and write these.
    """
    before = {output.dataset.name: output.dataset_id for output in plan.outputs}
    if set(before) == set(outputs):
        return
    _refuse_beside_runs(tx, plan.job_id, f"The outputs of job {plan.job.name} cannot change now")
    for name in before.keys() - set(outputs):
        tx.run("registration.delete_job_output", dataset_id=before[name])


def _refuse_beside_runs(tx: Transaction, job_id: int, refusal: str, lapsed: bool = False) -> None:
    """Refuses a change while a run of the job may be at work, be it revoked and still ending."""
    # Claims are kept out from here on; one that came before is seen by the next statement.
    tx.lock("registration.lock_work", job_id=job_id)
    row = tx.find("registration.at_work", job_id=job_id, lapsed=lapsed)
    if row is None:
        return
    run_id, host, is_live, has_kill_command, left_seconds = row
    if is_live:
        why, command = f"run {run_id} is at work on {host}", f"Wait for it, or: dataflow cancel {run_id}"
    elif has_kill_command:
        why = f"run {run_id} was cancelled, and what it started outside its process may still be at work"
        command = "Have it ended first: RunJob --kill-command COMMAND SCRIPT"
    else:
        why = f"run {run_id} was cancelled and may still be ending on {host}"
        command = f"Wait {int(left_seconds) + 1} s and run the same command again."
    raise errors.Conflict(f"{refusal}: {why}. Nothing was changed. {command}")


def _shape_of_work(plan: Plan) -> tuple[object, ...]:
    """What a job's work is made from: as long as it is the same, its million works can stay as they are."""
    inputs = tuple((item.position, item.dataset_id, item.mapping) for item in plan.inputs)
    return inputs, plan.grain, plan.timezone, plan.job.start, plan.job.ordered, plan.job.priority


def remove_job(tx: Transaction, plan: Plan) -> None:
    """Removes a job with its work; its runs and journal stay as history."""
    job_id = plan.job_id
    used = {item.dataset_id for item in plan.inputs} | {item.dataset_id for item in plan.outputs}
    tx.lock("registration.lock_datasets", dataset_ids=sorted(used))
    _refuse_beside_runs(tx, job_id, f"Job {plan.job.name} cannot be removed now", lapsed=True)
    tx.run("registration.delete_work_inputs", job_id=job_id)
    tx.run("registration.delete_work", job_id=job_id)
    _delete_parts(tx, job_id)
    tx.run("registration.delete_job", job_id=job_id)
    calendar = find_dataset(tx, calendar_name(plan.job.name))
    if calendar is not None:
        remove_dataset(tx, calendar_name(plan.job.name))


def second_producer(dataset: str, producer: str, wanted: str) -> errors.Conflict:
    """The error for a dataset that two jobs would produce."""
    return errors.Conflict(
        f"Dataset {dataset} is already produced by job {producer}, and a dataset has one producer. "
        f"Give {wanted} another output, or: dataflow job remove {producer}"
    )


def rebuild_work(tx: Transaction, job_id: int, job: Job) -> None:
    """Counts the inputs of all of a job's work anew, and makes work for chunks that were ready before.

    What its inputs mapped `latest` cover is measured by the caller.
    """
    tx.run("registration.delete_work_inputs", job_id=job_id)
    inputs = tx.rows("registration.job_inputs", job_id=job_id)
    tx.run(
        "registration.reset_work",
        job_id=job_id,
        inputs=len(inputs),
        priority=job.priority,
        ordered=job.ordered,
    )
    tx.run("registration.insert_work_inputs", job_id=job_id)
    if any(row[2] == LATEST for row in inputs):
        tx.run("registration.count_missing", job_id=job_id)
    for dataset_id in {row[1] for row in inputs}:
        for consumer in publishing.list_consumers(tx, dataset_id):
            # The chunks of a latest input call for no work, so they need not be walked.
            if consumer.job_id == job_id and consumer.mapping != LATEST:
                if consumer.lagging:
                    known = tx.rows("registration.work_dataids", job_id=job_id)
                    publishing.waive_inputs(tx, job_id, consumer.order, [row[0] for row in known])
                _arrive_all(tx, consumer, dataset_id)
    tx.run("registration.delete_uncalled_inputs", job_id=job_id)
    tx.run("registration.delete_uncalled", job_id=job_id)


def _arrive_all(tx: Transaction, consumer: publishing.Consumer, dataset_id: int) -> None:
    after = ""
    while True:
        rows = tx.rows("registration.ready_chunks", dataset_id=dataset_id, after=after, most=REBUILD_BATCH)
        if not rows:
            return
        publishing.arrive(tx, consumer, [(row[0], row[1]) for row in rows])
        after = rows[-1][1]


def _dataset_id(tx: Transaction, name: str) -> int:
    found = find_dataset(tx, name)
    if found is None:
        raise errors.UnknownName(f"No dataset {name}. Register it: dataflow dataset add {name}")
    return found[0]


def _upsert_job_row(tx: Transaction, job: Job, grain: str, grain_timezone: str) -> int:
    row = tx.find(
        "registration.upsert_job",
        name=job.name,
        schedule=job.schedule,
        start_at=job.start,
        end_at=job.end,
        catchup=job.catchup,
        timezone=job.timezone,
        ordered=job.ordered,
        retries=job.retries,
        retry_delay_seconds=job.retry_delay_seconds,
        max_running=job.max_running,
        lease_seconds=job.lease_seconds,
        grace_seconds=job.grace_seconds,
        priority=job.priority,
        grain=str(grain),
        grain_timezone=grain_timezone,
    )
    assert row is not None
    return int(row[0])


def _replace_parts(
    tx: Transaction, job_id: int, job: Job, inputs: Sequence[JobInput], ids: dict[str, int]
) -> None:
    _delete_parts(tx, job_id)
    for position, item in enumerate(inputs):
        where = {"job_id": job_id, "position": position, "dataset_id": ids[item.dataset]}
        tx.run("registration.insert_job_input", mapping=item.mapping, **where)
    for position, name in enumerate(job.outputs):
        producer = tx.find("registration.producer_of", dataset_id=ids[name])
        if producer is not None:
            raise second_producer(name, producer[0], job.name)
        tx.run("registration.insert_job_output", dataset_id=ids[name], job_id=job_id, position=position)
    for name, value in job.environment:
        tx.run("registration.insert_job_environment", job_id=job_id, name=name, value=value)


def _delete_parts(tx: Transaction, job_id: int) -> None:
    tx.run("registration.delete_job_environment", job_id=job_id)
    tx.run("registration.delete_job_inputs", job_id=job_id)
    tx.run("registration.delete_job_outputs", job_id=job_id)


def _plan_from_row(tx: Transaction, row: Row) -> Plan:
    job_id = row[0]
    inputs = [
        PlanInput(item[0], item[1], item[2], dataset_from_row(item[3:]))
        for item in tx.rows("registration.job_inputs", job_id=job_id)
    ]
    outputs = [
        PlanOutput(item[0], dataset_from_row(item[1:]))
        for item in tx.rows("registration.job_outputs", job_id=job_id)
    ]
    job = job_from_row(
        row[1:],
        [JobInput(item.dataset.name, item.mapping) for item in inputs],
        [item.dataset.name for item in outputs],
        tx.rows("registration.job_environment", job_id=job_id),
    )
    grain, grain_timezone, _, script_path, revision = row[14:]
    return Plan(job_id, job, revision, grain, grain_timezone, script_path, tuple(inputs), tuple(outputs))
