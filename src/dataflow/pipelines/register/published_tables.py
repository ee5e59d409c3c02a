"""The PostgreSQL tables that hold a published dataset. Needs no driver until one is read."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence

from dataflow.errors import BadInput
from dataflow.model.location import Location
from dataflow.model.records import Dataset
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.handover.published_table import PARTITION_COLUMN, PublishedTable, interval_table
from dataflow.pipelines.lake.manifest import Frame
from dataflow.pipelines.lake.published_files import is_view
from dataflow.store.store import Store


def get_partition_column(dataset: Dataset) -> str:
    """The column of its table that holds the dataid of each row; "" if there is none."""
    return dict(dataset.options).get(PARTITION_COLUMN, "")


def list_tables(
    store: Store,
    dataset_id: int,
    dataset: Dataset,
    chunks: Iterable[tuple[str, str]],
    shows_dataid: bool = False,
) -> tuple[PublishedTable, ...]:
    """The tables that hold these chunks, each given by its dataid and published location."""
    are_intervals = is_view(store, dataset_id)
    store_id = store.read.get_store_id()
    runs: dict[tuple[str, str, str], list[tuple[str, int]]] = {}
    for dataid, location in chunks:
        connection, schema, name, run_id = _read_place(dataset, dataid, location)
        name = interval_table(name, dataid) if are_intervals else name
        runs.setdefault((connection, schema, name), []).append((dataid, run_id))
    column = get_partition_column(dataset)
    return tuple(
        PublishedTable(dataset.name, store_id, *place, tuple(found), column, are_intervals, shows_dataid)
        for place, found in runs.items()
    )


def read_tables(
    tables: Sequence[PublishedTable],
    settings: PipelineSettings,
    folder: str,
    stop: threading.Event | None = None,
) -> list[Frame]:
    """The rows of each table as files in that folder; tables of one connection are read in one snapshot.

    InputMoved if a table does not hold what the store recorded as published.
    """
    from dataflow.pipelines.postgres.published import read_published  # only databases need the driver

    found: dict[PublishedTable, Frame] = {}
    for number, connection in enumerate(dict.fromkeys(table.connection for table in tables)):
        there = [table for table in tables if table.connection == connection]
        place = settings.get_connection(connection)
        into = os.path.join(folder, str(number))
        frames = read_published(place, there, into, stop or threading.Event())
        found |= zip(there, frames, strict=True)
    return [found[table] for table in tables]


def _read_place(dataset: Dataset, dataid: str, location: str) -> tuple[str, str, str, int]:
    found = Location(location)
    if found.run_id is None:
        raise BadInput(
            f"{dataset.name}/{dataid} is published at {location}, not in the table that {dataset.name} has "
            f"now. Publish it again; see: dataflow chunks {dataset.name}"
        )
    schema, name = dataset.schemaname, dataset.tablename
    if found.table != f"{schema}.{name}":  # the table had another name then
        schema, _, name = found.table.partition(".")
    return found.connection, schema, name, found.run_id
