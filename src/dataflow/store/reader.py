"""What is kept, as records for people and programs. Nothing here changes anything."""

from __future__ import annotations

from dataflow.model.coverage import EVERYTHING
from dataflow.model.records import ChunkRow, RunRow, WorkRow
from dataflow.model.status import RunOutcome, WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.store.database import Row, Transaction

LAST_KEY = EVERYTHING
"""Sorts after every sort key."""


def time_text(value: Any) -> str:
    """A time as ISO text in UTC, whichever way the driver gives it."""
    if value is None or isinstance(value, str):
        return value or ""
    from datetime import (
        UTC,  # only PostgreSQL's times come this way, and SQLite's start-up need not pay for it
    )

    text: str = value.astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def run_from_row(row: Row) -> RunRow:
    """A run from the columns of reading.run."""
    started_at, ended_at, lease_left = row[11:14]
    times = (
        time_text(started_at),
        time_text(ended_at) or None,
        None if lease_left is None else float(lease_left),
    )
    outcome = RunOutcome(row[4])
    return RunRow(*row[:4], outcome, *row[5:11], *times, *row[14:])  # type: ignore[call-arg]


def work_from_row(row: Row) -> WorkRow:
    """A work from the columns of reading.work."""
    (
        work_id,
        job,
        dataid,
        state,
        hold,
        resubmitted,
        missing,
        attempts,
        losses,
        run_id,
        reason,
        wait,
        modified,
    ) = row
    return WorkRow(
        work_id,
        job,
        dataid,
        WorkState(state),
        bool(hold),
        bool(resubmitted),
        missing,
        attempts,
        losses,
        run_id or None,
        reason,
        None if wait is None else float(wait),
        time_text(modified),
    )


def list_runs(tx: Transaction, most: int, job: str, dataid: str, outcome: str) -> list[RunRow]:
    """Runs, newest first."""
    rows = tx.rows("reading.runs", most=most, job=job, dataid=dataid, outcome=outcome)
    return [run_from_row(row) for row in rows]


def find_work(tx: Transaction, job_id: int, dataid: str) -> WorkRow | None:
    """One work, or None if no chunk has called for it."""
    row = tx.find("reading.work", job_id=job_id, dataid=dataid)
    return None if row is None else work_from_row(row)


def chunk_from_row(row: Row, readers: dict[int, list[int]]) -> ChunkRow:
    """A chunk from the columns of reading.chunks."""
    dataset, dataid, status, version, modified_at, location, chunk_id = row
    return ChunkRow(
        dataset, dataid, status, version, time_text(modified_at), tuple(readers.get(chunk_id, ())), location
    )


def live_readers(tx: Transaction, dataset_id: int) -> dict[int, list[int]]:
    """The live runs that read each chunk of a dataset."""
    readers: dict[int, list[int]] = {}
    for chunk_id, run_id in tx.rows("reading.live_pins", dataset_id=dataset_id):
        readers.setdefault(chunk_id, []).append(run_id)
    return readers
