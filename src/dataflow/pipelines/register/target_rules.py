"""Whether pipelines can be where they are to be, as their definitions and the connections tell."""

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
"""What a dataset in a lake cannot have; a comment does no harm."""


def get_place_of(definition: Definition, settings: PipelineSettings) -> Connection:
    """Where a pipeline's rows go; ConfigError naming its file and line if there is no such connection."""
    try:
        return settings.get_place(definition.target)
    except ConfigError as error:
        raise ConfigError(f"{definition.place}: {definition.job}: {error}") from error


def refuse_misplaced(definitions: Iterable[Definition], settings: PipelineSettings) -> None:
    """BadInput for a pipeline that could run for no interval, because of where its datasets are.

    What views read must be among the definitions.
    """
    known = list(definitions)
    makers = {name: definition for definition in known for name in definition.outputs}
    for definition in known:
        if rule := _RULES.get(definition.kind):
            rule(definition, makers, settings)


def find_misplaced(needed: Iterable[Definition], settings: PipelineSettings) -> str:
    """What `refuse_misplaced` would say; "" if nothing, or if a connection is not known here."""
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
    """A lake has no tables to add to, and a table no second column of one name."""
    place, where = get_place_of(definition, settings), f"{definition.place}: {definition.job}"
    for name in TABLES_ONLY if place.is_lake else ():
        if getattr(definition, name) != getattr(bases.DatasetPipeline, name):
            raise BadInput(
                f"{where}.{name} is about a table in a database, and {definition.dataset} goes to "
                f"{place.name}, a lake, where each version has a folder of its own. Take it out, or "
                "give a target_db that is a database."
            )
    columns = [field.column for field in definition.fields]
    if not place.is_lake and definition.mode == "partition" and definition.partition_column in columns:
        raise BadInput(
            f"{where}: {definition.partition_column} is a column of field_mapping, and in mode partition the "
            "one that DataFlow adds to the table. Name yours otherwise, or set partition_column."
        )


def _refuse_scattered(
    definition: ViewDefinition, makers: Mapping[str, Definition], settings: PipelineSettings
) -> None:
    """A database computes what it has all of, Spark what is in lakes; nobody reads both."""
    places = {name: get_place_of(makers[name], settings) for name in definition.reads}
    listed = ", ".join(f"{name} in {place.name}" for name, place in places.items())
    if all(place.is_lake for place in places.values()):
        if not definition.materialized:
            raise BadInput(
                f"{definition.place}: {definition.job}: materialized = False makes a view in the database of "
                f"its datasets, and they are in a lake: {listed}. Take materialized out, or give the "
                "datasets a target_db that is a database."
            )
    elif {place.name for place in places.values()} != {definition.target}:
        raise BadInput(
            f"{definition.place}: {definition.job} reads {listed}, and its result goes to "
            f"{definition.target}. The database that has a table computes its views: all that such a view "
            "reads, and its result, must be there. Change target_db of the view, or of what it reads."
        )


_RULES: dict[str, Any] = {VIEW: _refuse_scattered, DATASET: _refuse_unsuited}
