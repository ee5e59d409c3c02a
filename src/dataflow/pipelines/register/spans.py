"""The interval of a dataid: its start and end, in the pipeline's time zone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, tzinfo

from dataflow.errors import BadInput
from dataflow.model import clock
from dataflow.model.cron import ONCE, has_some_days, is_step, step_seconds
from dataflow.model.grain import Grain
from dataflow.model.interval_starts import interval_starts
from dataflow.model.record import record, replace
from dataflow.model.records import ON_DEMAND
from dataflow.model.schedule import ONCE_DATAID, find_start_moment, named_interval
from dataflow.model.wording import quoted
from dataflow.pipelines.declare.timing import Timing

DATE_LENGTH = len("2026-08-20")
SAMPLES = (datetime(2023, 2, 14), datetime(2024, 7, 1))


@record
class Span:
    """Start and end of an interval, both with their time zone."""

    start: datetime
    end: datetime

    def __iter__(self) -> Iterator[datetime]:
        return iter((self.start, self.end))


def interval_of(timing: Timing, dataid: str, by_day: bool | None = None) -> Span:
    """The interval of a dataid; BadInput if the schedule has no such interval.

    `by_day`: whether the dataids of a schedule of some days are days. Default: if this one is.
    """
    tz = clock.zone(timing.timezone)
    if timing.schedule == ONCE:
        return _once(timing, dataid, tz)
    if timing.schedule == ON_DEMAND or is_step(timing.schedule):
        return _span_from(timing, _read_moment(timing.schedule, dataid, tz))
    if by_day is None:
        by_day = len(dataid) == DATE_LENGTH and has_some_days(timing.schedule)
    grain = Grain.DAILY if by_day else timing.grain
    moment_at = _moment_in(timing.schedule, dataid, grain, tz)
    try:
        found = named_interval(replace(timing.parsed, by_day=by_day), dataid)
    except clock.BEYOND_CALENDAR as error:
        raise BadInput(f"{quoted(dataid)} is not an interval that ends within the calendar.") from error
    if found is None:
        _, nearest = next(interval_starts(timing.schedule, tz, moment_at, by_day=by_day))
        raise BadInput(
            f"{quoted(dataid)} is not an interval of the schedule {timing.schedule}; the nearest is "
            f"{nearest}."
        )
    return Span(datetime.fromtimestamp(found.start_at, tz), datetime.fromtimestamp(found.end_at, tz))


def written_dataid(timing: Timing, dataid: str) -> str:
    """The canonical form of a dataid that --dataid gives as a moment in any zone; others unchanged.

    A run on demand may have a day as its dataid, which is kept.
    """
    is_day = timing.schedule == ON_DEMAND and len(dataid) == DATE_LENGTH
    if is_day or not (timing.schedule == ON_DEMAND or is_step(timing.schedule)):
        return dataid
    moment = _read_moment(timing.schedule, dataid, clock.zone(timing.timezone))
    return clock.minute_text(int(moment.timestamp()))


def find_start_before(timing: Timing, span: Span) -> datetime | None:
    """The start of the previous interval; None if the schedule has only one."""
    if timing.schedule in (ONCE, ON_DEMAND):
        return None
    if is_step(timing.schedule):
        return _later(span.start, -step_seconds(timing.schedule))
    tz = clock.zone(timing.timezone)
    begins_at, _ = next(interval_starts(timing.schedule, tz, span.start.timestamp() - 1))
    return datetime.fromtimestamp(begins_at, tz)


def list_samples(timing: Timing) -> list[Span]:
    """A few intervals of a schedule that lie far apart, as samples for all."""
    if timing.schedule == ONCE:
        return [interval_of(timing, ONCE_DATAID)]
    tz = clock.zone(timing.timezone)
    moments = [sample.replace(tzinfo=tz) for sample in SAMPLES]
    if timing.schedule == ON_DEMAND or is_step(timing.schedule):
        return [_span_from(timing, moment) for moment in moments]
    names = [next(interval_starts(timing.schedule, tz, moment.timestamp()))[1] for moment in moments]
    return [interval_of(timing, name, by_day=False) for name in names]


def span_of(dataid: str, grain: Grain, timezone: str) -> Span | None:
    """The interval of a dataid without a schedule; None for a grain without times."""
    has_times = grain not in (Grain.TEXT, Grain.SEQUENCE)
    return _period(dataid, grain, clock.zone(timezone)) if has_times else None


def _period(dataid: str, grain: Grain, tz: tzinfo) -> Span:
    if grain is Grain.HOURLY:
        return Span(*clock.hour_interval(dataid, tz))
    return Span(*clock.period_interval(dataid, grain, tz))


def _once(timing: Timing, dataid: str, tz: tzinfo) -> Span:
    if dataid != ONCE_DATAID:
        raise BadInput(f"{quoted(dataid)} is not an interval of {ONCE}; its only one is {ONCE_DATAID}.")
    start_at = find_start_moment(timing.parsed)
    moment = datetime.now(tz) if start_at is None else datetime.fromtimestamp(start_at, tz)
    return Span(moment, moment)


def _span_from(timing: Timing, moment: datetime) -> Span:
    """The interval of a fixed step that begins at a moment; on demand it has no length, as in Airflow."""
    seconds = 0 if timing.schedule == ON_DEMAND else step_seconds(timing.schedule)
    return Span(moment, _later(moment, seconds))


def _later(moment: datetime, seconds: int) -> datetime:
    # By elapsed time: adding to an aware datetime would follow the wall clock.
    return datetime.fromtimestamp(moment.timestamp() + seconds, moment.tzinfo)


def _read_moment(schedule: str, dataid: str, tz: tzinfo) -> datetime:
    try:
        moment = clock.parse_moment(dataid)
        return moment.astimezone(tz) if moment.tzinfo else moment.replace(tzinfo=tz)
    except clock.BEYOND_CALENDAR as error:
        what = "a pipeline without a schedule" if schedule == ON_DEMAND else f"the schedule {schedule}"
        raise BadInput(
            f"{quoted(dataid)} is not a dataid of {what}. Give a day or a moment: --dataid 2026-08-20 or "
            "--dataid 2026-08-20T13:00"
        ) from error


def _moment_in(expression: str, dataid: str, grain: Grain, tz: tzinfo) -> float:
    """A moment inside the interval that a dataid names."""
    try:
        if grain is Grain.TEXT:
            return clock.parse_moment(dataid).timestamp()
        end = _period(dataid, grain, tz).end
    except clock.BEYOND_CALENDAR as error:
        raise BadInput(f"{quoted(dataid)} is not an interval of the schedule {expression}.") from error
    return (end - timedelta(seconds=1)).timestamp()
