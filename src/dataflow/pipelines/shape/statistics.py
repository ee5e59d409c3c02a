"""Column statistics: computed per batch where batches are made, merged on the driver.

Cheap on purpose: bounds are computed only for columns that a check uses. No evaluation here.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dataflow.model.record import record
from dataflow.model.wording import shortened

_SAMPLES = 5
_SAMPLE_CHARACTERS = 60


@record
class Wanted:
    """Statistics that checks need: columns with bounds, and the accepted values by column."""

    bounds: tuple[str, ...] = ()
    accepted: tuple[tuple[str, tuple[Any, ...]], ...] = ()
    numerics: tuple[str, ...] = ()  # numeric columns that may arrive as text


@record
class ColumnStatistics:
    """One column: NULL count, minimum, maximum and values not accepted, with samples."""

    nulls: int = 0
    minimum: Any = None
    maximum: Any = None
    unaccepted: int = 0
    samples: tuple[str, ...] = ()

    def merge(self, other: ColumnStatistics) -> ColumnStatistics:
        """Merge both; the order does not matter."""
        lows = [one for one in (self.minimum, other.minimum) if one is not None]
        highs = [one for one in (self.maximum, other.maximum) if one is not None]
        return ColumnStatistics(
            self.nulls + other.nulls,
            min(lows, default=None),
            max(highs, default=None),
            self.unaccepted + other.unaccepted,
            tuple(sorted({*self.samples, *other.samples})[:_SAMPLES]),
        )


@record
class Statistics:
    """Row count and column statistics of some batches."""

    rows: int
    columns: dict[str, ColumnStatistics]

    @classmethod
    def of(cls, batch: pa.RecordBatch, wanted: Wanted) -> Statistics:
        """The statistics of one batch."""
        accepted, columns = dict(wanted.accepted), {}
        for name, values in zip(batch.schema.names, batch.columns, strict=True):
            is_number = name in wanted.numerics and pa.types.is_string(values.type)
            compute = _of_numbers if is_number else _of_column
            columns[name] = compute(values, name in wanted.bounds, accepted.get(name))
        return cls(batch.num_rows, columns)

    def merge(self, other: Statistics) -> Statistics:
        """Merge both; statistics of zero batches change nothing."""
        names = {**self.columns, **other.columns}
        nothing = ColumnStatistics()
        columns = {
            name: self.columns.get(name, nothing).merge(other.columns.get(name, nothing)) for name in names
        }
        return Statistics(self.rows + other.rows, columns)


NOTHING = Statistics(0, {})  # the neutral element of merging


def _of_numbers(texts: pa.Array, with_bounds: bool, accepted: tuple[Any, ...] | None) -> ColumnStatistics:
    """Bounds of numbers that arrived as text: any length, compared as numbers."""
    numbers = [Decimal(text) for text in texts.to_pylist() if text is not None]
    low, high = (min(numbers), max(numbers)) if numbers and with_bounds else (None, None)
    refused = [number for number in numbers if accepted is not None and number not in accepted]
    samples = sorted({str(number)[:_SAMPLE_CHARACTERS] for number in refused})[:_SAMPLES]
    return ColumnStatistics(texts.null_count, low, high, len(refused), tuple(samples))


def _of_column(values: pa.Array, with_bounds: bool, accepted: tuple[Any, ...] | None) -> ColumnStatistics:
    bounds = _bounds(values) if with_bounds else {"min": None, "max": None}
    unaccepted, samples = _find_unaccepted(values, accepted) if accepted is not None else (0, ())
    return ColumnStatistics(values.null_count, bounds["min"], bounds["max"], unaccepted, samples)


def _bounds(values: pa.Array) -> dict[str, Any]:
    if pa.types.is_floating(values.type):
        # Arrow ignores NaN; to PostgreSQL and Spark it is the largest value, and it is in no range.
        values = pc.if_else(pc.is_nan(values), pa.scalar(float("inf"), values.type), values)
    found: dict[str, Any] = pc.min_max(values).as_py()
    return found


def _find_unaccepted(values: pa.Array, accepted: tuple[Any, ...]) -> tuple[int, tuple[str, ...]]:
    """Count of values not accepted, ignoring NULL, and the first few of them in order."""
    refused = pc.invert(pc.is_in(values, pa.array(accepted, values.type)))
    found = values.filter(pc.and_(refused, values.is_valid()))
    texts = {shortened(str(one), _SAMPLE_CHARACTERS) for one in pc.unique(found).to_pylist()}
    return len(found), tuple(sorted(texts)[:_SAMPLES])
