"""Schedules: which intervals a calendar dataset has, and which of them have ended.

Imports of clock are inside functions, because dates cost start-up time that few jobs need to pay.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.cron import ONCE, calendar_of, canonical_expression
from dataflow.model.dataid import interval_of
from dataflow.model.grain import Grain, check_timezone
from dataflow.model.record import record
from dataflow.model.records import ON_DEMAND
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Before 1900 zones have offsets of odd seconds; in 9999 the calendar ends, and an end there means never.
YEARS = {"--start": range(1900, 9000), "--end": range(1900, 10000)}
ONCE_DATAID = "once"

_MOMENT_FORM = re.compile(
    "[0-9]{4}(-Q[1-4]|(-[0-9]{2}){0,2})|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}(:[0-9:]+)?(Z|[+-][0-9:]+)?"
)
_DATE_GRAINS = {4: Grain.YEARLY, 7: Grain.MONTHLY, 10: Grain.DAILY}


@record
class Schedule:
    """A checked schedule; start and end as given.

    `by_day`: the dataids are days, even if the expression alone would give moments; as for weekdays.
    """

    expression: str
    timezone: str
    start: str | None
    end: str | None
    catchup: bool
    by_day: bool = False


@record
class Interval:
    """One interval of a schedule: its dataid, start and end in epoch seconds."""

    dataid: str
    start_at: float
    end_at: float


def parse_schedule(
    expression: str, timezone: str, start: str | None, end: str | None, catchup: bool
) -> Schedule:
    """Return the schedule, its expression in canonical form; BadInput for any invalid part."""
    schedule = Schedule(canonical_expression(expression), check_timezone(timezone), start, end, catchup)
    _bounds(schedule)
    return schedule


def has_no_interval(schedule: Schedule) -> bool:
    """Return True if no interval starts between its start and end, so none is ever due."""
    start_at, end_at = _bounds(schedule)
    if start_at is None or end_at is None or schedule.expression == ON_DEMAND:
        return False
    if schedule.expression != ONCE:
        start_at = _first_from(schedule, start_at)
    return start_at > end_at


def grain_of(schedule: Schedule) -> Grain:
    """Return the grain of the schedule's dataids."""
    return calendar_of(schedule.expression)[0]


def names_interval(expression: str, dataid: str) -> bool:
    """Return whether a text dataid is written like those of a schedule."""
    from dataflow.model import clock

    if expression == ONCE:
        return dataid == ONCE_DATAID
    try:
        return clock.minute_text(int(clock.parse_moment(dataid).timestamp())) == dataid
    except clock.BEYOND_CALENDAR:
        return False


def find_start_moment(schedule: Schedule) -> float | None:
    """Return the earliest start of an interval; None if there is no limit."""
    return _bounds(schedule)[0]


def due_intervals(
    schedule: Schedule, cursor: float | None, now: float, limit: int
) -> tuple[list[Interval], float | None]:
    """Return the oldest intervals that have ended and are not added yet, and when the next will be due.

    The cursor is the end of the last interval added, None before the first. When the limit cut the list
    the next is due already; when none will ever be due again, it is None. Without catch-up, and without
    both start and cursor, only the latest interval that has ended is due.
    """
    start_at, end_at = _bounds(schedule)
    if schedule.expression == ON_DEMAND:
        return [], None
    if schedule.expression == ONCE:
        return _once(now if start_at is None else start_at, end_at, cursor, now, limit)
    starts = _starts(schedule, _oldest_start(schedule, start_at, cursor, now))
    due: list[Interval] = []
    begins_at, dataid = next(starts)
    for ends_at, following in starts:
        if end_at is not None and begins_at > end_at:
            break
        # An interval of length 0, where the zone skipped a day, does not exist.
        if ends_at > begins_at:
            if ends_at > now or len(due) >= limit:
                return due, ends_at
            due.append(Interval(dataid, begins_at, ends_at))
        begins_at, dataid = ends_at, following
    return due, None


def find_interval(schedule: Schedule, dataid: str) -> Interval | None:
    """Return the interval that a canonical dataid names; None if the schedule has none of that name."""
    from dataflow.model import clock

    if _is_plain(schedule):
        return None
    try:
        found = named_interval(schedule, dataid)
    except clock.BEYOND_CALENDAR:
        return None
    start_at, end_at = _bounds(schedule)
    if found is None or (start_at is not None and found.start_at < start_at):
        return None
    return None if end_at is not None and found.start_at > end_at else found


