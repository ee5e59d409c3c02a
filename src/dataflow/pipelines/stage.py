"""What a Spark task does with its share of the data: shape, count, hand to the target. No Spark in here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dataflow.model.record import record
from dataflow.pipelines.records import Part, Staged, TaskWriter
from dataflow.pipelines.shape.shaped import Reject
from dataflow.pipelines.shape.shaper import Shaper
from dataflow.pipelines.shape.statistics import Statistics, Wanted

if TYPE_CHECKING:
    import pyarrow as pa


@record
class Report:
    """What one accepted attempt did; reports of all of them add up to the whole."""

    staged: Staged
    statistics: Statistics
    rows_read: int
    rejected: int
    rejects: tuple[Reject, ...] = ()
    missing: tuple[tuple[str, int], ...] = ()
    new: tuple[str, ...] = ()


@record
class StageParts:
    """Shapes part files and stages their rows."""

    parts: tuple[Part, ...]
    shaper: Shaper
    writer: TaskWriter
    wanted: Wanted
    most_rejects: int

    def __call__(self, attempt: str) -> Report:
        """Runs in a task, under the attempt's name."""
        counted = _Counted(self.wanted, self.most_rejects)
        staged = self.writer.write(counted.shaped(self.parts, self.shaper), attempt)
        return counted.report(staged)


@record
class StageFrame:
    """Stages the rows of a frame's partition."""

    writer: TaskWriter
    wanted: Wanted

    def __call__(self, batches: Iterator[pa.RecordBatch], attempt: str) -> Report:
        """Runs in a task, under the attempt's name."""
        counted = _Counted(self.wanted, 0)
        return counted.report(self.writer.write(counted.passing(batches), attempt))


class _Counted:
    """Counts batches on their way to the target."""

    def __init__(self, wanted: Wanted, most_rejects: int) -> None:
        self._wanted = wanted
        self._most_rejects = most_rejects
        self._statistics = Statistics(0, {})
        self._rows_read = self._rejected = 0
        self._rejects: list[Reject] = []
        self._missing: dict[str, int] = {}
        self._new: set[str] = set()

    def shaped(self, parts: tuple[Part, ...], shaper: Shaper) -> Iterator[pa.RecordBatch]:
        for part in parts:
            with open(part.path, "rb") as file:
                body = file.read()
            for shaped in shaper.shape(body, part.number):
                self._rows_read += shaped.rows_read
                self._rejected += shaped.rows_read - shaped.batch.num_rows
                self._rejects += shaped.rejects[: self._most_rejects - len(self._rejects)]
                self._new.update(shaped.new)
                for name, rows in shaped.missing:
                    self._missing[name] = self._missing.get(name, 0) + rows
                yield from self._count(shaped.batch)

    def passing(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._rows_read += batch.num_rows
            yield from self._count(batch)

    def report(self, staged: Staged) -> Report:
        return Report(
            staged,
            self._statistics,
            self._rows_read,
            self._rejected,
            tuple(self._rejects),
            tuple(sorted(self._missing.items())),
            tuple(sorted(self._new)),
        )

    def _count(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if batch.num_rows:
            self._statistics = self._statistics.merge(Statistics.of(batch, self._wanted))
            yield batch
