"""Calendars: intervals that have ended become ready chunks, added by whoever asks for work first.

Imported only by jobs that have a calendar.
"""

from __future__ import annotations

from functools import partial

from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.schedule import Schedule, due_intervals, today_interval
from dataflow.store import calendars, chunks
from dataflow.store.registry import calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan, PlanInput
    from dataflow.model.schedule import Interval
    from dataflow.store.calendars import DueCalendar
    from dataflow.store.database import Transaction
    from dataflow.store.store import Store

TODAY_EXPRESSION = "@today"
MOST_INTERVALS = 1000
"""Added in one transaction; the next claim adds the next ones."""


def add_due_intervals(store: Store, plan: Plan) -> int:
    """Makes the intervals that have ended ready, each once whoever else does the same; gives how many."""
    due = _known(plan, store.database.read(partial(calendars.list_due, job_id=plan.job_id)))
    return sum(
        store.database.write(partial(_add, calendar=item, plan=plan, actor=store.actor)) for item in due
    )


def preview_due_intervals(tx: Transaction, plan: Plan, actor: str, batches: int, dataid: str | None) -> None:
    """Makes the first batches of them ready, and what the claim calls for, in a transaction to be undone."""
    if plan.is_on_demand and dataid is not None:
        for item in _own_calendars(plan):
            chunks.make_ready(tx, item.dataset_id, [_pair(dataid, plan)], again=False)
    for _ in range(batches):
        for calendar in _known(plan, calendars.list_due(tx, plan.job_id)):
            _add(tx, calendar, plan, actor)


def call_for(store: Store, plan: Plan, dataid: str) -> None:
    """Has the job's own calendar give a dataid, due or not; one that it has given already stays as it is."""
    for item in _own_calendars(plan):
        store.make_ready(item.dataset_id, item.dataset.name, [_pair(dataid, plan)], again=False)


def _own_calendars(plan: Plan) -> list[PlanInput]:
    return [item for item in plan.inputs if item.dataset.name == calendar_name(plan.job.name)]


def _pair(dataid: str, plan: Plan) -> tuple[str, str]:
    return dataid, sort_key(dataid, Grain(plan.grain))


def _known(plan: Plan, found: list[DueCalendar]) -> list[DueCalendar]:
    """Without calendars that became inputs after the plan was read: the claim asks for a new one."""
    inputs = {source.dataset_id for source in plan.inputs}
    return [calendar for calendar in found if calendar.dataset_id in inputs]


def _add(tx: Transaction, calendar: DueCalendar, plan: Plan, actor: str) -> int:
    """Adds the intervals that are due by one calendar of the job."""
    dataset = next(item.dataset for item in plan.inputs if item.dataset_id == calendar.dataset_id)
    intervals, due_at = _due(calendar)
    cursor_at = intervals[-1].end_at if intervals else calendar.cursor_at
    grain = Grain(dataset.grain)
    pairs = [(interval.dataid, sort_key(interval.dataid, grain)) for interval in intervals]
    addition = calendars.Addition(pairs, cursor_at, due_at)
    return calendars.add_intervals(tx, calendar, dataset.name, addition, actor)


def _due(calendar: DueCalendar) -> tuple[list[Interval], float | None]:
    if calendar.expression == TODAY_EXPRESSION:
        today = today_interval(calendar.timezone, calendar.now_at)
        return [today], today.end_at
    span = (calendar.start or None, calendar.end or None, bool(calendar.catchup))
    schedule = Schedule(calendar.expression, calendar.timezone, *span)
    return due_intervals(schedule, calendar.cursor_at, calendar.now_at, MOST_INTERVALS)
