"""The datasets that pipelines and Python jobs make: their location, and their grain by schedule or inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dataflow.actions.dataset_rules import TODAY
from dataflow.errors import ConfigError
from dataflow.model.cron import has_some_days
from dataflow.model.grain import Grain
from dataflow.model.location import lake_location, table_location
from dataflow.model.mapping import LATEST
from dataflow.model.records import PYTHON, Dataset
from dataflow.pipelines.handover.published_table import PARTITION_COLUMN

if TYPE_CHECKING:
    from dataflow.pipelines.declare.catalog import Definition
    from dataflow.pipelines.declare.settings import Connection


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
    """The datasets of a pipeline or job; `known` are those that may give it its grain."""
    is_lake = connection.is_lake
    if definition.kind == PYTHON and not is_lake:
        raise ConfigError(
            f"{definition.place}: {definition.job} has target_db {connection.name}, which is a database, but "
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
        )
        for name in definition.outputs
    ]


def location_of(connection: Connection, schema: str, name: str) -> str:
    """The location of each run's result; it contains {run_id}, so no run overwrites another's result."""
    place = lake_location(connection.folder) if connection.is_lake else None
    return str(place or table_location(connection.name, schema, name))


def _callers(definition: Definition) -> list[str]:
    """The datasets that give a job its grain, except its own: a schedule of some days leaves it to them."""
    if not definition.follows_inputs and not has_some_days(definition.timing.schedule):
        return []
    called = [item.dataset for item in definition.inputs if item.mapping != LATEST]
    return [name for name in called if name not in definition.outputs]


def _grain_of(definition: Definition, known: Mapping[str, Dataset]) -> tuple[str, str]:
    timing, callers = definition.timing, _callers(definition)
    if not definition.follows_inputs:
        is_daily = TODAY in callers or any(
            known[name].grain == Grain.DAILY for name in callers if name in known
        )
        return (Grain.DAILY if is_daily else timing.grain).value, timing.timezone
    for name in callers:
        if name in known:
            return known[name].grain, known[name].timezone
    # An unknown input is reported when the job itself is registered.
    return (Grain.DAILY if TODAY in callers else Grain.TEXT).value, timing.timezone
