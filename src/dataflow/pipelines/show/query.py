"""Runs one SELECT over published datasets by name, in the lake and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dataflow.actions.dataset_rules import is_automatic
from dataflow.actions.names import get_dataset
from dataflow.actions.next_commands import shell
from dataflow.errors import Conflict, InputMoved
from dataflow.model.location import Location
from dataflow.model.record import record
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.handover.published_table import PublishedTable
from dataflow.pipelines.lake.manifest import Frame, put_together
from dataflow.pipelines.lake.published_files import LakeChunk, locate
from dataflow.pipelines.register.published_tables import list_tables, read_tables
from dataflow.pipelines.spark.frames import fill_types, open_frame, open_whole, quoted
from dataflow.pipelines.spark.session import end_session, new_session
from dataflow.pipelines.sql.translation import translate
from dataflow.store.store import Store

if TYPE_CHECKING:
    from dataflow.pipelines.spark.annotations import SparkSession


@record
class Question:
    """A SELECT in Spark's dialect and the chunks and tables of the datasets it names."""

    sql: str
    chunks: dict[str, tuple[LakeChunk, ...]]
    tables: dict[str, tuple[PublishedTable, ...]]
    partitioned: frozenset[str]  # datasets of many chunks; each row has its dataid
    stale: tuple[str, ...]  # chunks that are left out


@record
class QueryResult:
    """Columns and rows; `is_whole` is False when there are more."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    is_whole: bool


def read_question(store: Store, sql: str, project_dir: str) -> Question:
    """Parses the statement and locates its datasets; BadInput unless it is one SELECT over datasets."""
    known = {one.name: one for one in store.read.list_datasets() if not is_automatic(one.name)}
    translated = translate(sql, "spark", {name: {} for name in known}, "query")
    chunks, tables, stale = {}, {}, []
    for name in translated.tables:
        left_out: tuple[str, ...]
        if Location(known[name].location).is_published_table:
            tables[name], left_out = _locate_tables(store, name)
        else:
            found = locate(store, name, project_dir)
            chunks[name], left_out = found.chunks, found.stale
        if left_out and not (chunks.get(name) or tables.get(name)):
            raise Conflict(
                f"All chunks of {name} are STALE: an input of each has a newer version. Recompute them, then "
                f"query again: {_next_command(store, name)}"
            )
        stale += [f"{name}/{dataid}" for dataid in left_out]
    partitioned = frozenset(
        name for name in translated.tables if known[name].mode == "partition" and not _is_merged(tables, name)
    )
    return Question(translated.sql, chunks, tables, partitioned, tuple(stale))


def fetch_tables(question: Question, settings: PipelineSettings, folder: str) -> dict[str, list[Frame]]:
    """The rows of the tables that the SELECT names, as files in that folder, newest chunk first.

    Conflict if a table has changed meanwhile, which is temporary.
    """
    tables = [table for found in question.tables.values() for table in found]
    try:
        frames = read_tables(tables, settings, folder)
    except InputMoved as error:
        raise Conflict(
            f"{error} Query again when the run that publishes it has finished; if there is none, "
            "publish it again. See: dataflow runs"
        ) from error
    by_table = dict(zip(tables, frames, strict=True))
    return {name: [by_table[each] for each in reversed(found)] for name, found in question.tables.items()}


def _next_command(store: Store, name: str) -> str:
    """The command that does the open work of a dataset's producer."""
    dataset_id, _ = get_dataset(store, name)
    producer = store.read.find_producer(dataset_id)
    return shell("dataflow", "run", producer, "--drain") if producer else shell("dataflow", "chunks", name)


def _locate_tables(store: Store, name: str) -> tuple[tuple[PublishedTable, ...], tuple[str, ...]]:
    """The tables of the ready chunks of a dataset, and the chunks left out."""
    dataset_id, dataset = get_dataset(store, name)
    if dataset.mode == "snapshot":
        newest = store.read.find_newest_ready(dataset_id)
        chunks = [newest] if newest else []
    else:
        chunks = store.read.list_published(dataset_id)
    ready = [(chunk.dataid, chunk.location) for chunk in chunks if not chunk.stale]
    return list_tables(store, dataset_id, dataset, ready, shows_dataid=True), tuple(
        chunk.dataid for chunk in chunks if chunk.stale
    )


def ask(
    session: SparkSession, question: Question, most: int, fetched: Mapping[str, list[Frame]] | None = None
) -> QueryResult:
    """The first rows of the result, in a separate session; `fetched` are the rows of tables."""
    child = new_session(session)
    try:
        frames = {
            name: [chunk.manifest.open(chunk.path) for chunk in reversed(chunks)]
            for name, chunks in question.chunks.items()
        }
        for name, found in {**frames, **(fetched or {})}.items():
            is_whole = name in question.partitioned or not found
            rows = open_whole(child, put_together(found)) if is_whole else open_frame(child, found[0])
            rows.createOrReplaceTempView(quoted(name))
        child.conf.set("spark.sql.runSQLOnFiles", "false")  # names refer to datasets, never to files
        answer = child.sql(question.sql)
        table = fill_types(answer.limit(most + 1)).toArrow()
        columns = [column.to_pylist() for column in table.slice(0, most).columns]
        rows_shown = list(zip(*columns, strict=True)) if columns else []
        return QueryResult(tuple(answer.columns), rows_shown, table.num_rows <= most)
    finally:
        end_session(child)


def _is_merged(tables: Mapping[str, tuple[PublishedTable, ...]], name: str) -> bool:
    """True for a table whose rows have no dataid."""
    return any(not table.partition_column and not table.is_interval for table in tables.get(name, ()))
