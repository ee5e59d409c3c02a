"""Completeness: how many chunks of an input the work waits for, and until when.

A rule is stored with the job's input as canonical text: nothing for all, `at_least 20`, or
`by 06:00 then partial`.
"""

from __future__ import annotations

import re

from dataflow.errors import BadInput
from dataflow.model.dataid import interval_of
from dataflow.model.grain import Grain
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.coverage import Kind

ALL_CHUNKS = ""
_MOST = 2**31 - 1
_AT_LEAST = re.compile(r"at_least\s+([0-9]{1,12})")
_BY = re.compile(r"by\s+([0-9]{1,2}):([0-9]{2})\s+then\s+partial")
_LAST_HOUR, _LAST_MINUTE = 23, 59


def parse_rule(text: str) -> str:
    """Return the canonical text of a completeness rule; BadInput lists the known ones."""
    rule = " ".join(text.lower().split())
    if rule in ("", "all"):
        return ALL_CHUNKS
    if found := _AT_LEAST.fullmatch(rule):
        if not 1 <= int(found[1]) <= _MOST:
            raise BadInput(f"{quoted(text)} must name a number of chunks from 1.")
        return f"at_least {int(found[1])}"
    if found := _BY.fullmatch(rule):
        hour, minute = int(found[1]), int(found[2])
        if hour > _LAST_HOUR or minute > _LAST_MINUTE:
            raise BadInput(f"{quoted(text)} has no time of day. Write it as 06:00, from 00:00 to 23:59.")
        return f"by {hour:02d}:{minute:02d} then partial"
    raise BadInput(
        f"{quoted(text)} is not a completeness rule. Known rules: all, such as within; at least some, such "
        "as within at_least 20; or those there are at a time of day, such as within by 06:00 then partial."
    )


def fewest(rule: str) -> int | None:
    """Return the number of `at_least`; None for another rule."""
    return int(rule.split()[1]) if rule.startswith("at_least ") else None


def has_deadline(rule: str) -> bool:
    """Return whether work waits for all chunks only until a time of day."""
    return rule.startswith("by ")


def required(rule: str, count: int, is_due: bool = False) -> int:
    """Return how many of `count` chunks must be ready; `is_due` after the deadline."""
    least = 1 if has_deadline(rule) and is_due else fewest(rule)
    return count if least is None else min(least, count)


def deadline_of(rule: str, dataid: str, job: Kind) -> float | None:
    """Return when the rule's time of day comes, at or after the end of the work's interval; None without."""
    if not has_deadline(rule):
        return None
    interval = interval_of(dataid, job.grain, job.timezone)
    if interval is None:
        return None
    from dataflow.model import clock

    hour, minute = int(rule[3:5]), int(rule[6:8])
    zone, end = clock.zone(job.timezone), interval[1].timestamp()
    try:
        day = clock.period_of(clock.local_date(end, zone), Grain.DAILY)
        found = clock.period_start(day, Grain.DAILY, zone, hour, minute)
        if found < end:
            found = clock.period_start(day + 1, Grain.DAILY, zone, hour, minute)
    except clock.BEYOND_CALENDAR:
        return None
    return float(found)
