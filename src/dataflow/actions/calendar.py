"""Calendars: intervals that have ended become ready chunks, added by the first process that asks for work.

Imported only by jobs that have a calendar.
"""

from __future__ import annotations

from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.schedule import Schedule, due_intervals, today_interval
from dataflow.store.calendars import Addition
from dataflow.store.registry import calendar_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan
    from dataflow.model.schedule import Interval
    from dataflow.store.calendars import DueCalendar
    from dataflow.store.store import Store

TODAY_EXPRESSION = "@today"
MOST_INTERVALS = 1000
"""Intervals added in one transaction; the next claim adds more."""


def add_due_intervals(store: Store, plan: Plan) -> int:
    """Make the intervals that have ended ready, each once; return how many this call added."""
    datasets = {source.dataset_id: source.dataset for source in plan.inputs}
    added = 0
    for calendar in store.list_due_calendars(plan.job_id):
        dataset = datasets.get(calendar.dataset_id)
        if dataset is not None:  # else it is new, and the claim asks for a new plan
            added += store.add_intervals(calendar, dataset.name, _addition(calendar, Grain(dataset.grain)))
    return added


def call_for(store: Store, plan: Plan, dataid: str) -> None:
    """Add a dataid to the job's own calendar, due or not; an existing one is left unchanged."""
    pair = (dataid, sort_key(dataid, Grain(plan.grain)))
    for item in plan.inputs:
        if item.dataset.name == calendar_name(plan.job.name):
            store.make_ready(item.dataset_id, item.dataset.name, [pair], again=False)


def _addition(calendar: DueCalendar, grain: Grain) -> Addition:
    """Return the intervals to add to a calendar."""
    intervals, due_at = list_due_intervals(calendar)
    cursor_at = intervals[-1].end_at if intervals else calendar.cursor_at
    pairs = [(interval.dataid, sort_key(interval.dataid, grain)) for interval in intervals]
    return Addition(pairs, cursor_at, due_at)


def list_due_intervals(calendar: DueCalendar) -> tuple[list[Interval], float | None]:
    """Return the intervals of a calendar that have ended and are not added, and when the next is due."""
    if calendar.expression == TODAY_EXPRESSION:
        today = today_interval(calendar.timezone, calendar.now_at)
        is_due = calendar.due_at is not None and calendar.due_at <= calendar.now_at
        return [today] if is_due else [], today.end_at
    return due_intervals(schedule_of(calendar), calendar.cursor_at, calendar.now_at, MOST_INTERVALS)


def schedule_of(calendar: DueCalendar) -> Schedule:
    """Return the schedule that a calendar follows."""
    expression = "@daily" if calendar.expression == TODAY_EXPRESSION else calendar.expression
    span = (calendar.start or None, calendar.end or None, bool(calendar.catchup))
    return Schedule(expression, calendar.timezone, *span, by_day=calendar.grain == Grain.DAILY)
