"""Checks that pipelines can publish to their targets, from their definitions and the connections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dataflow.errors import BadInput, ConfigError
from dataflow.model.records import DATASET, VIEW
from dataflow.pipelines.declare import bases

if TYPE_CHECKING:
    from dataflow.pipelines.declare.catalog import Definition
    from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
    from dataflow.pipelines.declare.settings import Connection, PipelineSettings

TABLES_ONLY = ("write", "indexes", "partition_column")
"""Attributes that a dataset in a lake cannot have; a comment is ignored."""


def get_place_of(definition: Definition, settings: PipelineSettings) -> Connection:
    """The connection a pipeline writes to; ConfigError with file and line if it is unknown."""
    try:
        return settings.get_place(definition.target)
    except ConfigError as error:
        raise ConfigError(f"{definition.place}: {definition.job}: {error}") from error


def refuse_misplaced(definitions: Iterable[Definition], settings: PipelineSettings) -> None:
    """Raises BadInput for a pipeline that can never run because of where its datasets are.

    The definitions must include what views read.
    """
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
    place, where = get_place_of(definition, settings), f"{definition.place}: {definition.job}"
    for name in TABLES_ONLY if place.is_lake else ():
        if getattr(definition, name) != getattr(bases.DatasetPipeline, name):
            raise BadInput(
                f"{where}.{name} applies only to a database table, but {definition.dataset} goes to "
                f"{place.name}, a lake, where each version has its own folder. Remove it, or "
                "set target_db to a database."
            )
    columns = [field.column for field in definition.fields]
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
                f"{definition.place}: {definition.job}: materialized = False creates a view in the database "
                f"of its datasets, but they are in a lake: {listed}. Remove materialized, or set target_db "
                "of the datasets to a database."
            )
    elif {place.name for place in places.values()} != {definition.target}:
        raise BadInput(
            f"{definition.place}: {definition.job} reads {listed}, but its result goes to "
            f"{definition.target}. A database computes the views of its tables: everything such a view "
            "reads, and its result, must be there. Change target_db of the view, or of what it reads."
        )


_RULES: dict[str, Any] = {VIEW: _refuse_scattered, DATASET: _refuse_unsuited}
