"""One question to the lake: a SELECT over published datasets by name. Nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dataflow.actions.dataset_rules import is_automatic
from dataflow.model.record import record
from dataflow.pipelines.lake.locating import LakeChunk, locate
from dataflow.pipelines.lake.manifest import Frame, put_together
from dataflow.pipelines.spark.frames import open_frame, open_whole, quoted
from dataflow.pipelines.spark.session import end_session, new_session
from dataflow.pipelines.sql.translation import translate

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dataflow.store.store import Store


@record
class Question:
    """A SELECT in Spark's dialect and the chunks of the datasets it names."""

    sql: str
    chunks: dict[str, tuple[LakeChunk, ...]]
    partitioned: frozenset[str]  # datasets of many chunks, whose rows say which one they are from
    stale: tuple[str, ...]  # chunks left out


@record
class Answer:
    """Columns and rows; `is_whole` is False when there are more."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    is_whole: bool


def read_question(store: Store, sql: str, project_dir: str) -> Question:
    """Reads the statement and finds the files it is about; BadInput unless it is one SELECT over the lake."""
    known = {dataset.name: dataset for dataset in store.list_datasets() if not is_automatic(dataset.name)}
    translated = translate(sql, "spark", {name: {} for name in known}, "query")
    chunks, stale = {}, []
    for name in translated.tables:
        found = locate(store, name, project_dir)
        chunks[name] = found.chunks
        stale += [f"{name}/{dataid}" for dataid in found.stale]
    partitioned = frozenset(name for name in translated.tables if known[name].mode == "partition")
    return Question(translated.sql, chunks, partitioned, tuple(stale))


def ask(session: SparkSession, question: Question, most: int) -> Answer:
    """The first so many rows of the answer, in a session of their own."""
    child = new_session(session)
    try:
        return _ask(child, question, most)
    finally:
        end_session(child)


def _ask(child: SparkSession, question: Question, most: int) -> Answer:
    for name, chunks in question.chunks.items():
        frames = [Frame(chunk.files, chunk.manifest.columns) for chunk in reversed(chunks)]
        if name in question.partitioned or not frames:
            rows = open_whole(child, put_together(frames))
        else:
            rows = open_frame(child, frames[0])
        rows.createOrReplaceTempView(quoted(name))
    child.conf.set("spark.sql.runSQLOnFiles", "false")  # a name is a dataset's, never a file's
    table = child.sql(question.sql).limit(most + 1).toArrow()
    columns = [column.to_pylist() for column in table.slice(0, most).columns]
    rows_shown = list(zip(*columns, strict=True)) if columns else []
    return Answer(tuple(table.column_names), rows_shown, table.num_rows <= most)
