"""Creates PostgreSQL targets and sources from definitions; sends nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dataflow.model.records import VIEW
from dataflow.model.url_text import percent_encode, split_server
from dataflow.pipelines.declare.settings import Connection, PipelineSettings
from dataflow.pipelines.declare.sources import TableSource
from dataflow.pipelines.handover.records import Destination, Part
from dataflow.pipelines.postgres.native_views import list_columns
from dataflow.pipelines.postgres.table import Column, DatabaseLogin, Options, Table
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
    options = Options(
        definition.write, definition.kind == VIEW, definition.partition_column, copy_tasks=streams
    )
    return PostgresTarget(connect_to(plan.target), table, destination, options)


def make_native_view(plan: IntervalPlan, destination: Destination) -> PostgresTarget:
    """The table or plain view of one interval that the database itself computes."""
    connection, schema = connect_to(plan.target), plan.definition.schema
    columns = list_columns(connection, schema, plan.select)
    table = Table(schema, plan.definition.table_of(plan.dataid), columns)
    return PostgresTarget(connection, table, destination, Options(whole_table=True))


def read_table(
    source: TableSource, folder: str, settings: PipelineSettings, stop: threading.Event | None = None
) -> Iterator[Part]:
    """The rows of a table or query from one snapshot, as part files in that folder, until `stop` is set."""
    connection = connect_to(settings.get_connection(source.connection))
    return PostgresSource(connection, source.schema, source.table, source.query, source.split_column).read(
        folder, stop
    )


def connect_to(setting: Connection) -> DatabaseLogin:
    """The connection with its password in the URL, as the driver expects it; never shown."""
    if setting.password is None:
        return DatabaseLogin(setting.name, setting.url)
    scheme, _, rest = setting.url.partition("://")
    authority, path, query = split_server(rest)
    user, _, hosts = authority.rpartition("@")
    # Add the @ even without a user: otherwise the password is parsed as host and port, and shown in errors.
    given = f"{user}:{percent_encode(setting.password)}@"
    url = f"{scheme}://{given}{hosts}{path}{'?' + query if query else ''}"
    return DatabaseLogin(setting.name, url)
