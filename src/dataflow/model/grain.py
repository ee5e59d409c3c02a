"""Grains and time zones.

How dataids are written in each grain is in dataid.py.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cache

from dataflow.errors import BadInput
from dataflow.model.wording import did_you_mean, quoted

# In zone lists but not real zones: one differs between machines, the other means "not configured".
NOT_PORTABLE = frozenset({"localtime", "Factory"})


class Grain(StrEnum):
    """How dataids are made, written and ordered."""

    HOURLY = "hourly"  # 2026-08-20T13+01:00, an hour on the zone's clock with its offset
    DAILY = "daily"  # 2026-08-20
    WEEKLY = "weekly"  # 2026-08-16, the Sunday that begins the week
    MONTHLY = "monthly"  # 2026-08
    QUARTERLY = "quarterly"  # 2026-Q3
    YEARLY = "yearly"  # 2026
    SEQUENCE = "sequence"  # 0, 1, 2 … without end
    TEXT = "text"  # anything else, in natural order; the default


def parse_grain(text: str) -> Grain:
    """Return the grain of that name; BadInput with the nearest name if it is unknown."""
    try:
        return Grain(text.strip().lower())
    except ValueError:
        known = [grain.value for grain in Grain]
        hint = did_you_mean(text, known)
        raise BadInput(f"{quoted(text)} is not a grain.{hint} Known grains: {', '.join(known)}.") from None


def check_timezone(name: str) -> str:
    """Return the name if it is an IANA time zone; BadInput with the nearest one if not."""
    if name == "UTC" or name in _known_timezones():
        return name
    hint = did_you_mean(name, _known_timezones())
    raise BadInput(
        f"{quoted(name)} is not a time zone.{hint} Use an IANA name, such as UTC or Europe/London."
    )


@cache
def _known_timezones() -> frozenset[str]:
    # Imported here because zoneinfo costs start-up time and reads the whole zone folder.
    from zoneinfo import available_timezones

    return frozenset(available_timezones() - NOT_PORTABLE)
