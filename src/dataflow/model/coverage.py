"""What the mapping `latest` asks for: a chunk whose time ends no earlier than the work's.

Of dataids without a time, numbers of two sequences are compared; any other chunk covers everything. Imports
of clock are inside functions, because dates cost start-up time that few jobs need to pay.
"""

from __future__ import annotations

from dataflow.model.dataid import interval_of, previous_dataid, sort_key
from dataflow.model.free_text import MANY_DIGITS
from dataflow.model.grain import Grain
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

NOTHING = ""
"""A place in order before that of every dataid."""

EVERYTHING = "\U0010ffff"
"""A place in order after that of every dataid."""

_COUNTED = frozenset({Grain.SEQUENCE, Grain.TEXT})


@record
class Kind:
    """How dataids are read: their grain, and the time zone it is counted in."""

    grain: Grain
    timezone: str


def covers(chunk: str, source: Kind, dataid: str, job: Kind) -> bool:
    """Whether a chunk covers the work of a dataid."""
    if source.grain is Grain.SEQUENCE and job.grain is Grain.SEQUENCE:
        return int(chunk) >= int(dataid)
    chunk_time = interval_of(chunk, source.grain, source.timezone)
    work_time = interval_of(dataid, job.grain, job.timezone)
    return chunk_time is None or work_time is None or chunk_time[1] >= work_time[1]


def find_reach(chunk: str, source: Kind, job: Kind) -> str:
    """Return the place in order of the last work that a chunk covers, or NOTHING or EVERYTHING."""
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
    """Return dataids between which, as texts, all dataids from one place in order to another lie.

    They let an index on dataids find what is otherwise looked for among all of a job's work.
    """
    if grain in (Grain.DAILY, Grain.WEEKLY, Grain.MONTHLY, Grain.QUARTERLY, Grain.YEARLY):
        return after, until
    # Numbers of as many digits sort as texts do; in the place in order their count comes first.
    if grain is Grain.SEQUENCE and after[:1] == until[:1] and after[:1] < str(MANY_DIGITS):
        return after[1:], until[1:]
    return NOTHING, EVERYTHING


def _dataid_at(at: float, kind: Kind) -> str:
    """The dataid whose time a moment lies in."""
    from dataflow.model import clock

    zone = clock.zone(kind.timezone)
    if kind.grain is Grain.HOURLY:
        return clock.hour_text(clock.hour_floor(int(at), zone), zone)
    return clock.period_text(clock.period_of(clock.local_date(at, zone), kind.grain), kind.grain)