def named_interval(schedule: Schedule, dataid: str) -> Interval | None:
    """Return the interval of a dataid, also before the schedule's start or after its end.

    None if the schedule never starts one of that name. One of BEYOND_CALENDAR if it does not end within the
    calendar, or the dataid is not a time.
    """
    from dataflow.model import clock

    grain = Grain.DAILY if schedule.by_day else grain_of(schedule)
    if grain is Grain.TEXT:
        moment = clock.parse_moment(dataid)
        at = moment.timestamp() if moment.tzinfo else None
    else:
        nominal = interval_of(dataid, grain, schedule.timezone)
        at = None if nominal is None else nominal[0].timestamp()
    if at is None:
        return None
    starts = _starts(schedule, at)
    begins_at, found = next(starts)
    # The first contains midnight and may have begun the day before; clock changes may add another.
    for _ in range(3):
        ends_at, following = next(starts)
        if found == dataid:  # of length 0 where the zone skipped the day
            return Interval(dataid, begins_at, ends_at) if ends_at > begins_at else None
        begins_at, found = ends_at, following
    return None


def keeps_start(before: Schedule, after: Schedule, now: float) -> bool:
    """Return True if a start that moves with the clock would drop an interval that has begun.

    A start_date such as "the first of this month" moves just when the interval it started has ended.
    """
    old, new = before.start, after.start
    if after.catchup or new is None or before.expression != after.expression or _is_plain(after):
        return False
    if before.timezone != after.timezone:
        return False
    moment = _moment("--start", new, after.timezone)
    if old is not None and _moment("--start", old, before.timezone) >= moment:
        return False
    underway = _starts(before, now)
    next(underway)
    # A later start was set on purpose: nothing should run until then.
    return moment <= next(underway)[0]


def today_interval(timezone: str, now: float) -> Interval:
    """Return the current day in the zone."""
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


def _is_plain(schedule: Schedule) -> bool:
    """Return True for a schedule without consecutive intervals."""
    return schedule.expression in (ONCE, ON_DEMAND)


def _starts(schedule: Schedule, at: float) -> Iterator[tuple[float, str]]:
    from dataflow.model import clock
    from dataflow.model.interval_starts import interval_starts

    anchor = 0.0 if schedule.start is None else _moment("--start", schedule.start, schedule.timezone)
    zone = clock.zone(schedule.timezone)
    return interval_starts(schedule.expression, zone, at, anchor, schedule.by_day)


def _first_from(schedule: Schedule, at: float) -> float:
    """Return the start of the first interval that starts at or after a time."""
    return next(start_at for start_at, _ in _starts(schedule, at) if start_at >= at)


def _oldest_start(schedule: Schedule, start_at: float | None, cursor: float | None, now: float) -> float:
    """Return the start of the oldest interval that may still be added."""
    found = [] if start_at is None else [_first_from(schedule, start_at)]
    if cursor is not None:
        # After a change of the schedule the cursor may be inside an interval.
        found.append(next(_starts(schedule, cursor))[0])
    if not schedule.catchup or not found:
        current, _ = next(_starts(schedule, now))
        latest, _ = next(_starts(schedule, current - 1))
        found.append(latest)
    return max(found)


def _bounds(schedule: Schedule) -> tuple[float | None, float | None]:
    """Return the earliest and latest start of an interval; None for no limit."""
    start, end, timezone = schedule.start, schedule.end, schedule.timezone
    return (
        None if start is None else _moment("--start", start, timezone),
        None if end is None else _moment("--end", end, timezone),
    )


def _moment(option: str, text: str, timezone: str) -> float:
    """Return the time that a string names; a year, quarter, month, day or hour means its start."""
    from dataflow.model import clock

    if not _MOMENT_FORM.fullmatch(text):
        raise BadInput(f"{option} {quoted(text)} is not a date. Write YYYY-MM-DD or YYYY-MM-DDTHH:MM.")
    tz = clock.zone(timezone)
    try:
        if grain := Grain.QUARTERLY if "Q" in text else _DATE_GRAINS.get(len(text)):
            moment = clock.period_interval(text, grain, tz)[0]
        else:
            moment = clock.parse_moment(text)
    except clock.BEYOND_CALENDAR:
        raise BadInput(f"{option} {quoted(text)} is not a calendar date. Write YYYY-MM-DD.") from None
    if moment.year not in YEARS[option]:
        raise BadInput(
            f"{option} {quoted(text)} is not within the years {YEARS[option][0]} to {YEARS[option][-1]}."
        )
    return (moment if moment.tzinfo else moment.replace(tzinfo=tz)).timestamp()
