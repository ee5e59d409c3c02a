"""Pipelines as jobs and datasets of the store, registered anew whenever their definitions change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from dataflow.actions.locations import MANIFEST
from dataflow.actions.names import get_plan
from dataflow.actions.register import register
from dataflow.model.dataid import canonical_dataid, sort_key
from dataflow.model.grain import Grain
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.schedule import grain_of, parse_schedule
from dataflow.pipelines.definitions import DatasetDefinition, Timing, ViewDefinition
from dataflow.pipelines.settings import Connection
from dataflow.store.registration import calendar_name

if TYPE_CHECKING:
    from dataflow.actions.differences import Change
    from dataflow.pipelines.settings import PipelineSettings
    from dataflow.store.store import Store

    Definition = DatasetDefinition | ViewDefinition

LEASE_SECONDS = 300.0


def register_pipelines(
    store: Store, definitions: Iterable[Definition], settings: PipelineSettings
) -> list[Change]:
    """Registers jobs and datasets of these pipelines in one transaction; what is as it was is not touched."""
    datasets, jobs = [], []
    for definition in definitions:
        datasets.append(dataset_of(definition, settings.get_place(definition.target)))
        jobs.append(job_of(definition))
    return register(store, lambda registry: registry.draft(datasets, jobs, may_be_over=True))


def call_for(store: Store, job: str, dataid: str) -> str:
    """Has a pipeline's schedule give an interval, whether it would by itself or not; gives its dataid as it is written."""
    plan = get_plan(store, job)
    grain = Grain(plan.grain)
    dataid = canonical_dataid(dataid, grain, plan.timezone)
    for item in plan.inputs:
        if item.dataset.name == calendar_name(plan.job.name):
            pair = (dataid, sort_key(dataid, grain))
            store.make_ready(item.dataset_id, item.dataset.name, [pair], again=False)
    return dataid


def dataset_of(definition: Definition, connection: Connection) -> Dataset:
    """The dataset a pipeline produces."""
    timing = definition.timing
    schedule = parse_schedule(timing.schedule, timing.timezone, None, None, timing.catchup)
    return Dataset(
        definition.dataset,
        schemaname="" if connection.is_lake else definition.schema,
        tablename="" if connection.is_lake else definition.dataset,
        location=location_of(definition, connection),
        format="parquet" if connection.is_lake else "postgresql",
        grain=grain_of(schedule).value,
        timezone=timing.timezone,
        mode=definition.mode if isinstance(definition, DatasetDefinition) else "partition",
    )


def location_of(definition: Definition, connection: Connection) -> str:
    """Where each run's result is; {run_id} in it, as no run writes over what another has published."""
    if connection.is_lake:
        return f"{connection.folder}/{{dataset}}/dataid={{encoded_dataid}}/{{run_id}}/{MANIFEST}"
    return f"postgresql://{connection.name}/{definition.schema}.{definition.dataset}?run={{run_id}}"


def job_of(definition: Definition) -> Job:
    """The job a pipeline is."""
    reads = definition.reads if isinstance(definition, ViewDefinition) else ()
    timing: Timing = definition.timing
    return Job(
        definition.job,
        inputs=tuple(JobInput(name, "latest") for name in reads),
        outputs=(definition.dataset,),
        schedule=timing.schedule,
        start=timing.start,
        end=timing.end,
        catchup=timing.catchup,
        timezone=timing.timezone,
        retries=timing.retries,
        retry_delay_seconds=timing.retry_delay_seconds,
        lease_seconds=LEASE_SECONDS,
    )
