"""Registers pipelines as jobs and datasets of the store, again whenever their definitions change."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Any, cast

from dataflow.actions import calendar
from dataflow.actions.dataset_rules import TODAY, is_automatic
from dataflow.actions.differences import Change
from dataflow.actions.input_rules import OF_JOB_GRAIN
from dataflow.actions.names import get_plan
from dataflow.actions.register import register, would_change
from dataflow.actions.registry_draft import Draft, Registry
from dataflow.errors import BadInput, ConfigError, UnknownName
from dataflow.model.cron import has_some_days
from dataflow.model.grain import Grain
from dataflow.model.job_dataid import job_dataid
from dataflow.model.location import lake_location, table_location
from dataflow.model.mapping import word_of
from dataflow.model.record import as_dict, replace
from dataflow.model.records import DATASET, PYTHON, VIEW, Dataset, Job
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.declare import bases
from dataflow.pipelines.declare.catalog import Definition
from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.published_table import PARTITION_COLUMN
from dataflow.pipelines.register.spans import interval_of, written_dataid
from dataflow.store.store import Store

TABLES_ONLY = ("write", "indexes", "partition_column")
"""Attributes that a dataset in a lake cannot have; a comment is ignored."""


def register_pipelines(
    store: Store, definitions: Iterable[Definition], settings: PipelineSettings
) -> list[Change]:
    """Registers the jobs and datasets of these pipelines in one transaction; skips unchanged ones."""
    in_order = producers_first(list(definitions))
    kinds = {definition.job: definition.kind for definition in in_order}
    return register(store, lambda registry: _draft(registry, in_order, settings), kinds)


def are_registered(store: Store, definitions: Iterable[Definition], settings: PipelineSettings) -> bool:
    """Whether the store has these pipelines as they are; reads only."""
    in_order = producers_first(list(definitions))
    if would_change(store, lambda registry: _draft(registry, in_order, settings)):
        return False
    return all(get_plan(store, definition.job).kind == definition.kind for definition in in_order)


def _draft(registry: Registry, definitions: list[Definition], settings: PipelineSettings) -> Draft:
    refuse_misplaced(definitions, settings)
    datasets: dict[str, Dataset] = {}
    known = ChainMap(datasets, cast("dict[str, Dataset]", registry.datasets))
    for definition in definitions:
        made = list_datasets(definition, get_place_of(definition, settings), known)
        datasets |= {dataset.name: dataset for dataset in made}
    for definition in definitions:
        _refuse_unknown(definition, known)
    jobs = [Job(one.job, one.inputs, one.outputs, **as_dict(one.timing)) for one in definitions]
    registry.plans.load(job.name for job in jobs)
    jobs = [_with_limit(job, registry.find_job(job.name)) for job in jobs]
    return registry.draft(datasets.values(), jobs, may_be_over=True)


def _with_limit(job: Job, before: Job | None) -> Job:
    """Keeps the limit that `dataflow scale` has set: a class declares none."""
    return job if before is None else replace(job, max_running=before.max_running)


def _refuse_unknown(definition: Definition, known: Mapping[str, Dataset]) -> None:
    """UnknownName for an input that is not a dataset; inputs from the clock are checked with the job."""
    for item in definition.inputs:
        if item.dataset not in known and not is_automatic(item.dataset):
            raise UnknownName(
                f"{definition.origin}: unknown dataset {quoted(item.dataset)} in "
                f'inputs=["{item.dataset}"].{did_you_mean(item.dataset, known)} Name one that a '
                "pipeline makes, or that is registered: dataflow dataset list"
            )


def call_for(store: Store, definition: Definition, dataid: str) -> str:
    """Creates the work of an interval, even if it is not due; returns its canonical dataid."""
    plan = get_plan(store, definition.job)
    dataid = job_dataid(dataid, plan)
    if not definition.follows_inputs:
        dataid = written_dataid(definition.timing, dataid)
        # raises before work is created that could never be done
        interval_of(definition.timing, dataid, by_day=plan.grain == Grain.DAILY)
    calendar.call_for(store, plan, dataid)
    return dataid


def producers_first(definitions: list[Definition]) -> list[Definition]:
    """Sorted so that the datasets that give a job its grain come before it."""
    ordered: list[Definition] = []
    waiting = definitions
    while waiting:
        made = {name for one in waiting for name in one.outputs}
        # If jobs wait for each other, registration reports the cycle.
        ready = [one for one in waiting if not set(_callers(one)) & made] or waiting
        ordered += ready
        waiting = [one for one in waiting if one not in ready]
    return ordered


def list_datasets(
    definition: Definition, connection: Connection, known: Mapping[str, Dataset]
) -> list[Dataset]:
    """The datasets of a pipeline or job; `known` are those that may give it its grain.

    They also have the limits that were set on its own datasets.
    """
    is_lake = connection.is_lake
    if definition.kind == PYTHON and not is_lake:
        raise ConfigError(
            f"{definition.origin} has target_db {connection.name}, which is a database, but "
            "a Python job writes to a lake. Omit target_db, or name a connection such as lake:FOLDER."
        )
    grain, timezone = _grain_of(definition, known)
    column = "" if is_lake else definition.dataid_column
    return [
        Dataset(
            name,
            schemaname="" if is_lake else definition.schema,
            tablename="" if is_lake else name,
            location=location_of(connection, definition.schema, name),
            format="parquet" if is_lake else "postgresql",
            grain=grain,
            timezone=timezone,
            mode=definition.mode,
            options=((PARTITION_COLUMN, column),) if column else (),
            **_limits_of(known.get(name)),
        )
        for name in definition.outputs
    ]


def _limits_of(registered: Dataset | None) -> dict[str, Any]:
    """What `dataset add` has set and no class declares."""
    if registered is None:
        return {}
    return {"fresh_within_seconds": registered.fresh_within_seconds, "due_by": registered.due_by}


def location_of(connection: Connection, schema: str, name: str) -> str:
    """The location of each run's result; it contains {run_id}, so no run overwrites another's result."""
    place = lake_location(connection.folder) if connection.is_lake else None
    return str(place or table_location(connection.name, schema, name))


def _callers(definition: Definition) -> list[str]:
    """The datasets that give a job its grain, except its own: a schedule of some days leaves it to them."""
    if not definition.follows_inputs and not has_some_days(definition.timing.schedule):
        return []
    called = [item.dataset for item in definition.inputs if word_of(item.mapping) in OF_JOB_GRAIN]
    return [name for name in called if name not in definition.outputs]


def _grain_of(definition: Definition, known: Mapping[str, Dataset]) -> tuple[str, str]:
    timing, callers = definition.timing, _callers(definition)
    if not definition.follows_inputs:
        grains = [known[name].grain for name in callers if name in known]
        is_daily = TODAY in callers or Grain.DAILY.value in grains
        return (Grain.DAILY if is_daily else timing.grain).value, timing.timezone
    for name in callers:
        if name in known:
            return known[name].grain, known[name].timezone
    # An unknown input is reported when the job itself is registered.
    return (Grain.DAILY if TODAY in callers else Grain.TEXT).value, timing.timezone


def get_place_of(definition: Definition, settings: PipelineSettings) -> Connection:
    """The connection a pipeline writes to; ConfigError with file and line if it is unknown."""
    try:
        return settings.get_place(definition.target)
    except ConfigError as error:
        raise ConfigError(f"{definition.origin}: {error}") from error


def refuse_misplaced(definitions: Iterable[Definition], settings: PipelineSettings) -> None:
    """Raises BadInput for a pipeline that can never run where its datasets are; include what views read."""
    known = list(definitions)
    makers = {name: definition for definition in known for name in definition.outputs}
    for definition in known:
        if rule := _RULES.get(definition.kind):
            rule(definition, makers, settings)


def find_misplaced(needed: Iterable[Definition], settings: PipelineSettings) -> str:
    """The message of `refuse_misplaced`; "" if there is none, or if a connection is not known here."""
    try:
        refuse_misplaced(needed, settings)
    except BadInput as error:
        return str(error)
    except ConfigError:
        pass  # it may be set where the pipeline runs
    return ""


def _refuse_unsuited(
    definition: DatasetDefinition, _makers: Mapping[str, Definition], settings: PipelineSettings
) -> None:
    """Refuses table attributes in a lake, and a mapped column with the name of the partition column."""
    place, where = get_place_of(definition, settings), definition.origin
    for name in TABLES_ONLY if place.is_lake else ():
        if getattr(definition, name) != getattr(bases.DatasetPipeline, name):
            raise BadInput(
                f"{where}.{name} applies only to a database table, but {definition.dataset} goes to "
                f"{place.name}, a lake, where each version has its own folder. Remove it, or "
                "set target_db to a database."
            )
    columns = [field.column for field in definition.mapped]
    if not place.is_lake and definition.mode == "partition" and definition.partition_column in columns:
        raise BadInput(
            f"{where}: {definition.partition_column} is a column of field_mapping, but in mode partition "
            "DataFlow adds a column of that name. Rename yours, or set partition_column."
        )


def _refuse_scattered(
    definition: ViewDefinition, makers: Mapping[str, Definition], settings: PipelineSettings
) -> None:
    """Refuses a view that reads both: a database computes over its own tables, Spark over lakes."""
    places = {name: get_place_of(makers[name], settings) for name in definition.reads}
    listed = ", ".join(f"{name} in {place.name}" for name, place in places.items())
    if all(place.is_lake for place in places.values()):
        if not definition.materialized:
            raise BadInput(
                f"{definition.origin}: materialized = False creates a view in the database "
                f"of its datasets, but they are in a lake: {listed}. Remove materialized, or set target_db "
                "of the datasets to a database."
            )
    elif {place.name for place in places.values()} != {definition.target}:
        raise BadInput(
            f"{definition.origin} reads {listed}, but its result goes to "
            f"{definition.target}. A database computes the views of its tables: everything such a view "
            "reads, and its result, must be there. Change target_db of the view, or of what it reads."
        )


_RULES: dict[str, Any] = {VIEW: _refuse_scattered, DATASET: _refuse_unsuited}
