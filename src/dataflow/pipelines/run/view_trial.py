"""Checks that a view can be computed, from its SQL and the known columns; claims and runs nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast

from dataflow.actions.names import get_dataset
from dataflow.errors import BadInput, ConfigError
from dataflow.model.location import Location
from dataflow.model.mapping import LATEST
from dataflow.model.records import Dataset
from dataflow.pipelines.declare.catalog import Catalog, Definition
from dataflow.pipelines.declare.definitions import ViewDefinition
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.lake.manifest import Columns, Frame, put_together
from dataflow.pipelines.lake.published_files import locate
from dataflow.pipelines.register.interval_plan import goes_native, view_select
from dataflow.pipelines.register.spans import list_samples
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.sql.translation import translate
from dataflow.pipelines.sql.types import read_type
from dataflow.store.store import Store

Schema = Mapping[str, Mapping[str, str]]
Look = Callable[[str], None]

_ALL_COLUMNS = re.compile(r"(?:\b(?:select|distinct)|[,.])\s*\*", re.IGNORECASE)


def refuse_impossible(definition: ViewDefinition, facilities: Facilities) -> None:
    """Raises BadInput if the view cannot be computed for any interval from what is published now."""
    _try_out(definition, facilities.constants, _looking(definition, facilities))


def find_flaw(view: Definition, catalog: Catalog, settings: PipelineSettings) -> str:
    """Why a view can never run, judging by the project's files; "" if no reason is known."""
    definition = cast("ViewDefinition", view)
    look = _translating(definition, _find_declared(definition, catalog, settings))
    try:
        _try_out(definition, catalog.constants, look)
    except BadInput as error:
        return str(error)
    return ""


def _try_out(definition: ViewDefinition, constants: Mapping[str, object], look: Look) -> None:
    found = None
    for span in list_samples(definition.timing):
        try:
            look(view_select(definition, span, constants))
            return  # an error of some intervals only is reported by their runs
        except BadInput as error:
            found = found or error
    if found is not None:
        raise found


def _looking(definition: ViewDefinition, facilities: Facilities) -> Look:
    """A checker for a SELECT as the run executes it: in Spark, or in the database of its datasets."""
    if any(item.mapping != LATEST for item in definition.inputs):
        return _translating(definition, None)  # each interval has its own
    datasets = [get_dataset(facilities.store, name)[1] for name in definition.reads]
    is_native = goes_native(definition, [Location(one.location) for one in datasets])
    if definition.sql.dialect == "postgres" and is_native:
        from dataflow.pipelines.postgres.native_views import refuse_unknown_columns  # needs the driver

        connection = facilities.settings.get_connection(definition.target)
        return lambda select: refuse_unknown_columns(connection, definition.schema, select, definition.origin)
    found = _find_published(datasets, facilities.store, facilities.config.project_dir)
    return _translating(definition, found)


def _translating(definition: ViewDefinition, schema: Schema | None) -> Look:
    """Translates a SELECT if the columns it may use are known."""

    def look(select: str) -> None:
        if schema:
            translate(select, definition.sql.dialect, _without_unread(schema, select), definition.origin)

    return look


def _without_unread(schema: Schema, select: str) -> Schema:
    """The columns, without unsupported ones that the SELECT does not read."""
    if _ALL_COLUMNS.search(select):
        return schema
    words = set(re.findall(r"\w+", select.lower()))
    return {
        name: {
            column: kind
            for column, kind in columns.items()
            if _is_usable(kind) or words & set(re.findall(r"\w+", column.lower()))
        }
        for name, columns in schema.items()
    }


def _is_usable(kind: str) -> bool:
    try:
        read_type(kind)
    except BadInput:
        return False
    return True


def _find_published(datasets: list[Dataset], store: Store, project_dir: str) -> Schema | None:
    """The columns a run would read now; None if they are not known."""
    found = {}
    for dataset in datasets:
        try:
            is_in_lake = Location(dataset.location).is_manifest
            chunks = locate(store, dataset.name, project_dir).chunks if is_in_lake else ()
        except BadInput:
            return None  # a manifest is missing; the run itself reports it
        if not chunks:
            return None
        found[dataset.name] = _columns_of(dataset.mode, [one.manifest.columns for one in reversed(chunks)])
    return found


def _find_declared(definition: ViewDefinition, catalog: Catalog, settings: PipelineSettings) -> Schema | None:
    """The columns from the mappings of the datasets it reads; None if the mappings are incomplete."""
    found = {}
    for name in definition.reads:
        maker = catalog.find_maker(name)
        if maker is None or maker.declared_columns is None or not _is_lake(maker, settings):
            return None
        found[name] = _columns_of(maker.mode, [tuple(maker.declared_columns.items())])
    return found


def _columns_of(mode: str, chunks: list[Columns]) -> dict[str, str]:
    """The columns of a dataset from those of its chunks, newest first."""
    return dict(put_together(Frame((), one) for one in chunks).columns if mode == "partition" else chunks[0])


def _is_lake(maker: Definition, settings: PipelineSettings) -> bool:
    """True if a dataset has exactly the columns of its mapping; a table may have more."""
    try:
        return settings.get_place(maker.target).is_lake
    except ConfigError:
        return False  # the connection may be set where the pipeline runs
