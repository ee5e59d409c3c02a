"""The days of daily dataids: every day, or those of a schedule of some days, such as weekdays.

Written as the last three fields of a cron expression, `* * 1-5`. Several, joined by `;`, are the days that
all of them have.
"""

from __future__ import annotations

from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

EVERY_DAY = ""
MOST_STEPS = 5000
"""Days to try before two schedules are said to have none in common."""

_AND = ";"


def days_of(schedule: str) -> str:
    """Return the days of a schedule whose dataids are days."""
    from dataflow.model.cron import has_some_days  # start-up: few jobs leave days out

    return " ".join(schedule.split()[2:]) if has_some_days(schedule) else EVERY_DAY


def common_days(several: Iterable[str]) -> str:
    """Return the days that all of these have."""
    return _AND.join(sorted({fields for days in several if days for fields in days.split(_AND)}))


def has_day(days: str, day: str) -> bool:
    """Return whether a day is one of these."""
    if not days:
        return True
    from dataflow.model.cron import is_on_day  # as in days_of

    return all(is_on_day(fields, day) for fields in days.split(_AND))


def day_before(days: str, day: str) -> str | None:
    """Return the last of some days before a day; None if there is none."""
    return _neighbour(days, day, forward=False)


def day_after(days: str, day: str) -> str | None:
    """Return the first of some days after a day; None if there is none."""
    return _neighbour(days, day, forward=True)


def _neighbour(days: str, day: str, *, forward: bool) -> str | None:
    from dataflow.model.cron import days_from  # as in days_of

    first, *_ = days.split(_AND)
    near = islice(days_from(first, day, forward=forward), MOST_STEPS)
    return next((found for found in near if has_day(days, found)), None)
