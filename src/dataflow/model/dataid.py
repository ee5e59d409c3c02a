"""Dataids: canonical form, order, neighbours and time intervals, by grain.

Imports of clock are inside functions, because dates cost start-up time that text and sequence need not pay.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.free_text import LONGEST, canonical_text, length_first, natural_key
from dataflow.model.grain import Grain
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_FORMS = {
    Grain.HOURLY: "an hour is written 2026-08-20T13+01:00, or 2026-08-20T13 for the time zone's own clock",
    Grain.DAILY: "a day is written YYYY-MM-DD, such as 2026-08-20",
    Grain.WEEKLY: "a week is written as the date of its Sunday, YYYY-MM-DD, such as 2026-08-16",
    Grain.MONTHLY: "a month is written YYYY-MM, such as 2026-08",
    Grain.QUARTERLY: "a quarter is written YYYY-QN, such as 2026-Q3",
    Grain.YEARLY: "a year is written YYYY, such as 2026",
    Grain.SEQUENCE: f"a sequence number is 0, 1, 2 … of at most {LONGEST} digits, without sign",
}
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
# start-up: texts, not compiled patterns, because a job has one grain
_PATTERNS = {
    Grain.HOURLY: _DAY + "[T ][0-9]{2}(:[0-9]{2}){0,2}(Z|[+-][0-9]{2}(:?[0-9]{2}){0,2})?",
    Grain.DAILY: _DAY,
    Grain.WEEKLY: _DAY,
    Grain.MONTHLY: "[0-9]{4}-[0-9]{2}(-01)?",
    Grain.QUARTERLY: "[0-9]{4}-(Q[1-4]|(01|04|07|10)(-01)?)",
    Grain.YEARLY: "[0-9]{4}(-01-01)?",
    Grain.SEQUENCE: f"[0-9]{{1,{LONGEST}}}",
}
_split_number = re.compile(r"(.*?)([0-9]+)", re.DOTALL).fullmatch

MOST = 100_000_000
"""Dataids of one range; a larger range is probably a mistake."""


def canonical_dataid(text: str, grain: Grain, timezone: str) -> str:
    """Return the canonical form of a dataid; BadInput with the reason and the accepted form."""
    if grain == Grain.TEXT:
        return canonical_text(text)
    if not re.fullmatch(_PATTERNS[grain], text):
        raise _refused(text, f"is not a dataid of grain {grain}", grain)
    if grain == Grain.SEQUENCE:
        return text.lstrip("0") or "0"
    if grain == Grain.HOURLY:
        return _canonical_hour(text, timezone)
    from dataflow.model import clock

    try:
        period = clock.period_from_text(text, grain)
    except ValueError:
        raise _refused(text, "is not a calendar date", grain) from None
    if grain == Grain.WEEKLY and (sunday := clock.period_text(max(period, 1), grain)) != text:
        raise _refused(text, f"is not a Sunday; its week is {sunday}", grain)
    return clock.period_text(period, grain)


def sort_key(dataid: str, grain: Grain) -> str:
    """Return text whose bytewise order is the grain's order; the dataid must be canonical."""
    if grain == Grain.TEXT:
        return natural_key(dataid)
    if grain == Grain.SEQUENCE:
        return length_first(dataid)
    if grain == Grain.HOURLY:
        from datetime import UTC, datetime

        return datetime.fromisoformat(dataid).astimezone(UTC).isoformat(timespec="minutes")
    return dataid


def next_dataid(dataid: str, grain: Grain, timezone: str) -> str | None:
    """Return the dataid that follows by arithmetic; None for text and at the end of the calendar."""
    return _neighbour(dataid, grain, timezone, forward=True)


def previous_dataid(dataid: str, grain: Grain, timezone: str) -> str | None:
    """Return the dataid before by arithmetic; None for text, before 0 and before the year 1."""
    return _neighbour(dataid, grain, timezone, forward=False)


def dataid_range(first: str, last: str, grain: Grain, timezone: str) -> Iterator[str]:
    """Return the dataids from first to last, both included, one at a time.

    Both ends are checked now: BadInput if either cannot be taken, the range is backwards, or a
    text range does not count up in the digits it ends with.
    """
    first, last = canonical_dataid(first, grain, timezone), canonical_dataid(last, grain, timezone)
    if first == last:
        return iter((first,))
    if grain in (Grain.TEXT, Grain.SEQUENCE):
        return digit_ranges(first, last)
    if sort_key(last, grain) < sort_key(first, grain):
        raise refuse_backwards(first, last)
    if grain == Grain.HOURLY:
        return _hours(first, last, timezone)
    from dataflow.model import clock

    start, end = clock.period_from_text(first, grain), clock.period_from_text(last, grain)
    return (clock.period_text(period, grain) for period in range(start, end + 1))


