"""The interval of a dataid: from when until when, in the pipeline's time zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

from dataflow.errors import BadInput
from dataflow.model import clock
from dataflow.model.cron import ONCE, calendar_of
from dataflow.model.grain import Grain
from dataflow.model.interval_starts import interval_starts
from dataflow.model.record import record
from dataflow.model.schedule import ONCE_DATAID
from dataflow.model.wording import quoted
from dataflow.pipelines.definitions import Timing


@record
class Span:
    """From when until when an interval lasts, both with their zone."""

    start: datetime
    end: datetime

    def __iter__(self) -> Iterator[datetime]:
        return iter((self.start, self.end))


def interval_of(timing: Timing, dataid: str) -> Span:
    """The interval whose dataid this is; BadInput when the schedule has none of that name."""
    tz = clock.zone(timing.timezone)
    if timing.schedule == ONCE:
        if dataid != ONCE_DATAID:
            raise BadInput(f"{quoted(dataid)} is no interval of {ONCE}; its only one is {ONCE_DATAID}.")
        moment = datetime.fromisoformat(timing.start).replace(tzinfo=tz) if timing.start else datetime.now(tz)
        return Span(moment, moment)
    moment_at = _moment_in(timing.schedule, dataid, tz)
    try:
        starts = interval_starts(timing.schedule, tz, moment_at)
        (begins_at, found), (ends_at, _) = next(starts), next(starts)
    except clock.BEYOND_CALENDAR as error:
        raise BadInput(f"{quoted(dataid)} is no interval that ends within the calendar.") from error
    if found != dataid:
        raise BadInput(
            f"{quoted(dataid)} is no interval of the schedule {timing.schedule}; the nearest is {found}."
        )
    return Span(datetime.fromtimestamp(begins_at, tz), datetime.fromtimestamp(ends_at, tz))


def find_start_before(timing: Timing, span: Span) -> datetime | None:
    """When the interval before one begins; None where a schedule has no other."""
    if timing.schedule == ONCE:
        return None
    tz = clock.zone(timing.timezone)
    begins_at, _ = next(interval_starts(timing.schedule, tz, span.start.timestamp() - 1))
    return datetime.fromtimestamp(begins_at, tz)


def list_samples(timing: Timing) -> list[Span]:
    """A few intervals of a schedule that lie far apart, to try on them what should do for all."""
    tz = clock.zone(timing.timezone)
    if timing.schedule == ONCE:
        return [interval_of(timing, ONCE_DATAID)]
    samples = []
    for moment in (datetime(2023, 2, 14, tzinfo=tz), datetime(2024, 7, 1, tzinfo=tz)):
        starts = interval_starts(timing.schedule, tz, moment.timestamp())
        begins_at, ends_at = next(starts)[0], next(starts)[0]
        samples.append(Span(datetime.fromtimestamp(begins_at, tz), datetime.fromtimestamp(ends_at, tz)))
    return samples


def span_of(dataid: str, grain: Grain, timezone: str) -> Span | None:
    """The interval of a dataid that no schedule has made; None for a grain that is not of time."""
    tz = clock.zone(timezone)
    if grain in (Grain.TEXT, Grain.SEQUENCE):
        return None
    if grain is Grain.HOURLY:
        return Span(*clock.hour_interval(dataid, tz))
    return Span(*clock.period_interval(dataid, grain, tz))


def _moment_in(expression: str, dataid: str, tz: tzinfo) -> float:
    """A moment inside the interval that a dataid names."""
    grain = calendar_of(expression)[0]
    try:
        if grain is Grain.TEXT:
            return clock.parse_moment(dataid).timestamp()
        if grain is Grain.HOURLY:
            _, end = clock.hour_interval(dataid, tz)
        else:
            _, end = clock.period_interval(dataid, grain, tz)
    except clock.BEYOND_CALENDAR as error:
        raise BadInput(f"{quoted(dataid)} is no interval of the schedule {expression}.") from error
    return (end - timedelta(seconds=1)).timestamp()
