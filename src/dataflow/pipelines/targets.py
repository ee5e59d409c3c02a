"""Which target a run's rows go to, made from the definition and its connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.pipelines.definitions import DatasetDefinition, ViewDefinition
from dataflow.pipelines.lake.target import LakeTarget
from dataflow.pipelines.records import Destination, Target
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.spark.frames import count_bad_rows

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun
    from dataflow.pipelines.facilities import Facilities


def destination_of(claimed: ClaimedRun, dataset: str) -> Destination:
    """Which chunk a run writes, and what may be replaced by it."""
    output = next(item.dataset for item in claimed.prepared.plan.outputs if item.dataset.name == dataset)
    pins = [f"{item.name}@{item.pin.version}" for item in claimed.prepared.inputs if item.pin]
    key = sort_key(claimed.dataid, Grain(output.grain))
    return Destination(dataset, claimed.dataid, key, claimed.run_id, output.mode, " ".join(pins))


def lake_target(
    claimed: ClaimedRun,
    destination: Destination,
    columns: tuple[tuple[str, str], ...],
    facilities: Facilities,
) -> LakeTarget:
    """A run's part of the lake; passes over its staged files are made by the worker's session."""
    return LakeTarget(
        claimed.location(destination.dataset),
        destination,
        columns,
        lambda check, frame: count_bad_rows(facilities.session(), check, frame),
    )


def view_target(
    definition: ViewDefinition, fields: tuple[Field, ...], claimed: ClaimedRun, facilities: Facilities
) -> Target:
    """The target of a view pipeline's run that Spark computes."""
    destination = destination_of(claimed, definition.dataset)
    connection = facilities.settings.get_connection(definition.target)
    if connection.is_lake:
        columns = tuple((field.column, field.type.sql) for field in fields)
        return lake_target(claimed, destination, columns, facilities)
    from dataflow.pipelines.postgres.making import (
        make_view_target,  # only those who write to it need its driver
    )

    return make_view_target(connection, definition, fields, destination, facilities.streams)


def dataset_target(
    definition: DatasetDefinition, fields: tuple[Field, ...], claimed: ClaimedRun, facilities: Facilities
) -> Target:
    """The target of a dataset pipeline's run."""
    destination = destination_of(claimed, definition.dataset)
    connection = facilities.settings.get_connection(definition.target)
    if connection.is_lake:
        columns = tuple((field.column, field.type.sql) for field in fields)
        return lake_target(claimed, destination, columns, facilities)
    from dataflow.pipelines.postgres.making import (
        make_table_target,  # only those who write to it need its driver
    )

    return make_table_target(connection, definition, fields, destination, facilities.streams)
