"""When a dataset is stale or overdue, from its limits and a time; pure.

It imports clock inside functions, as dataid.py does: most commands need no dates.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.dataid import interval_of, previous_dataid
from dataflow.model.days import day_before
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.wording import quoted

WITHOUT_TIME = frozenset({Grain.SEQUENCE, Grain.TEXT})
"""Grains whose dataids say nothing about time."""

_TIME_OF_DAY = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")


@record
class Lateness:
    """Why a dataset is late: the kind of incident, the chunk it is about, since when, and in words."""

    dataset: str
    kind: str
    dataid: str
    since_at: float
    reason: str


def parse_due_by(text: str) -> str:
    """Return a time of day as HH:MM; BadInput if it is none. Empty stays empty."""
    if not text:
        return text
    found = _TIME_OF_DAY.fullmatch(text.strip())
    if found is None:
        raise BadInput(
            f"{quoted(text)} is not a time of day. Write it as HH:MM, from 00:00 to 23:59, such as 06:00."
        )
    return f"{int(found[1]):02d}:{found[2]}"


def find_end(dataid: str, grain: Grain, timezone: str) -> float | None:
    """Return when the interval of a chunk ended, in epoch seconds; None for grains without time."""
    interval = interval_of(dataid, grain, timezone)
    return None if interval is None else interval[1].timestamp()


def find_due_times(now: float, due_by: str, timezone: str) -> tuple[float, float]:
    """Return the last time of day `due_by` that has passed, and the next one.

    A time that the clocks skip counts as if they had not changed; of a repeated one, the first.
    """
    from dataflow.model import clock

    zone = clock.zone(timezone)
    hour, minute = int(due_by[:2]), int(due_by[3:])
    today = clock.period_of(clock.local_date(now, zone), Grain.DAILY)
    times = [clock.period_start(day, Grain.DAILY, zone, hour, minute) for day in range(today - 2, today + 3)]
    return max(time for time in times if time <= now), min(time for time in times if time > now)


def find_last_ended(at: float, grain: Grain, timezone: str, days: str) -> str | None:
    """Return the dataid of the last interval that has ended at a time, among the days that the job has."""
    from dataflow.model import clock

    zone = clock.zone(timezone)
    if grain is Grain.HOURLY:
        current = clock.hour_text(clock.hour_floor(int(at), zone), zone)
    else:
        current = clock.period_text(clock.period_of(clock.local_date(at, zone), grain), grain)
    if grain is Grain.DAILY and days:
        return day_before(days, current)
    return previous_dataid(current, grain, timezone)
