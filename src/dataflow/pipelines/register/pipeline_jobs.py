"""Pipelines as jobs and datasets of the store, registered anew whenever their definitions change."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from dataflow.actions import calendar
from dataflow.actions.dataset_rules import is_automatic
from dataflow.actions.names import get_plan
from dataflow.actions.register import register
from dataflow.errors import UnknownName
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.records import PIPELINE, Dataset, Job
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.declare.definitions import DatasetDefinition, JobDefinition, ViewDefinition
from dataflow.pipelines.declare.settings import Connection
from dataflow.pipelines.handover.published_table import PARTITION_COLUMN
from dataflow.pipelines.register.intervals import interval_of, written_dataid
from dataflow.pipelines.register.job_datasets import lake_location, list_job_datasets, producers_first
from dataflow.pipelines.register.target_rules import get_place_of, refuse_misplaced

if TYPE_CHECKING:
    from dataflow.actions.differences import Change
    from dataflow.actions.registry_draft import Draft, Registry
    from dataflow.pipelines.declare.catalog import Definition as Registered
    from dataflow.pipelines.declare.settings import Connection, PipelineSettings
    from dataflow.store.store import Store

    Definition = DatasetDefinition | ViewDefinition

LEASE_SECONDS = 300.0


def register_pipelines(
    store: Store, definitions: Iterable[Registered], settings: PipelineSettings
) -> list[Change]:
    """Registers jobs and datasets of these pipelines in one transaction; what is as it was is not touched."""
    in_order = producers_first(list(definitions))
    return register(store, lambda registry: _draft(registry, in_order, settings), PIPELINE)


def _draft(registry: Registry, definitions: list[Registered], settings: PipelineSettings) -> Draft:
    refuse_misplaced(definitions, settings)
    datasets: dict[str, Dataset] = {}
    known = ChainMap(datasets, cast("dict[str, Dataset]", registry.datasets))
    for definition in definitions:
        place = get_place_of(definition, settings)
        if isinstance(definition, JobDefinition):
            made = list_job_datasets(definition, place, known)
        else:
            made = [dataset_of(definition, place)]
        datasets |= {dataset.name: dataset for dataset in made}
    for definition in definitions:
        if isinstance(definition, JobDefinition):
            _refuse_unknown(definition, known)
    jobs = [job_of(definition) for definition in definitions]
    return registry.draft(datasets.values(), jobs, may_be_over=True)


def _refuse_unknown(definition: JobDefinition, known: Mapping[str, Dataset]) -> None:
    """UnknownName for an input that is no dataset; what reads the clock's is checked with the job."""
    for item in definition.inputs:
        if item.dataset not in known and not is_automatic(item.dataset):
            raise UnknownName(
                f"{definition.place}: {definition.job}: there is no dataset {quoted(item.dataset)}, which "
                f'stands in inputs=["{item.dataset}"].{did_you_mean(item.dataset, known)} Name one that a '
                "pipeline makes, or that is registered: dataflow dataset list"
            )


def call_for(store: Store, definition: Registered, dataid: str) -> str:
    """Has a schedule give an interval, whether it would by itself or not; gives its canonical dataid."""
    plan = get_plan(store, definition.job)
    dataid = canonical_dataid(dataid, Grain(plan.grain), plan.timezone)
    timing = definition.timing
    if timing.gives_intervals or not isinstance(definition, JobDefinition):
        dataid = written_dataid(timing, dataid)
        interval_of(timing, dataid)  # before there is work that could never be done
    calendar.call_for(store, plan, dataid)
    return dataid


def dataset_of(definition: Definition, connection: Connection) -> Dataset:
    """The dataset a pipeline produces."""
    timing = definition.timing
    column = "" if connection.is_lake else _partition_column(definition)
    return Dataset(
        definition.dataset,
        schemaname="" if connection.is_lake else definition.schema,
        tablename="" if connection.is_lake else definition.dataset,
        location=location_of(definition, connection),
        format="parquet" if connection.is_lake else "postgresql",
        grain=timing.grain.value,
        timezone=timing.timezone,
        mode=definition.mode if isinstance(definition, DatasetDefinition) else "partition",
        options=((PARTITION_COLUMN, column),) if column else (),
    )


def _partition_column(definition: Definition) -> str:
    """The column of a table that says which dataid a row is of; "" where it has none."""
    if not isinstance(definition, DatasetDefinition) or definition.mode != "partition":
        return ""
    return definition.partition_column if definition.write != "merge" else ""


def location_of(definition: Definition, connection: Connection) -> str:
    """Where each run's result is; {run_id} in it, as no run writes over what another has published."""
    if connection.is_lake:
        return lake_location(connection)
    return f"postgresql://{connection.name}/{definition.schema}.{definition.dataset}?run={{run_id}}"


def job_of(definition: Registered) -> Job:
    """The job a pipeline is."""
    inputs = () if isinstance(definition, DatasetDefinition) else definition.inputs
    outputs = definition.outputs if isinstance(definition, JobDefinition) else (definition.dataset,)
    timing = definition.timing
    return Job(
        definition.job,
        inputs=inputs,
        outputs=outputs,
        schedule=timing.schedule,
        start=timing.start,
        end=timing.end,
        catchup=timing.catchup,
        timezone=timing.timezone,
        retries=timing.retries,
        retry_delay_seconds=timing.retry_delay_seconds,
        timeout_seconds=timing.timeout_seconds,
        lease_seconds=LEASE_SECONDS,
    )
