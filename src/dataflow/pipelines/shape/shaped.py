"""What shaping gives: batches, the values that did not fit, and how the source differs from the mapping."""

from __future__ import annotations

import pyarrow as pa

from dataflow.model.record import record
from dataflow.pipelines.shape.json_text import to_json

_SHOWN_CHARACTERS = 200


@record
class Reject:
    """A value that did not fit. `row` counts from 1 in the part; `field` is empty if the whole row is bad."""

    part: int
    row: int
    field: str
    value: str
    reason: str


@record
class BadRow:
    """A row that is no row at all: a line that is not JSON, a page's element that is not an object."""

    row: int
    value: object
    reason: str


@record
class Shaped:
    """A batch of the rows that fit; a row with any reject is left out: rows_read - batch.num_rows of them.

    `missing` counts, by mapped source field, the rows that lack it; `new` are unmapped keys of the rows.
    """

    batch: pa.RecordBatch
    rejects: tuple[Reject, ...]
    missing: tuple[tuple[str, int], ...]
    new: tuple[str, ...]
    rows_read: int


def shown(value: object) -> str:
    """A value as a reject shows it: at most 200 characters, storable as text anywhere."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = to_json(value).decode()
        except TypeError:
            text = str(value)
    cut = text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"
    return cut.encode("utf-8", "replace").decode().replace("\0", "�")
