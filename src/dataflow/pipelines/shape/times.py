"""Dates and timestamps from ISO 8601 text; hour 24, second 60 and long fractions as in PostgreSQL.

Not accepted, although PostgreSQL does: `now`, `today`, `infinity`, BC, years after 9999, month names.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction

_TEXT = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{1,2})-(?P<day>[0-9]{1,2})"
    r"(?:[Tt ]\s*(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})"
    r"(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]*))?)?"
    r"\s*(?P<zone>[Zz]|[+-][0-9]{1,2}(?::?[0-9]{2}(?::?[0-9]{2})?)?)?)?"
)
_LARGEST_DISPLACEMENT = timedelta(hours=16)


def parse_timestamp(text: str) -> datetime:
    """The moment as a datetime in UTC; without a zone, UTC is assumed. Raises ValueError with the reason."""
    moment, displacement = _parse(text)
    try:
        return (moment - displacement).replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError("is outside the years 1 to 9999 in UTC") from None


def parse_local_timestamp(text: str) -> datetime:
    """A timestamp without zone; a zone other than UTC is rejected, PostgreSQL would drop it silently."""
    moment, displacement = _parse(text)
    if displacement:
        raise ValueError("has a zone; use timestamp with time zone")
    return moment


def parse_date(text: str) -> date:
    """A date; a timestamp only if it is midnight UTC, PostgreSQL would drop the time silently."""
    moment, displacement = _parse(text)
    if displacement or moment.time() != moment.time().min:
        raise ValueError("has a time of day; use a timestamp type")
    return moment.date()


def _parse(text: str) -> tuple[datetime, timedelta]:
    found = _TEXT.fullmatch(text.strip(" \t\n\r\f\v"))
    if found is None:
        raise ValueError("is not an ISO 8601 date or time")
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    # Half to even, as PostgreSQL rounds; may be 1,000,000.
    microseconds = round(Fraction(f"0.{found['fraction']}") * 1_000_000) if found["fraction"] else 0
    if minute > 59 or second > 60 or hour > 24 or (hour == 24 and (minute or second or microseconds)):
        raise ValueError("is not a time of day")
    displacement = _displacement(found["zone"] or "Z")
    span = timedelta(hours=hour, minutes=minute, seconds=second, microseconds=microseconds)
    try:
        return datetime(int(found["year"]), int(found["month"]), int(found["day"])) + span, displacement
    except (ValueError, OverflowError):
        raise ValueError("is not a date of the years 1 to 9999") from None


def _displacement(zone: str) -> timedelta:
    if zone in "Zz":
        return timedelta(0)
    digits = zone[1:].replace(":", "")
    hours, rest = (digits[:-2], digits[-2:]) if len(digits) in (3, 4) else (digits[:2], digits[2:4])
    minutes, seconds = int(rest or 0), int(digits[4:6] or 0)
    found = timedelta(hours=int(hours), minutes=minutes, seconds=seconds)
    if minutes > 59 or seconds > 59 or found >= _LARGEST_DISPLACEMENT:
        raise ValueError(f"has the impossible zone {zone}")
    return -found if zone[0] == "-" else found
