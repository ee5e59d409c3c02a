"""A task counts rejects by rows, however many fields of a row are bad."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from dataflow.pipelines.handover.records import Part, Staged
from dataflow.pipelines.run.stage_tasks import StageParts
from dataflow.pipelines.shape.fields import parse_fields
from dataflow.pipelines.shape.shaper import Shaper
from dataflow.pipelines.shape.statistics import Wanted


class Nowhere:
    """Counts the rows it receives and keeps none."""

    def write(self, batches: Iterator[pa.RecordBatch], attempt: str) -> Staged:
        return Staged(attempt, sum(batch.num_rows for batch in batches), 0)


def test_the_reject_limit_counts_rows_rather_than_bad_fields(tmp_path: Path) -> None:
    parts = []
    for number in (1, 2):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps({"a": "x", "b": "y", "c": "z"}) + "\n" for _ in range(4)))
        parts.append(Part(number, str(path), -1, path.stat().st_size))
    shaper = Shaper(parse_fields([("a", "bigint"), ("b", "bigint"), ("c", "bigint")]), kind="jsonl")
    report = StageParts(tuple(parts), shaper, Nowhere(), Wanted(), 6)("attempt")
    assert (report.rows_read, report.rejected) == (8, 8)
    kept = [(reject.part, reject.row, reject.field) for reject in report.rejects]
    rows = [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1), (2, 2)]
    assert kept == [(*row, field) for row in rows for field in "abc"]
