"""Results of shaping: batches, rejected values, and differences between source and mapping."""

from __future__ import annotations

import pyarrow as pa

from dataflow.model.record import record
from dataflow.model.wording import shortened
from dataflow.pipelines.shape.json_text import to_json

_SHOWN_CHARACTERS = 200
_ROW_CHARACTERS = 1000


@record
class Reject:
    """A value that does not fit. `row` counts from 1 in the part; `field` is empty if the whole row is bad.

    `source_row` holds the row's mapped fields as JSON, its key first, shortened if very long.
    """

    part: int
    row: int
    field: str
    value: str
    reason: str
    source_row: str = ""


@record
class BadRow:
    """Not a row at all: a line that is not JSON, or a page element that is not an object."""

    row: int
    value: object
    reason: str


@record
class Shaped:
    """A batch of the rows that fit; rows with a reject are left out: rows_read - batch.num_rows of them.

    `missing` counts, by mapped source field, the rows that lack it; `new` lists unmapped keys of the rows.
    """

    batch: pa.RecordBatch
    rejects: tuple[Reject, ...]
    missing: tuple[tuple[str, int], ...]
    new: tuple[str, ...]
    rows_read: int


def shown_row(row: object) -> str:
    """A whole row as stored in a reject: at most 1,000 characters, storable as text anywhere."""
    return shown(row, _ROW_CHARACTERS)


def shown(value: object, most: int = _SHOWN_CHARACTERS) -> str:
    """A value as stored in a reject: at most 200 characters, storable as text anywhere."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = to_json(value).decode()
        except TypeError:
            text = str(value)
    return shortened(text, most).encode("utf-8", "replace").decode().replace("\0", "�")
