"""The exact steps of one interval: the SQL it would run, the DDL of its table, its first request.

All of it is text: nothing is published, and a database is asked for nothing but the columns of a SELECT.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from dataflow.errors import BadInput, UnknownColumns
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import names_of, record
from dataflow.model.url_text import percent_encode
from dataflow.pipelines.declare.catalog import list_outputs
from dataflow.pipelines.declare.definitions import DatasetDefinition, JobDefinition, ViewDefinition
from dataflow.pipelines.declare.sources import Files, Http
from dataflow.pipelines.fetch.address import parse_address
from dataflow.pipelines.fetch.pagination import Offset, PageNumber
from dataflow.pipelines.handover.published_table import interval_table
from dataflow.pipelines.handover.records import Destination
from dataflow.pipelines.lake.manifest import Frame, Whole, put_together, read_frame
from dataflow.pipelines.register.intervals import Span, interval_of
from dataflow.pipelines.register.pipeline_jobs import dataset_of, location_of
from dataflow.pipelines.register.view_sql import native_select, view_select
from dataflow.pipelines.run.verdict import fields_of
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.sql.translation import Translated, translate

if TYPE_CHECKING:
    from dataflow.pipelines.declare.catalog import Catalog, Definition
    from dataflow.pipelines.run.facilities import Facilities
    from dataflow.pipelines.show.plan import PlannedInput

    Inputs = tuple[PlannedInput, ...]

UNKNOWN_COLUMNS = "-- its columns are known once there is something to read"


@record
class ViewSteps:
    """The SQL of one interval of a view on Spark, and the frames it would read that are published."""

    select: str
    translated: Translated
    frames: dict[str, Frame | Whole]


def view_steps(definition: ViewDefinition, span: Span, inputs: Inputs, catalog: Catalog) -> ViewSteps:
    """The view's SELECT in its own dialect and as Spark SQL; BadInput when what it reads is not known."""
    frames = {item.dataset: _open(item) for item in inputs if item.location}
    schema = {
        name: dict(frames[name].columns) if name in frames else _declared_columns(name, catalog)
        for name in definition.reads
    }
    select = view_select(definition, span, catalog.constants)
    translated = translate(select, definition.dialect, schema, f"{definition.place}: {definition.job}")
    return ViewSteps(select, translated, frames)


def _open(item: PlannedInput) -> Frame | Whole:
    if item.all_locations:
        return put_together(map(read_frame, reversed(item.all_locations)))
    return read_frame(item.location)


def is_native(definition: ViewDefinition, catalog: Catalog, facilities: Facilities) -> bool:
    """True when the database that has all of a view's datasets computes it."""
    targets = {_producer(name, catalog).target for name in definition.reads}
    return targets == {definition.target} and not facilities.settings.get_place(definition.target).is_lake


def describe_interval(
    definition: Definition, dataid: str, inputs: Inputs, catalog: Catalog, facilities: Facilities
) -> dict[str, Any]:
    """What a run of this interval would do, with no secret in it."""
    reads = {item.dataset: item.version or "nothing that covers it is published" for item in inputs}
    if isinstance(definition, JobDefinition):
        return {"dataid": dataid, "reads": reads}
    span = interval_of(definition.timing, dataid)
    found: dict[str, Any] = {"dataid": dataid, "start": span.start.isoformat(), "end": span.end.isoformat()}
    place = facilities.settings.get_place(definition.target)
    found["location"] = _location(definition, dataid, facilities)
    if isinstance(definition, DatasetDefinition):
        found["source"] = _first_step(definition, dataid, span, facilities)
        fields = None if definition.has_others else definition.fields
        return found if place.is_lake else found | {"ddl": _table_ddl(definition, fields, dataid, facilities)}
    found["reads"] = reads
    if is_native(definition, catalog, facilities):
        select = native_select(definition, span, catalog.constants, dataid)
        ddl = _native_ddl(definition, select, dataid, inputs, facilities)
        return found | {"runs_on": definition.target, "select": select, "ddl": ddl}
    try:
        steps = view_steps(definition, span, inputs, catalog)
    except UnknownColumns as error:
        select = view_select(definition, span, catalog.constants)
        return found | {"runs_on": "spark", "note": str(error), "select": select}
    columns = steps.translated.columns
    found |= {"runs_on": "spark", "columns": dict(columns), "select": steps.select}
    found["spark_sql"] = steps.translated.sql
    fields = fields_of(columns) if columns else None
    return found if place.is_lake else found | {"ddl": _table_ddl(definition, fields, dataid, facilities)}


def first_position(source: Http) -> str | int:
    """Where a source's pages begin."""
    pages = source.pages
    return pages.position(0, 0) if isinstance(pages, PageNumber | Offset) else ""


