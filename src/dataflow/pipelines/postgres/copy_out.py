"""Exports rows from PostgreSQL to Parquet part files: COPY as CSV, parsed by Arrow into the query's types.

Numbers without declared precision, uuid, json and unknown types arrive as text, arrays as lists of text.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from psycopg import sql
from psycopg.pq.abc import PGresult

from dataflow.errors import BadInput, InvalidRows
from dataflow.model.record import record
from dataflow.pipelines.handover.records import Part
from dataflow.pipelines.postgres.encoding import find_copied_type
from dataflow.pipelines.postgres.transactions import Session, fetch_named
from dataflow.private_files import open_private

BYTES_AT_ONCE = 8 * 1024 * 1024


@record
class CopiedColumn:
    """A column of the result, with PostgreSQL's name of its type."""

    name: str
    kind: str
    is_array: bool
    taken_as: pa.DataType | None = None  # its type in the part files, if it differs from its own
    taken_from: str = ""  # the column it is read from, if it has another name

    @property
    def arrow_type(self) -> pa.DataType:
        """Its type in the part files."""
        if self.taken_as is not None:
            return self.taken_as
        if self.is_array:
            return pa.list_(pa.string())
        found = find_copied_type(self.kind)
        return pa.string() if found is None or self.kind in ("uuid", "bytea") else found


@record
class PartWork:
    """A part file still to be written, with the statement and columns of its rows."""

    part: Part
    statement: sql.Composed
    fields: tuple[CopiedColumn, ...]


def describe(session: Session, query: str) -> tuple[CopiedColumn, ...]:
    """The columns of a query; BadInput unless it is a single statement that returns rows."""
    # Parsed alone, by the protocol that accepts one statement: it cannot close the parentheses around it.
    prepared = session.pgconn.prepare(b"", query.encode())
    described = session.pgconn.describe_prepared(b"") if not prepared.error_message else prepared
    if described.error_message:
        text = described.get_error_message().splitlines()[0].removeprefix("ERROR:").strip()
        raise BadInput(f"The query is invalid: {text}. It must be a single SELECT.")
    names = [(described.fname(place) or b"").decode() for place in range(described.nfields)]
    if not names or len(set(names)) < len(names):
        raise BadInput(f"The query must be a SELECT with unique column names, got {names}.")
    kinds = list_type_names(session, described)
    return tuple(CopiedColumn(name, *kind) for name, kind in zip(names, kinds, strict=True))


def list_type_names(session: Session, result: PGresult) -> list[tuple[str, bool]]:
    """The type of each column of a result, as PostgreSQL writes it, and whether it is an array."""
    places = range(result.nfields)
    kinds = [result.ftype(place) for place in places], [result.fmod(place) for place in places]
    return fetch_named(session, "catalogue.type_names", kinds)


def copy_part(session: Session, work: PartWork) -> Part:
    """Write the statement's rows to the part's file atomically; returns their number."""
    part, fields = work.part, work.fields
    schema = pa.schema([(field.name, field.arrow_type) for field in fields])
    unfinished = f"{part.path}.tmp"
    rows = 0
    with (
        open(unfinished, "wb", opener=open_private) as file,
        pa.parquet.ParquetWriter(file, schema, compression="zstd") as writer,
    ):
        for data in _blocks(session, sql.SQL("copy ({}) to stdout (format csv)").format(work.statement)):
            table = _parse(data, fields, schema)
            rows += table.num_rows
            writer.write_table(table)
    size = os.path.getsize(unfinished)
    os.replace(unfinished, part.path)
    return Part(part.number, part.path, rows, size)


def select_text(fields: tuple[CopiedColumn, ...]) -> sql.Composed:
    """The columns as copied: arrays as JSON, because CSV has no lists."""
    values = []
    for field in fields:
        name = sql.Identifier(field.taken_from or field.name)
        values.append(sql.SQL("to_json({}::text[])").format(name) if field.is_array else name)
    return sql.SQL(", ").join(values)


def _blocks(session: Session, statement: sql.Composed) -> Iterator[bytes]:
    """The copied bytes in pieces that end at a row's end: the server sends row by row."""
    rows: list[bytes] = []
    size = 0
    with session.cursor() as cursor, cursor.copy(statement) as copy:
        for row in copy:
            rows.append(bytes(row))
            size += len(row)
            if size >= BYTES_AT_ONCE:
                yield b"".join(rows)
                rows, size = [], 0
    if rows:
        yield b"".join(rows)


def _parse(data: bytes, fields: tuple[CopiedColumn, ...], schema: pa.Schema) -> pa.Table:
    texts = {field.name: pa.string() if field.is_array else field.arrow_type for field in fields}
    try:
        table = pa.csv.read_csv(
            io.BytesIO(data),
            pa.csv.ReadOptions(column_names=list(texts), use_threads=False, block_size=len(data) + 1),
            pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            pa.csv.ConvertOptions(
                column_types=texts,
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,  # "" is an empty string, nothing at all is NULL
                true_values=["t"],
                false_values=["f"],
            ),
        )
        columns = [
            _lists(table[field.name], field.arrow_type) if field.is_array else table[field.name]
            for field in fields
        ]
        return pa.table(columns, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidRows(f"A value of the source cannot be read: {error}") from error


def _lists(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    values = [None if text is None else json.loads(text) for text in texts.to_pylist()]
    return pa.array(values, pa.list_(pa.string())).cast(kind)
