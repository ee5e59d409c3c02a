"""Creates PostgreSQL targets and sources from definitions; sends nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dataflow.model.records import VIEW
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.declare.sources import TableSource
from dataflow.pipelines.handover.records import Destination, Part
from dataflow.pipelines.postgres.native_views import list_columns
from dataflow.pipelines.postgres.table import Column, Options, Table
from dataflow.pipelines.postgres.table_source import PostgresSource
from dataflow.pipelines.postgres.table_target import PostgresTarget
from dataflow.pipelines.shape.fields import Field

if TYPE_CHECKING:
    from dataflow.pipelines.register.interval_plan import IntervalPlan


def make_target(
    plan: IntervalPlan, fields: tuple[Field, ...], destination: Destination, streams: int = 1
) -> PostgresTarget:
    """The table of a dataset pipeline, or of one interval of a view pipeline."""
    definition = plan.definition
    columns = tuple(
        Column(field.column, field.type.ddl, field.not_null, field.primary_key, field.unique)
        for field in fields
    )
    name = definition.table_of(plan.dataid)
    table = Table(definition.schema, name, columns, definition.indexes, definition.comment)
    is_view = definition.kind == VIEW
    options = Options(definition.write, is_view, definition.partition_column, copy_tasks=streams)
    return PostgresTarget(plan.target, table, destination, options)


def make_native_view(plan: IntervalPlan, destination: Destination) -> PostgresTarget:
    """The table or plain view of one interval that the database itself computes."""
    schema = plan.definition.schema
    columns = list_columns(plan.target, schema, plan.select)
    table = Table(schema, plan.definition.table_of(plan.dataid), columns)
    return PostgresTarget(plan.target, table, destination, Options(whole_table=True))


def read_table(
    source: TableSource, folder: str, settings: PipelineSettings, stop: threading.Event | None = None
) -> Iterator[Part]:
    """The rows of a table or query from one snapshot, as part files in that folder, until `stop` is set."""
    connection = settings.get_connection(source.connection)
    found = PostgresSource(connection, source.schema, source.table, source.query, source.split_column)
    return found.read(folder, stop)
