"""Encodes Arrow batches for binary COPY, and decides which Arrow type goes into which column.

Types that binary COPY cannot get from Arrow are staged as text and cast by the server at publish.
"""

from __future__ import annotations

import functools
import re
import uuid

import pgpq
import pyarrow as pa
import pyarrow.compute as pc
from pgpq import encoders
from pgpq import schema as pg

from dataflow.errors import BadInput, InvalidRows
from dataflow.pipelines.postgres.table import ATTEMPT, Column
from dataflow.pipelines.shape.sql_types import parse_sql_type

NO_UUID = "0" * 32  # placeholder for NULL
UUID_TEXT = re.compile(r"(?P<open>\{)?[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7}(?(open)\})")
"""PostgreSQL's input format: optional hyphen after any four digits, optional braces."""

# Types that a mapping cannot name, but a query of the database can return.
UNMAPPED = {"bytea": pa.binary(), "time": pa.time64("us"), "time without time zone": pa.time64("us")}
# An array states the type of its elements, and pgpq does not support the others.
ELEMENTS = (pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_())


@functools.cache
def find_copied_type(sql_type: str) -> pa.DataType | None:
    """The Arrow type of what binary COPY gets for this type; None if that is text."""
    text = re.sub(r"\btime(stamp(tz)?)? ?\( ?\d ?\)", r"time\1", sql_type.strip().lower())
    if text in UNMAPPED:
        return UNMAPPED[text]
    try:
        kind = parse_sql_type(text)
    except BadInput:
        return None
    if kind.element is not None:
        return kind.arrow if kind.element.name == "text" or kind.element.arrow in ELEMENTS else None
    # A numeric without precision keeps the digits of each value, which no Arrow type does.
    return None if kind.sql == "numeric" else kind.arrow_type(uuid_as_bytes=True)


def staged_type(column: Column) -> str:
    """The column's type in staging: its own, or text where the server has to cast."""
    if find_copied_type(column.sql_type) is not None:
        return column.sql_type
    return "text[]" if "[" in column.sql_type else "text"


def is_cast(column: Column) -> bool:
    """True if the staged value is text that publishing casts."""
    return staged_type(column) != column.sql_type


def fit(batch: pa.RecordBatch, columns: tuple[Column, ...], attempt: int) -> pa.RecordBatch:
    """The batch in the columns' Arrow types, plus `_attempt`; InvalidRows where a value would change."""
    names = [column.name for column in columns]
    if batch.schema.names != names:
        raise InvalidRows(f"A batch has the columns {batch.schema.names}, but the table has {names}.")
    arrays = [_fit(array, column) for array, column in zip(batch.columns, columns, strict=True)]
    arrays.append(pa.repeat(pa.scalar(attempt, pa.int64()), batch.num_rows))
    return pa.record_batch(arrays, names=[*names, ATTEMPT])


def make_encoder(schema: pa.Schema, columns: tuple[Column, ...]) -> pgpq.ArrowToPostgresBinaryEncoder:
    """The encoder for batches made by `fit`."""
    made = {field.name: pgpq.ArrowToPostgresBinaryEncoder.infer_encoder(field) for field in schema}
    for column in columns:
        if column.sql_type.strip().lower() == "jsonb":
            field = schema.field(column.name)
            made[column.name] = encoders.StringEncoderBuilder.new_with_output(field, pg.Jsonb())
    return pgpq.ArrowToPostgresBinaryEncoder.new_with_encoders(schema, made)


def _fit(array: pa.Array, column: Column) -> pa.Array:
    text = pa.list_(pa.string()) if "[" in column.sql_type else pa.string()
    wanted = find_copied_type(column.sql_type) or text
    if array.type == wanted:
        return array
    try:
        if wanted == pa.binary(16) and not pa.types.is_binary(array.type):
            return _uuids(array)
        return array.cast(wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise InvalidRows(
            f"Column {column.name} ({column.sql_type}) cannot hold {array.type}: {error}", str(error)
        ) from error


def _uuids(array: pa.Array) -> pa.Array:
    """uuid strings as bytes: Arrow has no cast for this."""
    texts = array.cast(pa.string())
    digits = pc.replace_substring(texts.fill_null(NO_UUID) if texts.null_count else texts, "-", "")
    if pc.min_max(pc.binary_length(digits)).as_py() == {"min": 32, "max": 32}:
        # All at once, in an eighth of the time. The result of an Arrow function starts at its buffer's start.
        made = bytes.fromhex(digits.buffers()[2].to_pybytes().decode("ascii", "replace"))
        if len(made) == 16 * len(texts):  # fromhex ignores spaces
            buffers = [None, pa.py_buffer(made)]
            found = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), len(texts), buffers)
            return pc.if_else(texts.is_valid(), found, None) if texts.null_count else found
    found = [None if text is None else _uuid(text) for text in texts.to_pylist()]
    return pa.array(found, pa.binary(16))


def _uuid(text: str) -> bytes:
    if not UUID_TEXT.fullmatch(text):  # Python's own parser ignores spaces and underscores
        raise ValueError(f"{text!r} is not a uuid")
    return uuid.UUID(text).bytes
