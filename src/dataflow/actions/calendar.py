"""Calendars: intervals that have ended become ready chunks, added by whoever asks for work first.

Imported only by jobs that have a calendar.
"""

from __future__ import annotations

from functools import partial

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
    due = _known(plan, store.rows("registration.due_calendars", job_id=plan.job_id))
    return sum(store.database.write(partial(_add, row=row, plan=plan, actor=store.actor)) for row in due)


def preview_due_intervals(tx: Transaction, plan: Plan, actor: str) -> None:
    """Makes all of them ready in a transaction that will be undone."""
    while due := _known(plan, tx.rows("registration.due_calendars", job_id=plan.job_id)):
        for row in due:
            _add(tx, row, plan, actor)


def _known(plan: Plan, rows: list[Row]) -> list[Row]:
    """Without calendars that became inputs after the plan was read: the claim asks for a new one."""
    inputs = {source.dataset_id for source in plan.inputs}
    return [row for row in rows if row[0] in inputs]


def _add(tx: Transaction, row: Row, plan: Plan, actor: str) -> int:
    """Adds the intervals that are due by one calendar of the job."""
    dataset_id, _, _, _, _, _, cursor_at, was_due_at, _ = row
    dataset = next(source.dataset for source in plan.inputs if source.dataset_id == dataset_id)
    intervals, due_at = _due(row)
    cursor = intervals[-1].end_at if intervals else cursor_at
    grain = Grain(dataset.grain)
    pairs = [(interval.dataid, sort_key(interval.dataid, grain)) for interval in intervals]
    tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
    moved = {"dataset_id": dataset_id, "cursor_at": cursor, "due_at": due_at, "was_due_at": was_due_at}
    if not tx.run("registration.move_calendar", **moved) or not pairs:
        return 0
    count = publishing.make_ready(tx, dataset_id, pairs, again=False)
    dataid = pairs[0][0] if len(pairs) == 1 else ""
    entry = Entry("ready", actor, "", dataset.name, dataid, to_state="READY", items=count, why="by the clock")
    write_journal(tx, entry)
    return count


def _due(row: Row) -> tuple[list[Interval], float | None]:
    _, expression, timezone, start, end, catchup, cursor_at, _, now = row
    if expression == TODAY_EXPRESSION:
        today = today_interval(timezone, now)
        return [today], today.end_at
    schedule = Schedule(expression, timezone, start or None, end or None, bool(catchup))
    return due_intervals(schedule, cursor_at, now, MOST_INTERVALS)
