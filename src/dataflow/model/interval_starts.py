"""Starts of the intervals of a schedule, preset or cron, across clock changes.

schedule.py applies start, end and catch-up.
"""

from __future__ import annotations

from dataflow.model import clock
from dataflow.model.cron import calendar_of, cron_starts, is_step, step_seconds
from dataflow.model.grain import Grain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import tzinfo


def interval_starts(
    expression: str, tz: tzinfo, at: float, anchor: float = 0.0, by_day: bool = False
) -> Iterator[tuple[float, str]]:
    """Return the start and dataid of each interval, in order, from the one that contains `at` on.

    Two starts are equal if the zone skipped a day; they never decrease. A fixed step counts from the anchor.
    The dataids of a schedule of some days are days if `by_day`, and moments if not.
    """
    if is_step(expression):
        return _step_starts(step_seconds(expression), anchor, at)
    grain, hour, minute = calendar_of(expression)
    if grain == Grain.TEXT:
        return _cron_starts(expression, tz, at, by_day)
    if grain == Grain.HOURLY:
        return _hour_starts(minute, tz, at)
    return _period_starts((grain, hour, minute), tz, at)


def _step_starts(step: int, anchor: float, at: float) -> Iterator[tuple[float, str]]:
    start = anchor + (at - anchor) // step * step
    while True:
        yield start, clock.minute_text(int(start))
        start += step


def _cron_starts(expression: str, tz: tzinfo, at: float, by_day: bool) -> Iterator[tuple[float, str]]:
    for start, day in cron_starts(expression, tz, at):
        yield float(start), day if by_day else clock.minute_text(start)


def _hour_starts(minute: int, tz: tzinfo, at: float) -> Iterator[tuple[float, str]]:
    def start_in(hour: int) -> int:
        # The first one: an hour is longer if the clocks go back by half an hour.
        return clock.hour_after(hour - 1, tz, minute)

    hour = clock.hour_floor(int(at), tz)
    if start_in(hour) > at:
        hour = clock.hour_floor(hour - 1, tz)
    while True:
        yield float(start_in(hour)), clock.hour_text(hour, tz)
        hour = clock.hour_after(hour, tz)


def _period_starts(calendar: tuple[Grain, int, int], tz: tzinfo, at: float) -> Iterator[tuple[float, str]]:
    grain, hour, minute = calendar
    # From the next period: clocks that go back over midnight show the old date again.
    period = clock.period_of(clock.local_date(at, tz), grain) + 1
    while (start := clock.period_start(period, grain, tz, hour, minute)) > at:
        period -= 1
    while True:
        yield float(start), clock.period_text(period, grain)
        period += 1
        start = clock.period_start(period, grain, tz, hour, minute)
