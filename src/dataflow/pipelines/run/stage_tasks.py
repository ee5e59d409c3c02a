"""The work of a Spark task on its share of the data: shape, count, pass to the target. Imports no Spark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from dataflow.model.record import record
from dataflow.pipelines.handover.records import Part, Staged, TaskReport, TaskWriter
from dataflow.pipelines.shape.shaped import Reject, Shaped, first_rows
from dataflow.pipelines.shape.shaper import Shaper
from dataflow.pipelines.shape.statistics import NOTHING, Statistics, Wanted

if TYPE_CHECKING:
    import pyarrow as pa


@record
class StageParts:
    """Shapes part files and stages their rows."""

    parts: tuple[Part, ...]
    shaper: Shaper
    writer: TaskWriter
    wanted: Wanted
    most_rejects: int

    def __call__(self, attempt: str) -> TaskReport:
        """Runs in a task; the attempt names the staged rows."""
        counted = _Counted(self.wanted, self.most_rejects)
        staged = self.writer.write(counted.shaped(self.parts, self.shaper), attempt)
        return counted.report(staged)


@record
class StageFrame:
    """Stages the rows of a frame's partition; `names` are the real column names, which the frame lacks."""

    writer: TaskWriter
    wanted: Wanted
    names: tuple[str, ...]

    def __call__(self, batches: Iterator[pa.RecordBatch], attempt: str) -> TaskReport:
        """Runs in a task; the attempt names the staged rows."""
        counted = _Counted(self.wanted, 0)
        named = (batch.rename_columns(list(self.names)) for batch in batches)
        return counted.report(self.writer.write(counted.passing(named), attempt))


class _Counted:
    """Counts batches as they pass to the target."""

    def __init__(self, wanted: Wanted, most_rejects: int) -> None:
        self._wanted = wanted
        self._most_rejects = most_rejects
        self._statistics = NOTHING
        self._rows_read = self._rejected = 0
        self._rejects: tuple[Reject, ...] = ()
        self._missing: Counter[str] = Counter()
        self._new: set[str] = set()

    def shaped(self, parts: tuple[Part, ...], shaper: Shaper) -> Iterator[pa.RecordBatch]:
        for part in parts:
            with open(part.path, "rb") as file:
                for shaped in shaper.shape(file, part.number):
                    self._take(shaped)
                    yield from self._count(shaped.batch)

    def _take(self, shaped: Shaped) -> None:
        self._rows_read += shaped.rows_read
        self._rejected += shaped.rows_read - shaped.batch.num_rows
        if shaped.rejects:
            self._rejects = first_rows((*self._rejects, *shaped.rejects), self._most_rejects)
        self._new.update(shaped.new)
        self._missing.update(dict(shaped.missing))

    def passing(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self._rows_read += batch.num_rows
            yield from self._count(batch)

    def report(self, staged: Staged) -> TaskReport:
        missing, new = tuple(sorted(self._missing.items())), tuple(sorted(self._new))
        rejected, rejects = self._rejected, self._rejects
        return TaskReport(staged, self._statistics, self._rows_read, rejected, rejects, missing, new)

    def _count(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        if batch.num_rows:
            self._statistics = self._statistics.merge(Statistics.of(batch, self._wanted))
            yield batch
