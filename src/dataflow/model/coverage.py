"""The mapping `latest`: it needs a chunk whose time ends no earlier than the work's.

Of dataids without a time, numbers of two sequences are compared; any other chunk covers everything. Imports
of clock are inside functions, because dates cost start-up time that few jobs need to pay.
"""

from __future__ import annotations

from dataflow.model.dataid import interval_of, previous_dataid, sort_key
from dataflow.model.days import EVERY_DAY
from dataflow.model.free_text import MANY_DIGITS
from dataflow.model.grain import Grain
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from dataflow.model.records import Dataset, Plan

NOTHING = ""
"""Sorts before every sort key."""

EVERYTHING = "\U0010ffff"
"""Sorts after every sort key."""

_COUNTED = frozenset({Grain.SEQUENCE, Grain.TEXT})


@record
class Kind:
    """How dataids are read and ordered: their grain, time zone and days."""

    grain: Grain
    timezone: str
    days: str = EVERY_DAY


def kind_of(item: Dataset | Plan) -> Kind:
    """Return how the dataids of a dataset or of a job are read."""
    return Kind(Grain(item.grain), item.timezone)


def covers(chunk: str, source: Kind, dataid: str, job: Kind) -> bool:
    """Return whether a chunk covers the work of a dataid."""
    if source.grain is Grain.SEQUENCE and job.grain is Grain.SEQUENCE:
        return int(chunk) >= int(dataid)
    chunk_time = interval_of(chunk, source.grain, source.timezone)
    work_time = interval_of(dataid, job.grain, job.timezone)
    return chunk_time is None or work_time is None or chunk_time[1] >= work_time[1]


def find_reach(chunk: str, source: Kind, job: Kind) -> str:
    """Return the sort key of the last work that a chunk covers, or NOTHING or EVERYTHING."""
    if source.grain is job.grain is Grain.SEQUENCE:
        return sort_key(chunk, job.grain)
    time = interval_of(chunk, source.grain, source.timezone)
    if time is None or job.grain in _COUNTED:
        return EVERYTHING
    from dataflow.model import clock

    try:
        last = _dataid_at(time[1].timestamp(), job)
    except clock.BEYOND_CALENDAR:
        return EVERYTHING
    if covers(chunk, source, last, job):
        return sort_key(last, job.grain)
    before = previous_dataid(last, job.grain, job.timezone)
    return NOTHING if before is None else sort_key(before, job.grain)


def find_first_covering(dataid: str, job: Kind, source: Kind) -> tuple[str, datetime | None] | None:
    """Return the first dataid that covers a work, and when the work's time ends; None if any chunk does."""
    if source.grain is job.grain is Grain.SEQUENCE:
        return dataid, None
    time = interval_of(dataid, job.grain, job.timezone)
    if time is None or source.grain in _COUNTED:
        return None
    from dataflow.model import clock

    try:
        ends = time[1].astimezone(clock.zone(source.timezone))
        return _dataid_at(ends.timestamp() - 1, source), ends
    except clock.BEYOND_CALENDAR:
        return None


def find_dataid_bounds(after: str, until: str, grain: Grain) -> tuple[str, str]:
    """Return dataids that, compared as strings, enclose all dataids between two sort keys.

    They let an index on dataids narrow the search.
    """
    if grain in (Grain.DAILY, Grain.WEEKLY, Grain.MONTHLY, Grain.QUARTERLY, Grain.YEARLY):
        return after, until
    # Numbers with equally many digits sort as strings; in the sort key the digit count comes first.
    if grain is Grain.SEQUENCE and after[:1] == until[:1] and after[:1] < str(MANY_DIGITS):
        return after[1:], until[1:]
    return NOTHING, EVERYTHING


def _dataid_at(at: float, kind: Kind) -> str:
    """Return the dataid whose interval contains a time."""
    from dataflow.model import clock

    zone = clock.zone(kind.timezone)
    if kind.grain is Grain.HOURLY:
        return clock.hour_text(clock.hour_floor(int(at), zone), zone)
    return clock.period_text(clock.period_of(clock.local_date(at, zone), kind.grain), kind.grain)
