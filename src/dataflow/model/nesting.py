"""Grains that nest: the hours of a day, the days of a month, and back.

An hour belongs to the day that the clock of its zone shows when it begins, so a day has 23, 24 or 25 hours.
Imports of clock are inside functions, because dates cost start-up time that few jobs need to pay.
"""

from __future__ import annotations

from functools import lru_cache

from dataflow.model.grain import Grain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date

MOST_PARTS = {
    Grain.HOURLY: {
        Grain.DAILY: 25,
        Grain.WEEKLY: 7 * 24 + 1,
        Grain.MONTHLY: 31 * 24 + 1,
        Grain.QUARTERLY: 92 * 24 + 1,
        Grain.YEARLY: 366 * 24 + 1,
    },
    Grain.DAILY: {Grain.WEEKLY: 7, Grain.MONTHLY: 31, Grain.QUARTERLY: 92, Grain.YEARLY: 366},
    Grain.MONTHLY: {Grain.QUARTERLY: 3, Grain.YEARLY: 12},
    Grain.QUARTERLY: {Grain.YEARLY: 4},
}
"""The grains that nest, the finer first, and how many of it the coarser has at most."""

HOURS_A_DAY = 24
DAY_LENGTH = len("2026-08-20")
_SLACK_SECONDS = 3 * 3600  # clocks that change at midnight move it by less


def nests(fine: Grain, coarse: Grain) -> bool:
    """Return whether every dataid of one grain lies within one dataid of the other."""
    return coarse in MOST_PARTS.get(fine, {})


def whole_of(dataid: str, fine: Grain, coarse: Grain) -> str | None:
    """Return the coarser dataid that a dataid lies in; None before the first week of the calendar."""
    from dataflow.model import clock

    try:
        return clock.period_text(clock.period_of(_first_day(dataid, fine), coarse), coarse)
    except clock.BEYOND_CALENDAR:
        return None


@lru_cache(maxsize=64)
def parts_of(dataid: str, coarse: Grain, fine: Grain, timezone: str) -> tuple[str, ...]:
    """Return the finer dataids that lie in a dataid, in order."""
    from dataflow.model import clock

    days = _days(dataid, coarse)
    if fine is Grain.DAILY:
        return tuple([clock.period_text(day, Grain.DAILY) for day in days])
    if fine is Grain.HOURLY:
        return tuple([hour for day in days for hour in _hours(day, timezone)])
    first = clock.period_of(clock.first_day(days[0], Grain.DAILY), fine)
    last = clock.period_of(clock.first_day(days[-1], Grain.DAILY), fine)
    return tuple([clock.period_text(period, fine) for period in range(first, last + 1)])


def _first_day(dataid: str, grain: Grain) -> date:
    from dataflow.model import clock

    if grain is Grain.HOURLY:
        dataid, grain = dataid[:DAY_LENGTH], Grain.DAILY
    return clock.first_day(clock.period_from_text(dataid, grain), grain)


def _days(dataid: str, grain: Grain) -> range:
    """Return the days of a dataid, as ordinals."""
    from datetime import date

    from dataflow.model import clock

    period = clock.period_from_text(dataid, grain)
    try:
        end = clock.first_day(period + 1, grain).toordinal()
    except clock.BEYOND_CALENDAR:
        end = date.max.toordinal() + 1
    return range(clock.first_day(period, grain).toordinal(), end)


def _hours(day: int, timezone: str) -> Iterator[str]:
    """Yield the hours that begin while the zone's clock shows a day."""
    from dataflow.model import clock

    tz, text = clock.zone(timezone), clock.period_text(day, Grain.DAILY)
    try:
        start, end = (clock.period_start(number, Grain.DAILY, tz) for number in (day, day + 1))
        offsets = {clock.hour_text(at, tz)[len("2026-08-20T13") :] for at in (start - 1, start, end - 1, end)}
        is_plain = end - start == HOURS_A_DAY * clock.HOUR_SECONDS and len(offsets) == 1
    except clock.BEYOND_CALENDAR:
        if timezone != "UTC":
            return
        is_plain, offsets = True, {"+00:00"}
    if is_plain:
        (offset,) = offsets
        yield from [f"{text}T{hour:02d}{offset}" for hour in range(HOURS_A_DAY)]
        return
    try:
        hour = clock.hour_floor(start - _SLACK_SECONDS, tz)
        while hour < end + _SLACK_SECONDS:
            if (written := clock.hour_text(hour, tz))[:DAY_LENGTH] == text:
                yield written
            hour = clock.hour_after(hour, tz)
    except clock.BEYOND_CALENDAR:
        return
