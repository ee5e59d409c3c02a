"""Calendar arithmetic: days, weeks, months, quarters and years as numbers in a row, hours as epoch seconds.

It imports datetime at the top, so modules on the start-up path import it inside functions.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo

from dataflow.errors import BadInput
from dataflow.model.grain import Grain
from dataflow.model.wording import quoted

MONTHS_A_YEAR = 12
DAYS = {Grain.DAILY: 1, Grain.WEEKLY: 7}
MONTHS = {Grain.MONTHLY: 1, Grain.QUARTERLY: 3, Grain.YEARLY: MONTHS_A_YEAR}
HOUR_SECONDS = 3600
# How many characters of a date form the dataid; quarters have another form.
WRITTEN_LENGTH = {Grain.DAILY: 10, Grain.WEEKLY: 10, Grain.MONTHLY: 7, Grain.YEARLY: 4}
# What arithmetic raises outside the years 1 to 9999.
BEYOND_CALENDAR = (OverflowError, ValueError)


def zone(name: str) -> tzinfo:
    """Return the time zone of that name; BadInput if this machine has no data for it."""
    if name == "UTC":
        return UTC
    # Imported here because most zones are UTC and zoneinfo costs start-up time.
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise BadInput(
            f"This machine has no data for the time zone {quoted(name)}. Install tzdata or correct the name."
        ) from error


def period_of(day: date, grain: Grain) -> int:
    """Return the number of the day, week, month, quarter or year that the day lies in."""
    if grain in DAYS:
        return day.toordinal() // DAYS[grain]  # day 0 of the proleptic calendar is a Sunday
    return (day.year * MONTHS_A_YEAR + day.month - 1) // MONTHS[grain]


def first_day(period: int, grain: Grain) -> date:
    """Return the first day of a period; one of BEYOND_CALENDAR if there is none."""
    if grain in DAYS:
        return date.fromordinal(period * DAYS[grain])
    year, month = divmod(period * MONTHS[grain], MONTHS_A_YEAR)
    return date(year, month + 1, 1)


def period_text(period: int, grain: Grain) -> str:
    """Return the dataid of a period."""
    if grain == Grain.QUARTERLY:
        return f"{first_day(period, grain).year:04d}-Q{period % 4 + 1}"
    return first_day(period, grain).isoformat()[: WRITTEN_LENGTH[grain]]


def period_from_text(dataid: str, grain: Grain) -> int:
    """Return the period of a dataid; ValueError if it is not a date."""
    if grain == Grain.QUARTERLY and dataid[5:6] == "Q":
        dataid = f"{dataid[:4]}-{(int(dataid[6:]) - 1) * MONTHS[grain] + 1:02d}"
    return period_of(date.fromisoformat((dataid + "-01-01")[:10]), grain)


def period_start(period: int, grain: Grain, tz: tzinfo, hour: int = 0, minute: int = 0) -> int:
    """Return when a period begins, at that time of its first day, in epoch seconds.

    A skipped time counts as if the clocks had not changed; of a repeated time, the first.
    """
    day = first_day(period, grain)
    return int(datetime(day.year, day.month, day.day, hour, minute, tzinfo=tz).timestamp())


def local_date(at: float, tz: tzinfo) -> date:
    """Return the date that the zone's clocks show at an epoch second."""
    return datetime.fromtimestamp(at, tz).date()


def readings(wall: datetime, tz: tzinfo) -> list[datetime]:
    """Return the moments at which the zone's clocks show a naive time: none in a gap, two when it repeats."""
    first, second = wall.replace(tzinfo=tz, fold=0), wall.replace(tzinfo=tz, fold=1)
    before, after = first.utcoffset() or timedelta(), second.utcoffset() or timedelta()
    if before == after:
        return [first]
    return [first, second] if before > after else []


def hour_floor(at: int, tz: tzinfo, minute: int = 0) -> int:
    """Return the latest epoch second, not after `at`, at which the zone's clocks show that minute."""
    local = datetime.fromtimestamp(at, tz)
    # More than once only where clocks change by a part of an hour.
    while excess := (local.minute - minute) % 60 * 60 + local.second:
        at -= excess
        local = datetime.fromtimestamp(at, tz)
    return at


def hour_after(start: int, tz: tzinfo, minute: int = 0) -> int:
    """Return the next epoch second after `start` at which the zone's clocks show that minute."""
    ahead = HOUR_SECONDS
    while (later := hour_floor(start + ahead, tz, minute)) <= start:
        ahead += HOUR_SECONDS // 2
    return later


def hour_text(at: int, tz: tzinfo) -> str:
    """Return the hourly dataid of the hour that the zone's clocks show at an epoch second."""
    return datetime.fromtimestamp(at, tz).isoformat(timespec="hours")


def hour_from_text(dataid: str) -> int:
    """Return the epoch second at which a canonical hourly dataid begins."""
    return int(datetime.fromisoformat(dataid).timestamp())


def minute_text(at: int) -> str:
    """Return an epoch second as a text dataid, in UTC so that it sorts in order through clock changes."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds" if at % 60 else "minutes")


def parse_moment(text: str) -> datetime:
    """Return an ISO date or date and time, naive if it names no offset; ValueError if it does not exist."""
    return datetime.fromisoformat(text)


def hour_interval(dataid: str, tz: tzinfo) -> tuple[datetime, datetime]:
    """Return when an hour begins and ends, with fixed offsets."""
    start = datetime.fromisoformat(dataid)
    try:
        end = datetime.fromtimestamp(hour_after(hour_from_text(dataid), tz), tz)
    except BEYOND_CALENDAR:
        end = datetime.max.replace(tzinfo=start.tzinfo)
    return start, _fixed_offset(end)


def period_interval(dataid: str, grain: Grain, tz: tzinfo) -> tuple[datetime, datetime]:
    """Return when a day, week, month, quarter or year begins and ends, with fixed offsets."""
    period = period_from_text(dataid, grain)
    start = _midnight(first_day(period, grain), tz)
    try:
        end = _midnight(first_day(period + 1, grain), tz)
    except BEYOND_CALENDAR:
        end = datetime.max.replace(tzinfo=tz)
    return _fixed_offset(start), _fixed_offset(end)


def _midnight(day: date, tz: tzinfo) -> datetime:
    midnight = datetime(day.year, day.month, day.day)
    found = readings(midnight, tz)
    return found[0] if found else midnight.replace(tzinfo=tz).astimezone(UTC).astimezone(tz)


def _fixed_offset(moment: datetime) -> datetime:
    # Python subtracts two times of one zone by the wall clock, which is wrong when the clocks change.
    return moment.replace(tzinfo=timezone(moment.utcoffset() or timedelta()))
