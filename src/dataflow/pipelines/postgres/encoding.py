"""Encodes Arrow batches for binary COPY, and decides which Arrow type goes into which column.

Types that binary COPY cannot get from Arrow are staged as text and cast by the server at publish.
"""

from __future__ import annotations

import re
import uuid

import pgpq
import pyarrow as pa
import pyarrow.compute as pc
from pgpq import encoders
from pgpq import schema as pg

from dataflow.errors import InvalidRows
from dataflow.pipelines.postgres.table import ATTEMPT, Column

MOST_DIGITS = 38  # of a decimal128
NO_UUID = "0" * 32  # placeholder for NULL
UUID_TEXT = re.compile(r"(?P<open>\{)?[0-9a-fA-F]{4}(-?[0-9a-fA-F]{4}){7}(?(open)\})")
"""PostgreSQL's input format: optional hyphen after any four digits, optional braces."""

ARROW_TYPES: dict[str, pa.DataType] = {
    **dict.fromkeys(("smallint", "int2"), pa.int16()),
    **dict.fromkeys(("integer", "int", "int4"), pa.int32()),
    **dict.fromkeys(("bigint", "int8"), pa.int64()),
    **dict.fromkeys(("real", "float4"), pa.float32()),
    **dict.fromkeys(("double precision", "float8", "float"), pa.float64()),
    **dict.fromkeys(("boolean", "bool"), pa.bool_()),
    **dict.fromkeys(("text", "varchar", "character varying", "char", "character"), pa.string()),
    **dict.fromkeys(("json", "jsonb"), pa.string()),
    **dict.fromkeys(("timestamp with time zone", "timestamptz"), pa.timestamp("us", "UTC")),
    **dict.fromkeys(("timestamp without time zone", "timestamp"), pa.timestamp("us")),
    **dict.fromkeys(("time without time zone", "time"), pa.time64("us")),
    "date": pa.date32(),
    "uuid": pa.binary(16),
    "bytea": pa.binary(),
}
# An array states the type of its elements, and pgpq does not support the others.
ELEMENTS = (pa.int16(), pa.int32(), pa.int64(), pa.float32(), pa.float64(), pa.bool_())
NUMERIC = ("numeric", "decimal")


def staged_type(column: Column) -> str:
    """The column's type in staging: its own, or text where the server has to cast."""
    base, arguments, is_array = _parse(column.sql_type)
    if is_array:
        return column.sql_type if _has_plain_elements(base) else "text[]"
    # A numeric without precision keeps the digits of each value, which no Arrow type does.
    return column.sql_type if base in ARROW_TYPES or (base in NUMERIC and arguments) else "text"


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
        if _parse(column.sql_type)[0] == "jsonb" and not is_cast(column):
            field = schema.field(column.name)
            made[column.name] = encoders.StringEncoderBuilder.new_with_output(field, pg.Jsonb())
    return pgpq.ArrowToPostgresBinaryEncoder.new_with_encoders(schema, made)


def _fit(array: pa.Array, column: Column) -> pa.Array:
    wanted = _arrow_type(column)
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


def _arrow_type(column: Column) -> pa.DataType:
    base, arguments, is_array = _parse(column.sql_type)
    if is_array:
        return pa.list_(ARROW_TYPES[base] if _has_plain_elements(base) else pa.string())
    if base in NUMERIC and arguments:
        precision, scale = (*arguments, 0)[:2]
        return pa.decimal128(min(precision, MOST_DIGITS), scale)
    return ARROW_TYPES.get(base, pa.string())


def _has_plain_elements(base: str) -> bool:
    return base == "text" or ARROW_TYPES.get(base) in ELEMENTS


def _uuids(array: pa.Array) -> pa.Array:
    """uuid strings as bytes: Arrow has no cast for this."""
    texts = array.cast(pa.string())
    digits = pc.replace_substring(texts.fill_null(NO_UUID) if texts.null_count else texts, "-", "")
    lengths = pc.min_max(pc.binary_length(digits)).as_py()
    if lengths == {"min": 32, "max": 32}:
        # All at once, in an eighth of the time. The result of an Arrow function starts at its buffer's start.
        made = bytes.fromhex(digits.buffers()[2].to_pybytes().decode("ascii", "replace"))
        if len(made) == 16 * len(texts):  # fromhex ignores spaces
            found = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(16), len(texts), [None, pa.py_buffer(made)]
            )
            return pc.if_else(texts.is_valid(), found, None) if texts.null_count else found
    found = [None if text is None else _uuid(text) for text in texts.to_pylist()]
    return pa.array(found, pa.binary(16))


def _uuid(text: str) -> bytes:
    if not UUID_TEXT.fullmatch(text):  # Python's own parser ignores spaces and underscores
        raise ValueError(f"{text!r} is not a uuid")
    return uuid.UUID(text).bytes


def _parse(sql_type: str) -> tuple[str, list[int], bool]:
    """Split `character varying (20) []` into base type, numbers and whether it is an array."""
    text = " ".join(sql_type.lower().split())
    numbers = re.search(r"\(([^)]*)\)", text)
    base = " ".join(re.sub(r"\([^)]*\)|\[ ?\]", " ", text).split())
    arguments = [int(number) for number in numbers[1].split(",")] if numbers else []
    return base, arguments, "[" in text