def interval_of(dataid: str, grain: Grain, timezone: str) -> tuple[datetime, datetime] | None:
    """Return when the dataid's time begins and ends, with fixed offsets; None for sequence and text."""
    if grain in (Grain.TEXT, Grain.SEQUENCE):
        return None
    from dataflow.model import clock

    tz = clock.zone(timezone)
    return (
        clock.hour_interval(dataid, tz) if grain == Grain.HOURLY else clock.period_interval(dataid, grain, tz)
    )


def _neighbour(dataid: str, grain: Grain, timezone: str, *, forward: bool) -> str | None:
    if grain == Grain.TEXT:
        return None
    if grain == Grain.SEQUENCE:
        number = int(dataid) + (1 if forward else -1)
        return str(number) if number >= 0 else None
    from dataflow.model import clock

    try:
        if grain == Grain.HOURLY:
            tz, start = clock.zone(timezone), clock.hour_from_text(dataid)
            hour = clock.hour_after(start, tz) if forward else clock.hour_floor(start - 1, tz)
            return clock.hour_text(hour, tz)
        return clock.period_text(clock.period_from_text(dataid, grain) + (1 if forward else -1), grain)
    except clock.BEYOND_CALENDAR:
        return None


def _canonical_hour(text: str, timezone: str) -> str:
    from dataflow.model import clock

    tz = clock.zone(timezone)
    try:
        moment = clock.parse_moment(text)
        if moment.tzinfo is None:
            moment = _only_reading(text, clock.readings(moment, tz), timezone)
        start = int(moment.timestamp())
        hour = clock.hour_floor(start, tz)
        written = clock.hour_text(hour, tz)
    except clock.BEYOND_CALENDAR:
        raise _refused(text, "is not a calendar date and hour", Grain.HOURLY) from None
    if hour != start:
        reason = f"is not the start of an hour in {timezone}; its hour is {written}"
        raise _refused(text, reason, Grain.HOURLY)
    return written


def _only_reading(text: str, moments: list[datetime], timezone: str) -> datetime:
    if not moments:
        raise _refused(text, f"does not exist in {timezone}: the clocks go forward over it", Grain.HOURLY)
    if len(moments) > 1:
        choices = " or ".join([moment.isoformat(timespec="hours") for moment in moments])
        raise _refused(text, f"occurs twice in {timezone}: write {choices}", Grain.HOURLY)
    return moments[0]


def _hours(first: str, last: str, timezone: str) -> Iterator[str]:
    from dataflow.model import clock

    tz = clock.zone(timezone)
    hour, end = clock.hour_from_text(first), clock.hour_from_text(last)
    while hour <= end:
        yield clock.hour_text(hour, tz)
        hour = clock.hour_after(hour, tz)


def _refused(text: str, reason: str, grain: Grain) -> BadInput:
    return BadInput(f"Dataid {quoted(text)} {reason}. Accepted: {_FORMS[grain]}.")


def digit_ranges(first: str, last: str) -> Iterator[str]:
    """Return every dataid from first to last, counting their final digits.

    BadInput if they differ elsewhere or in their zero padding.
    """
    start, end = _split_number(first), _split_number(last)
    if not start or not end or start[1] != end[1]:
        raise _refuse(first, last, "differ in more than a final number")
    padded = start[2].startswith("0") and start[2] != "0"
    if len(start[2]) != len(end[2]) and (padded or end[2].startswith("0")):
        raise _refuse(first, last, "are padded with zeros differently")
    low, high = int(start[2]), int(end[2])
    if high < low:
        raise refuse_backwards(first, last)
    if high - low >= MOST:
        raise BadInput(
            f"From {quoted(first)} to {quoted(last)} are {high - low + 1:,} dataids, more than the "
            f"limit of {MOST:,}. Split the range."
        )
    prefix, width = start[1], len(start[2])
    return (f"{prefix}{number:0{width}d}" for number in range(low, high + 1))


def refuse_backwards(first: str, last: str) -> BadInput:
    """Return the error for a range that ends before it starts."""
    return BadInput(f"--to {quoted(last)} is before --from {quoted(first)}. Swap them.")


def _refuse(first: str, last: str, reason: str) -> BadInput:
    return BadInput(
        f"--from {quoted(first)} and --to {quoted(last)} {reason}, so the dataids between them are "
        "unknown. List the dataids, or use --file."
    )
