"""Turns the bytes of a part file of any kind into batches of a field mapping."""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

import pyarrow as pa

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.pipelines.shape.columns import ColumnForm, ShapedColumn
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.json_rows import JsonChunk, read_lines, read_page
from dataflow.pipelines.shape.shaped import ROW_CHARACTERS, Reject, Shaped, shown
from dataflow.pipelines.shape.sql_types import ColumnType
from dataflow.pipelines.shape.tables import TableChunk, read_csv, read_parquet

KINDS = ("page", "jsonl", "csv", "parquet")
BATCH_ROWS = 50_000


@record
class Shaper:
    """Shapes part files of one kind; picklable.

    `results_key` is the dotted path to the list of rows in a page; empty when the page itself is the list.
    `uuid_as_bytes` makes batches for COPY, in which a bare numeric also keeps every digit of the source.
    """

    fields: tuple[Field, ...]
    results_key: str = "results"
    kind: str = "page"
    uuid_as_bytes: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        types = {field.column: self._type_of(field).arrow_type(self.uuid_as_bytes) for field in self.fields}
        return pa.schema(types)

    def _type_of(self, field: Field) -> ColumnType:
        return field.type.exact if self.uuid_as_bytes else field.type

    def shape(self, body: bytes | BinaryIO, part: int) -> Iterator[Shaped]:
        """Yield one or more Shaped per part, each of at most 50,000 rows; raises BadInput if unreadable.

        A page is read whole; of other kinds only the current rows are in memory.
        """
        forms = [ColumnForm(self._type_of(field), self.uuid_as_bytes) for field in self.fields]
        try:
            chunks = self._read(io.BytesIO(body) if isinstance(body, bytes) else body)
            while (shaped := self._shape_next(chunks, forms, part)) is not None:
                yield shaped
        except BadInput as error:
            raise BadInput(f"part {part} {error}") from error

    def _shape_next(
        self, chunks: Iterator[JsonChunk | TableChunk], forms: list[ColumnForm], part: int
    ) -> Shaped | None:
        with _no_garbage_collection():
            chunk = next(chunks, None)
            return None if chunk is None else self._finish(chunk, chunk.columns(self.fields, forms), part)

    def _read(self, file: BinaryIO) -> Iterator[JsonChunk | TableChunk]:
        match self.kind:
            case "page":
                return read_page(file.read(), self.results_key, BATCH_ROWS, self.fields)
            case "jsonl":
                return read_lines(file, BATCH_ROWS)
            case "csv":
                return read_csv(file, BATCH_ROWS)
            case "parquet":
                return read_parquet(file, BATCH_ROWS)
        raise BadInput(f"has unknown kind {self.kind!r}; use one of {', '.join(KINDS)}")

    def _finish(self, chunk: JsonChunk | TableChunk, columns: list[ShapedColumn], part: int) -> Shaped:
        batch = pa.RecordBatch.from_arrays([column.array for column in columns], schema=self.schema)
        rejects = [
            Reject(part, bad.row, "", shown(bad.value), bad.reason, shown(bad.value, ROW_CHARACTERS))
            for bad in chunk.bad_rows
        ]
        unfit = {place for column in columns for place in column.reasons}
        key_first = sorted(self.fields, key=lambda field: not field.primary_key)
        rows = {place: shown(chunk.row_at(place, key_first), ROW_CHARACTERS) for place in unfit}
        for field, column in zip(self.fields, columns, strict=True):
            rejects += [
                Reject(
                    *(part, chunk.numbers[place], field.source),
                    *(shown(column.values[place]), reason, rows[place]),
                )
                for place, reason in column.reasons.items()
            ]
        if unfit:
            batch = batch.filter(
                pa.array([place not in unfit for place in range(batch.num_rows)], pa.bool_())
            )
        rejects.sort(key=lambda reject: reject.row)
        missing = {f.source: c.missing for f, c in zip(self.fields, columns, strict=True) if c.missing}
        new = chunk.list_new(self.fields)
        return Shaped(batch, tuple(rejects), tuple(missing.items()), new, chunk.rows_read)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause garbage collection, which would visit thousands of new objects: a fifth of a page's time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
