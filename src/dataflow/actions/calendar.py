"""Calendars: intervals that have ended become ready chunks, added by whoever asks for work first.

Imported only by jobs that have a calendar.
"""

from __future__ import annotations

from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.schedule import Schedule, due_intervals, today_interval
from dataflow.store import publishing
from dataflow.store.journal import Entry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan
    from dataflow.model.schedule import Interval
    from dataflow.store.database import Row, Transaction
    from dataflow.store.store import Store

TODAY_EXPRESSION = "@today"
MOST_INTERVALS = 1000
"""Added in one transaction; the next claim adds the next ones."""


def add_due_intervals(store: Store, plan: Plan) -> int:
    """Makes the intervals that have ended ready, each once whoever else does the same; gives how many."""
    names = {source.dataset_id: source.dataset for source in plan.inputs}
    added = 0
    for row in store.rows("registration.due_calendars", job_id=plan.job_id):
        dataset = names.get(row[0])
        if dataset is not None:
            added += _add(store, row, dataset.name, Grain(dataset.grain))
    return added


def _add(store: Store, row: Row, name: str, grain: Grain) -> int:
    dataset_id, _, _, _, _, _, cursor_at, was_due_at, _ = row
    intervals, due_at = _due(row)
    cursor = intervals[-1].end_at if intervals else cursor_at
    pairs = [(interval.dataid, sort_key(interval.dataid, grain)) for interval in intervals]

    def verb(tx: Transaction) -> int:
        tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
        moved = {"dataset_id": dataset_id, "cursor_at": cursor, "due_at": due_at, "was_due_at": was_due_at}
        if not tx.run("registration.move_calendar", **moved) or not pairs:
            return 0
        count = publishing.make_ready(tx, dataset_id, pairs, again=False)
        dataid = pairs[0][0] if len(pairs) == 1 else ""
        entry = Entry(
            "ready", store.actor, "", name, dataid, to_state="READY", items=count, why="by the clock"
        )
        write_journal(tx, entry)
        return count

    return store.database.write(verb)


def _due(row: Row) -> tuple[list[Interval], float | None]:
    _, expression, timezone, start, end, catchup, cursor_at, _, now = row
    if expression == TODAY_EXPRESSION:
        today = today_interval(timezone, now)
        return [today], today.end_at
    schedule = Schedule(expression, timezone, start or None, end or None, bool(catchup))
    return due_intervals(schedule, cursor_at, now, MOST_INTERVALS)
