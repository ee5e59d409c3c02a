"""Results of shaping: batches, rejected values, drift of the source; and how many rejects are acceptable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from itertools import chain, islice

import pyarrow as pa

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.model.wording import counted, plural, shortened
from dataflow.pipelines.shape.json_text import to_json

_SHOWN_CHARACTERS = 200
ROW_CHARACTERS = 1000


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


def first_rows(rejects: Iterable[Reject], most: int) -> tuple[Reject, ...]:
    """The rejects of the first rows, up to that many rows."""
    by_row: dict[tuple[int, int], list[Reject]] = {}
    for one in rejects:
        by_row.setdefault((one.part, one.row), []).append(one)
    return tuple(chain.from_iterable(islice(by_row.values(), most)))


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


def shown(value: object, most: int = _SHOWN_CHARACTERS) -> str:
    """A value or row as stored in a reject: not longer than that, storable as text anywhere."""
    if isinstance(value, str):
        text = value
    else:
        try:
            text = to_json(value).decode()
        except TypeError:
            text = str(value)
    return shortened(text, most).encode("utf-8", "replace").decode().replace("\0", "�")


@record
class RejectPolicy:
    """How many rows may be rejected: `limit` of them, or that share of all rows if below 1."""

    limit: float = 0

    def __str__(self) -> str:
        return f"quarantine up to {self._most}" if self.limit else "fail"

    @property
    def _most(self) -> str:
        return f"{self.limit * 100:g} %" if self.limit < 1 else counted(int(self.limit), "row")

    def find_excess(self, rejected: int, rows: int) -> str:
        """Why `rejected` of `rows` rows are too many; "" if they may be left out."""
        # A share through its text: 0.29 of 100 rows is 29.
        if rejected <= (self.limit if self.limit >= 1 else rows * Decimal(str(self.limit))):
            return ""
        found = f"{rejected} of {rows} {plural(rows, 'row')} {'does' if rejected == 1 else 'do'} not fit"
        if self.limit:
            return f"{found}; the limit is {self._most}"
        advice = 'fix the source or the mapping, or allow a few rejects: rejects = {"quarantine": 100}'
        return f"{found}; {advice}"


def parse_policy(rejects: object) -> RejectPolicy:
    """The policy that a pipeline declares; raises BadInput if it is invalid."""
    if rejects == "fail":
        return RejectPolicy()
    if not isinstance(rejects, Mapping) or set(rejects) != {"quarantine"}:
        raise BadInput(
            'rejects must be "fail" or {"quarantine": N}, where N is a number of rows or a share below 1'
        )
    limit = rejects["quarantine"]
    if isinstance(limit, bool) or not isinstance(limit, int | float) or not 0 < limit < float("inf"):
        raise BadInput(
            f"rejects 'quarantine' needs a limit: rows such as 100, or a share such as 0.01, not {limit!r}"
        )
    if limit >= 1 and not isinstance(limit, int):  # 1.0 is ambiguous: one row, or all of them
        raise BadInput(
            f"rejects limit {limit!r} is neither a whole number of rows, such as {int(limit)}, "
            "nor a share below 1"
        )
    return RejectPolicy(limit)
