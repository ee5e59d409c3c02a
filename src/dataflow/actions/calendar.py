"""Calendars: intervals that have ended become ready chunks, added by the first process that asks for work.

Imported only by jobs that have a calendar.
"""

from __future__ import annotations

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
"""Intervals added in one transaction; the next claim adds more."""


def add_due_intervals(store: Store, plan: Plan) -> int:
    """Make the intervals that have ended ready, each once; return how many this call added."""
    due = _known(plan, store.list_due_calendars(plan.job_id))
    return sum([store.add_intervals(item, *_addition(item, plan)) for item in due])


def preview_due_intervals(tx: Transaction, plan: Plan, actor: str, batches: int, dataid: str | None) -> None:
    """Make the first batches and the claim's own dataid ready, in a transaction that is rolled back."""
    if plan.is_on_demand and dataid is not None:
        for item in _own_calendars(plan):
            chunks.make_ready(tx, item.dataset_id, [_pair(dataid, plan)], again=False)
    for _ in range(batches):
        for calendar in _known(plan, calendars.list_due(tx, plan.job_id)):
            calendars.add_intervals(tx, calendar, *_addition(calendar, plan), actor)


def call_for(store: Store, plan: Plan, dataid: str) -> None:
    """Add a dataid to the job's own calendar, due or not; an existing one is left unchanged."""
    for item in _own_calendars(plan):
        store.make_ready(item.dataset_id, item.dataset.name, [_pair(dataid, plan)], again=False)


def _own_calendars(plan: Plan) -> list[PlanInput]:
    return [item for item in plan.inputs if item.dataset.name == calendar_name(plan.job.name)]


def _pair(dataid: str, plan: Plan) -> tuple[str, str]:
    return dataid, sort_key(dataid, Grain(plan.grain))


def _known(plan: Plan, found: list[DueCalendar]) -> list[DueCalendar]:
    """Drop calendars that became inputs after the plan was read: the claim asks for a new plan."""
    inputs = {source.dataset_id for source in plan.inputs}
    return [calendar for calendar in found if calendar.dataset_id in inputs]


def _addition(calendar: DueCalendar, plan: Plan) -> tuple[str, calendars.Addition]:
    """Return the name of one calendar of the job and the intervals to add to it."""
    dataset = next(item.dataset for item in plan.inputs if item.dataset_id == calendar.dataset_id)
    intervals, due_at = list_due_intervals(calendar)
    cursor_at = intervals[-1].end_at if intervals else calendar.cursor_at
    grain = Grain(dataset.grain)
    pairs = [(interval.dataid, sort_key(interval.dataid, grain)) for interval in intervals]
    return dataset.name, calendars.Addition(pairs, cursor_at, due_at)


def list_due_intervals(calendar: DueCalendar) -> tuple[list[Interval], float | None]:
    """Return the intervals of a calendar that have ended and are not added, and when the next is due."""
    if calendar.expression == TODAY_EXPRESSION:
        today = today_interval(calendar.timezone, calendar.now_at)
        is_due = calendar.due_at is not None and calendar.due_at <= calendar.now_at
        return [today] if is_due else [], today.end_at
    return due_intervals(schedule_of(calendar), calendar.cursor_at, calendar.now_at, MOST_INTERVALS)


def schedule_of(calendar: DueCalendar) -> Schedule:
    """Return the schedule that a calendar follows."""
    span = (calendar.start or None, calendar.end or None, bool(calendar.catchup))
    return Schedule(calendar.expression, calendar.timezone, *span, by_day=calendar.grain == Grain.DAILY)
