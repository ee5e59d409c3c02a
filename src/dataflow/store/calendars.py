"""Calendars: datasets whose chunks become ready as time passes, each interval is added once."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.store import chunks
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.store.database import Transaction


@record
class DueCalendar:
    """A calendar that has intervals to add, and the store's own time."""

    dataset_id: int
    expression: str
    timezone: str
    grain: str
    start: str
    end: str
    catchup: bool
    cursor_at: float | None
    due_at: float | None
    now_at: float


@record
class Addition:
    """The intervals to add to a calendar, as (dataid, sort_key) pairs, and its new position."""

    pairs: Sequence[tuple[str, str]]
    cursor_at: float | None
    due_at: float | None


def list_due(tx: Transaction, job_id: int) -> list[DueCalendar]:
    """Return the calendars among a job's inputs that have intervals to add."""
    return [DueCalendar(*row) for row in tx.rows("registration.due_calendars", job_id=job_id)]


def find_calendar(tx: Transaction, dataset_id: int) -> DueCalendar | None:
    """Return a calendar, due or not; None if the dataset is not a calendar."""
    row = tx.find("explain.calendar", dataset_id=dataset_id)
    return None if row is None else DueCalendar(dataset_id, *row)


def add_intervals(tx: Transaction, calendar: DueCalendar, name: str, addition: Addition, actor: str) -> int:
    """Make intervals ready and advance the calendar; return how many, 0 if another process was first."""
    tx.lock("publish.lock_datasets", dataset_ids=[calendar.dataset_id])
    moved = tx.run(
        "registration.move_calendar",
        dataset_id=calendar.dataset_id,
        cursor_at=addition.cursor_at,
        due_at=addition.due_at,
        was_due_at=calendar.due_at,
    )
    if not moved or not addition.pairs:
        return 0
    # A calendar that starts again passes intervals it added before, and some that were withdrawn since.
    rows = tx.rows("registration.known_chunks", dataset_id=calendar.dataset_id, **tx.batch(addition.pairs))
    known = {row[0] for row in rows}
    pairs = [pair for pair in addition.pairs if pair[0] not in known]
    if not pairs:
        return 0
    count = chunks.make_ready(tx, calendar.dataset_id, pairs, again=False, by_clock=True)
    dataid = pairs[0][0] if len(pairs) == 1 else ""
    entry = JournalEntry("ready", actor, "", name, dataid, to_state="READY", items=count, why="by the clock")
    write_journal(tx, entry)
    return count
