"""Schedules: which intervals a calendar dataset has, and which of them have ended.

Imports of clock are inside functions, because dates cost start-up time that few jobs need to pay.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.cron import ONCE, calendar_of, canonical_expression
from dataflow.model.grain import Grain, check_timezone
from dataflow.model.record import record
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Before 1900 zones have offsets of odd seconds; in 9999 the calendar ends, and an end there means never.
YEARS = {"--start": range(1900, 9000), "--end": range(1900, 10000)}
ONCE_DATAID = "once"

_SPAN_FORM = re.compile(
    "[0-9]{4}(-[0-9]{2}){0,2}|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}(:[0-9:]+)?(Z|[+-][0-9:]+)?"
)
_DATE_GRAINS = {4: Grain.YEARLY, 7: Grain.MONTHLY, 10: Grain.DAILY}


@record
class Schedule:
    """A checked schedule; start and end as they were given."""

    expression: str
    timezone: str
    start: str | None
    end: str | None
    catchup: bool


@record
class Interval:
    """One interval of a schedule: its dataid, and from when until when in epoch seconds."""

    dataid: str
    start_at: float
    end_at: float


def parse_schedule(
    expression: str, timezone: str, start: str | None, end: str | None, catchup: bool
) -> Schedule:
    """Return the schedule, its expression in canonical form; BadInput for any part that cannot be taken."""
    schedule = Schedule(canonical_expression(expression), check_timezone(timezone), start, end, catchup)
    _bounds(schedule)
    return schedule


def is_backwards(schedule: Schedule) -> bool:
    """Return True if it starts after its end, so that no interval is ever due."""
    start_at, end_at = _bounds(schedule)
    return start_at is not None and end_at is not None and end_at < start_at


def grain_of(schedule: Schedule) -> Grain:
    """Return the grain of the schedule's dataids."""
    return calendar_of(schedule.expression)[0]


def due_intervals(
    schedule: Schedule, cursor: float | None, now: float, limit: int
) -> tuple[list[Interval], float | None]:
    """Return the oldest intervals that have ended and are not added yet, and when the next will be due.

    The cursor is the end of the last interval added, None before the first. When the limit cut the list
    the next is due already; when none will ever be due again, it is None. Without catch-up, and without
    both start and cursor, only the latest interval that has ended is due.
    """
    start_at, end_at = _bounds(schedule)
    if schedule.expression == ONCE:
        return _once(now if start_at is None else start_at, end_at, cursor, now, limit)
    starts = _starts(schedule, _oldest_moment(schedule, start_at, end_at, cursor, now))
    due: list[Interval] = []
    begins_at, dataid = next(starts)
    for ends_at, following in starts:
        if end_at is not None and begins_at > end_at:
            break
        # Of no length where the zone left a day out: it never was.
        if ends_at > begins_at:
            if ends_at > now or len(due) >= limit:
                return due, ends_at
            due.append(Interval(dataid, begins_at, ends_at))
        begins_at, dataid = ends_at, following
    return due, None


def today_interval(timezone: str, now: float) -> Interval:
    """Return the current day in the zone, from its first moment to the next day's."""
    from dataflow.model import clock
    from dataflow.model.interval_starts import interval_starts

    days = interval_starts("@daily", clock.zone(timezone), now)
    begins_at, dataid = next(days)
    ends_at, _ = next(days)
    return Interval(dataid, begins_at, ends_at)


def _once(
    due_at: float, end_at: float | None, cursor: float | None, now: float, limit: int
) -> tuple[list[Interval], float | None]:
    if cursor is not None or (end_at is not None and due_at > end_at):
        return [], None
    if due_at > now or limit < 1:
        return [], due_at
    return [Interval(ONCE_DATAID, due_at, due_at)], None


def _starts(schedule: Schedule, at: float) -> Iterator[tuple[float, str]]:
    from dataflow.model import clock
    from dataflow.model.interval_starts import interval_starts

    return interval_starts(schedule.expression, clock.zone(schedule.timezone), at)


def _oldest_moment(
    schedule: Schedule, start_at: float | None, end_at: float | None, cursor: float | None, now: float
) -> float:
    """Return a moment inside the oldest interval that may still be added."""
    moments = [moment for moment in (start_at, cursor) if moment is not None]
    if not schedule.catchup or not moments:
        current, _ = next(_starts(schedule, now))
        latest, _ = next(_starts(schedule, current - 1))
        # After the end the latest interval is the last one, however long ago it was.
        moments.append(latest if end_at is None else min(latest, end_at))
    return max(moments)


def _bounds(schedule: Schedule) -> tuple[float | None, float | None]:
    """Return a moment in the first interval and one in the last, None where the schedule is open.

    Start and end name a span, such as a day. The first interval is the first that starts in the span, or
    else the one under way when it begins; the last is the last that starts in its span or before.
    """
    start_at = end_at = None
    if schedule.end is not None:
        end_at = _span("--end", schedule.end, schedule.timezone)[1] - 1
    if schedule.start is not None:
        start_at, over_at = _span("--start", schedule.start, schedule.timezone)
        if schedule.expression != ONCE:
            start_at = _first_start(schedule, start_at, over_at)
    return start_at, end_at


def _first_start(schedule: Schedule, begins_at: float, over_at: float) -> float:
    first = next(start_at for start_at, _ in _starts(schedule, begins_at) if start_at >= begins_at)
    return first if first < over_at else begins_at


def _span(option: str, text: str, timezone: str) -> tuple[float, float]:
    """Return when the year, month, day, hour or moment begins that the text names, and when it is over."""
    from dataflow.model import clock

    if not _SPAN_FORM.fullmatch(text):
        raise BadInput(f"{option} {quoted(text)} is not a date. Write YYYY-MM-DD or YYYY-MM-DDTHH:MM.")
    tz = clock.zone(timezone)
    try:
        if grain := _DATE_GRAINS.get(len(text)):
            begins, ends = (moment.timestamp() for moment in clock.period_interval(text, grain, tz))
        else:
            moment = clock.parse_moment(text)
            begins = (moment if moment.tzinfo else moment.replace(tzinfo=tz)).timestamp()
            ends = begins + (1 if ":" in text[:14] else clock.HOUR_SECONDS)
    except clock.BEYOND_CALENDAR:
        raise BadInput(f"{option} {quoted(text)} is not a calendar date. Write YYYY-MM-DD.") from None
    if int(text[:4]) not in YEARS[option]:
        raise BadInput(
            f"{option} {quoted(text)} is not within the years {YEARS[option][0]} to {YEARS[option][-1]}."
        )
    return begins, ends