def describe_pages(source: Http) -> str:
    """How a source is cut into pages, as a project would write it."""
    plain = type(source.pages)()
    changed = [
        f"{name}={getattr(source.pages, name)!r}"
        for name in names_of(source.pages)
        if getattr(source.pages, name) != getattr(plain, name)
    ]
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(source.pages).__name__).lower()
    return f"{kind}({', '.join(changed)})"


def _location(definition: DatasetDefinition | ViewDefinition, dataid: str, facilities: Facilities) -> str:
    """Where the result would be; only the run's number is not known."""
    place = facilities.settings.get_place(definition.target)
    if isinstance(definition, ViewDefinition) and not place.is_lake:
        table = interval_table(definition.dataset, dataid)
        return f"postgresql://{place.name}/{definition.schema}.{table}?run={{run_id}}"
    text = location_of(definition, place)
    return text.replace("{dataset}", definition.dataset).replace("{encoded_dataid}", percent_encode(dataid))


def _producer(dataset: str, catalog: Catalog) -> Definition:
    for definition in catalog.definitions.values():
        if dataset in list_outputs(definition):
            return definition
    raise BadInput(f"There is no pipeline for {dataset}. See: dataflow pipeline list")


def _declared_columns(dataset: str, catalog: Catalog) -> dict[str, str]:
    """The columns of a dataset that is not published yet, from its mapping."""
    definition = _producer(dataset, catalog)
    if not isinstance(definition, DatasetDefinition) or definition.has_others:
        raise UnknownColumns(
            f"Nothing of {dataset} that covers this interval is published, so its columns are not known. "
            f"Run it first: dataflow run {definition.job}"
        )
    return {field.column: field.type.sql for field in definition.fields}


def _first_step(
    definition: DatasetDefinition, dataid: str, span: Span, facilities: Facilities
) -> dict[str, Any]:
    source = definition.source
    if isinstance(source, Files):
        path = source.path.replace("{dataid}", dataid)
        return {"files": os.path.join(facilities.config.project_dir, path)}
    staging = os.path.join(facilities.staging_of(definition.job, dataid), "{run_id}")
    if isinstance(source, Http):
        address = parse_address(source.url_of(dataid, (span.start, span.end)))
        first = source.pages.locate(address, first_position(source))
        return {"first_url": str(first), "pagination": describe_pages(source), "staging": staging}
    read = source.query or f"{source.schema}.{source.table}"
    return {"connection": source.connection, "reads": read, "staging": staging}


def _table_ddl(
    definition: DatasetDefinition | ViewDefinition,
    fields: tuple[Field, ...] | None,
    dataid: str,
    facilities: Facilities,
) -> list[str]:
    from dataflow.pipelines.register import databases  # only those who write to it need its driver

    if fields is None:
        return [UNKNOWN_COLUMNS]
    place = facilities.settings.get_place(definition.target)
    destination = _destination(definition, dataid, facilities)
    if isinstance(definition, ViewDefinition):
        return _list_ddl(databases.make_view_target(place, definition, fields, destination, 1))
    return _list_ddl(databases.make_table_target(place, definition, fields, destination, 1))


def _native_ddl(
    definition: ViewDefinition, select: str, dataid: str, inputs: Inputs, facilities: Facilities
) -> list[str]:
    from dataflow.pipelines.register import databases  # only those who write to it need its driver

    if not definition.materialized:
        name = interval_table(definition.dataset, dataid)
        return [f"create or replace view {quoted_name(definition.schema)}.{quoted_name(name)} as {select}"]
    if not all(item.location for item in inputs):
        return [UNKNOWN_COLUMNS]
    setting = facilities.settings.get_connection(definition.target)
    destination = _destination(definition, dataid, facilities)
    return _list_ddl(databases.make_native_view(setting, definition, select, destination))


def _destination(
    definition: DatasetDefinition | ViewDefinition, dataid: str, facilities: Facilities
) -> Destination:
    dataset = dataset_of(definition, facilities.settings.get_place(definition.target))
    return Destination(dataset.name, dataid, sort_key(dataid, Grain(dataset.grain)), 0, dataset.mode)


def _list_ddl(target: Any) -> list[str]:
    from dataflow.pipelines.postgres import ddl

    recorder: Any = _Recorder()
    ddl.create_table(recorder, target.table, target.partition)
    ddl.add_constraints(recorder, target.table, target.partition)
    ddl.add_indexes(recorder, target.table, target.partition)
    ddl.add_comment(recorder, target.table)
    statements: list[str] = recorder.statements
    return statements


class _Recorder:
    """Takes statements as a session of the target would, and keeps their text."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def execute(self, statement: Any) -> None:
        self.statements.append(statement.as_string(None))


def quoted_name(name: str) -> str:
    """A name as PostgreSQL takes any of them."""
    return '"' + name.replace('"', '""') + '"'
