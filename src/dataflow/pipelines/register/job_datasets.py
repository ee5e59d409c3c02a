"""The datasets that Python jobs make: in a lake, with the grain of the job's schedule or of its inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dataflow.actions.dataset_rules import TODAY
from dataflow.actions.locations import MANIFEST
from dataflow.errors import ConfigError
from dataflow.model.grain import Grain
from dataflow.model.mapping import LATEST
from dataflow.model.records import Dataset
from dataflow.pipelines.declare.definitions import JobDefinition

if TYPE_CHECKING:
    from dataflow.pipelines.declare.catalog import Definition
    from dataflow.pipelines.declare.settings import Connection


def producers_first(definitions: list[Definition]) -> list[Definition]:
    """In an order in which the datasets that give a job its grain come before it."""
    ordered: list[Definition] = [one for one in definitions if not isinstance(one, JobDefinition)]
    waiting = [one for one in definitions if isinstance(one, JobDefinition)]
    while waiting:
        made = {name for one in waiting for name in one.outputs}
        # Where jobs wait for each other, registering tells of the circle.
        ready = [one for one in waiting if not _callers(one) & made] or waiting
        ordered += ready
        waiting = [one for one in waiting if one not in ready]
    return ordered


def list_job_datasets(
    definition: JobDefinition, connection: Connection, known: Mapping[str, Dataset]
) -> list[Dataset]:
    """A job's outputs; `known` are the datasets it may read."""
    if not connection.is_lake:
        raise ConfigError(
            f"{definition.place}: {definition.job} has target_db {connection.name}, which is a database, and "
            "a Python job writes to a lake. Leave target_db out, or name a connection such as lake:FOLDER."
        )
    grain, timezone = _grain_of(definition, known)
    location = lake_location(connection)
    return [
        Dataset(
            name, location=location, format="parquet", grain=grain, timezone=timezone, mode=definition.mode
        )
        for name in definition.outputs
    ]


def lake_location(connection: Connection) -> str:
    """Where each run's result is; {run_id} in it, as no run writes over what another has published."""
    return f"{connection.folder}/{{dataset}}/dataid={{encoded_dataid}}/{{run_id}}/{MANIFEST}"


def _callers(definition: JobDefinition) -> set[str]:
    """The datasets that call for work of a job without a schedule, but for its own."""
    if definition.timing.gives_intervals:
        return set()
    return {item.dataset for item in definition.inputs if item.mapping != LATEST} - set(definition.outputs)


def _grain_of(definition: JobDefinition, known: Mapping[str, Dataset]) -> tuple[str, str]:
    timing = definition.timing
    if timing.gives_intervals:
        return timing.grain.value, timing.timezone
    callers = [item.dataset for item in definition.inputs if item.mapping != LATEST]
    for name in callers:
        if name in known and name not in definition.outputs:
            return known[name].grain, known[name].timezone
    # An input that is not there is told of when the job itself is registered.
    return (Grain.DAILY if TODAY in callers else Grain.TEXT).value, timing.timezone
