"""Rows from files with columns: CSV, which is all text, and Parquet, which is typed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from itertools import count, islice
from typing import Any, BinaryIO
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from dataflow.errors import BadInput
from dataflow.model.wording import quoted
from dataflow.pipelines.shape.columns import ColumnForm, ShapedColumn, convert_strictly, find_plain
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.json_text import Number
from dataflow.pipelines.shape.shaped import BadRow

_BLOCK_BYTES = 4 << 20
_FAMILIES = (
    pa.types.is_integer,
    pa.types.is_decimal,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_timestamp,
)


class TableChunk:
    """Some rows of a part as an Arrow batch."""

    def __init__(
        self, batch: pa.RecordBatch, numbers: Sequence[int], bad_rows: list[BadRow], is_text: bool
    ) -> None:
        self.numbers = numbers
        self.bad_rows = bad_rows
        self.rows_read = len(numbers) + len(bad_rows)
        self._batch = batch
        self._is_text = is_text

    def columns(self, fields: Sequence[Field], forms: Sequence[ColumnForm]) -> list[ShapedColumn]:
        """One column per field, all for the rows listed in `numbers`."""
        return [self._column(field, form) for field, form in zip(fields, forms, strict=True)]

    def list_new(self, fields: Sequence[Field]) -> tuple[str, ...]:
        """The columns of the file that no field uses."""
        known = {field.source for field in fields} | {field.path[0] for field in fields}
        return tuple(sorted(set(self._batch.schema.names) - known))

    def row_at(self, place: int, fields: Sequence[Field]) -> dict[str, Any]:
        """The fields of one row, by their source names; missing ones are left out."""
        columns = {field.source: _find_column(self._batch, field) for field in fields}
        return {
            name: _plain_value(column[place].as_py())
            for name, column in columns.items()
            if column is not None
        }

    def _column(self, field: Field, form: ColumnForm) -> ShapedColumn:
        found = _find_column(self._batch, field)
        if found is None:
            return ShapedColumn(pa.nulls(len(self.numbers), form.arrow), {}, [], len(self.numbers))
        cast = None if self._is_text else _find_cast(found, form)
        if cast is not None:
            return ShapedColumn(cast, {}, [], 0)
        form = ColumnForm(form.type, form.uuid_as_bytes, source_is_text=self._is_text)
        values = [_plain_value(value) for value in found.to_pylist()]
        # Not for json: it may hold NaN here, which a JSON source could not contain.
        array = None if form.type.name in ("json", "jsonb") else find_plain(form, values, lambda: True)
        if array is not None:
            return ShapedColumn(array, {}, values, 0)
        return ShapedColumn(*convert_strictly(form, values), values, 0)


def read_csv(file: BinaryIO, limit: int) -> Iterator[TableChunk]:
    """The rows of a CSV file with a header; an empty field is NULL unless it is in quotes."""
    bad: list[BadRow] = []
    skipped: set[int] = set()

    def remember(row: Any) -> str:
        reason = f"has {row.actual_columns} fields, the header has {row.expected_columns}"
        bad.append(BadRow(row.number - 1, row.text, reason))
        skipped.add(row.number - 1)
        return "skip"

    # Lazy on purpose: the bad rows before a batch are known once the batch is read.
    numbers = (number for number in count(1) if number not in skipped)
    told = 0
    try:
        for batch in _open_csv(file, remember):
            for start in range(0, batch.num_rows or 1, limit):
                piece = batch.slice(start, limit)
                yield TableChunk(piece, list(islice(numbers, piece.num_rows)), bad[told:], is_text=True)
                told = len(bad)
    except pa.ArrowInvalid as error:
        raise BadInput(f"is not CSV in UTF-8 with a header: {error}") from error


def read_parquet(content: BinaryIO, limit: int) -> Iterator[TableChunk]:
    """The rows of a Parquet file."""
    try:
        file = pq.ParquetFile(content, pre_buffer=False)  # otherwise all row groups would be read ahead
        done = 0
        for batch in file.iter_batches(limit, use_threads=False):
            yield TableChunk(batch, range(done + 1, done + batch.num_rows + 1), [], is_text=False)
            done += batch.num_rows
        if not done:
            yield TableChunk(pa.RecordBatch.from_pylist([], schema=file.schema_arrow), (), [], is_text=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInput(f"is not a complete Parquet file: {error}") from error


def _open_csv(file: BinaryIO, remember: Any) -> Iterator[pa.RecordBatch]:
    names = _read_header(file.readline())
    file.seek(0)
    reader = pa_csv.open_csv(
        file,
        read_options=pa_csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True, invalid_row_handler=remember),
        convert_options=pa_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    with reader:
        seen = False
        for batch in reader:
            seen = True
            yield batch
        if not seen:
            yield pa.RecordBatch.from_pylist([], schema=reader.schema)


def _read_header(line: bytes) -> list[str]:
    reader = pa_csv.open_csv(pa.BufferReader(line), read_options=pa_csv.ReadOptions(use_threads=False))
    names: list[str] = reader.schema.names
    twins = {name for name in names if names.count(name) > 1}
    if twins:
        raise BadInput(f"has the column {quoted(min(twins))} twice in its header")
    return names


def _find_column(batch: pa.RecordBatch, field: Field) -> pa.Array | None:
    if field.source in batch.schema.names:
        return batch.column(field.source)
    steps = field.path
    if steps[0] not in batch.schema.names:
        return None
    found = batch.column(steps[0])
    for step in steps[1:]:
        if not pa.types.is_struct(found.type) or found.type.get_field_index(step) < 0:
            return None
        found = pc.struct_field(found, step)
    return found


def _find_cast(values: pa.Array, form: ColumnForm) -> pa.Array | None:
    """A cast within one family of types, where Arrow's safe cast rejects any change of a value."""
    if not any(belongs(values.type) and belongs(form.arrow) for belongs in _FAMILIES):
        return None
    if pa.types.is_decimal(form.arrow) and values.type.scale < form.arrow.scale:
        return None  # rescaling may overflow silently
    try:
        return values.cast(form.arrow)
    except pa.ArrowInvalid:
        return None


def _plain_value(value: Any) -> Any:
    """Parquet values as JSON would represent them."""
    if isinstance(value, list):
        return [_plain_value(element) for element in value]
    if isinstance(value, dict):
        return {key: _plain_value(element) for key, element in value.items()}
    if isinstance(value, Decimal):
        return Number(value)
    if isinstance(value, date):
        return value.isoformat()
    return str(value) if isinstance(value, UUID) else value
