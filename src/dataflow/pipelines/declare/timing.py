"""When a pipeline runs: its schedule, start_date, end_date and time zone, in the form `job add` takes.

Their meaning is defined in model/schedule.py, for pipelines and `job add` alike.
"""

from __future__ import annotations

from datetime import MAXYEAR, UTC, date, datetime, timedelta, tzinfo
from typing import Any

from dataflow.model.clock import zone
from dataflow.model.cron import ONCE, calendar_of, canonical_expression, is_step, step_text
from dataflow.model.grain import Grain
from dataflow.model.record import record
from dataflow.model.records import CHANGES, NEWEST, OLDEST, ON_DEMAND, RERUN
from dataflow.model.schedule import YEARS, Schedule, has_no_interval
from dataflow.model.wording import quoted
from dataflow.pipelines.declare.attributes import Attributes

FOR_EVER = "9999-12-31"
"""Stands for any end in the last year, in which no interval can be computed: the calendar ends there."""


@record
class Timing:
    """When a pipeline runs; its intervals begin between start and end, "" for an open side."""

    schedule: str  # "" for a Python job that only its inputs start
    timezone: str
    start: str
    end: str
    catchup: bool
    retries: int
    retry_delay_seconds: float
    timeout_seconds: float = 0.0
    retry_backoff: float = 2.0
    retry_max_delay_seconds: float = 3600.0
    max_crashes: int = 5
    pool: str = ""
    order: str = OLDEST
    on_change: str = RERUN
    late_after_seconds: float = 0.0

    @property
    def is_over(self) -> bool:
        """True if no interval begins between start and end, so none is ever due."""
        return self.gives_intervals and has_no_interval(self.parsed)

    @property
    def gives_intervals(self) -> bool:
        """False if its inputs or --dataid start it, rather than a schedule."""
        return self.schedule not in ("", ON_DEMAND)

    @property
    def parsed(self) -> Schedule:
        """The schedule as a calendar."""
        return Schedule(self.schedule, self.timezone, self.start or None, self.end or None, self.catchup)

    @property
    def grain(self) -> Grain:
        """The grain of its dataids; text if --dataid gives them."""
        return calendar_of(self.schedule)[0]


def read_timing(get: Attributes, attribute: str = "schedule_interval") -> Timing:
    """The timing of a class or function; BadInput names an attribute that is not valid."""
    expression = _read_expression(get, attribute)
    goes_by_clock = expression not in (ONCE, ON_DEMAND) and not is_step(expression)
    timezone = _read_timezone(get, goes_by_clock)
    start, end, catchup = "", "", get.switch("catchup")
    if expression == ON_DEMAND:
        catchup = False
    else:
        start, end = (_read_moment(get, name, zone(timezone)) for name in ("start_date", "end_date"))
    return Timing(expression, timezone, start, end, catchup, **_read_limits(get))


def read_job_timing(get: Attributes, has_callers: bool) -> Timing:
    """The timing of a Python job; if its inputs start it, its start_date is a dataid."""
    given = get("schedule")
    if given not in ("", None) or (given is None and not has_callers):
        return read_timing(get, "schedule")
    for name in ("end_date", "catchup"):
        if get(name):
            raise get.wrong(name, "needs a schedule. Set schedule too")
    start = get("start_date")
    text = start if isinstance(start, str) else "" if start is None else f"{start:%Y-%m-%d}"
    return Timing("", _read_timezone(get, goes_by_clock=False), text, "", False, **_read_limits(get))


def _read_limits(get: Attributes) -> dict[str, Any]:
    spans = (
        *("retry_delay_seconds", "timeout_seconds", "retry_backoff", "retry_max_delay_seconds"),
        "late_after_seconds",
    )
    counts = ("retries", "max_crashes")
    words = {"pool": get.text("pool"), "order": get.one_of("order", (OLDEST, NEWEST))}
    words["on_change"] = get.one_of("on_change", CHANGES)
    numbers = {name: get.number(name, float) for name in spans}
    return words | numbers | {name: get.number(name, int) for name in counts}


def _read_timezone(get: Attributes, goes_by_clock: bool) -> str:
    """The time zone of the schedule. Default: that of start_date, as in Airflow."""
    name = get.text("timezone") or _find_zone(get, goes_by_clock)
    with get.saying("timezone"):
        zone(name)
    return name


def _find_zone(get: Attributes, goes_by_clock: bool) -> str:
    start = get("start_date")
    if not isinstance(start, datetime) or start.tzinfo is None:
        return "UTC"
    for attribute in ("key", "zone", "name"):  # zoneinfo, pytz, pendulum
        name = getattr(start.tzinfo, attribute, None)
        if isinstance(name, str) and not name.startswith(("+", "-")):
            return name
    if not start.utcoffset() or not goes_by_clock:
        return "UTC"
    raise get.wrong(
        "start_date",
        f"has the fixed offset {start:%z}, but the schedule follows the clock of a time zone. "
        'Set one, such as timezone = "Europe/London"',
    )


def _read_expression(get: Attributes, attribute: str) -> str:
    given: Any = get(attribute)
    if given is None:
        return ON_DEMAND
    with get.saying(attribute):
        if isinstance(given, timedelta):
            return step_text(given.total_seconds())
        if isinstance(given, str):
            return canonical_expression(given)
    raise get.wrong(attribute, f"is {quoted(repr(given))}, {_why_not(given)}")


def _why_not(given: object) -> str:
    """Why a schedule of Airflow is not one here, and what to write instead."""
    if type(given).__name__ == "relativedelta":
        return 'whose length varies. Write "@monthly", "@yearly" or a cron expression'
    if isinstance(given, (list, tuple, set)) or hasattr(given, "uri") or hasattr(given, "objects"):
        return (
            "and datasets are not a schedule. A view waits for the datasets it reads: set an interval such "
            'as "@daily". A Python job without a schedule runs for each chunk of its inputs'
        )
    return 'and must be a string such as "@daily" or "30 6 * * *", a timedelta, or None'


def _read_moment(get: Attributes, name: str, tz: tzinfo) -> str:
    """A moment as the schedule reads it; one computed from now() is reduced to its day."""
    moment = get(name)
    if moment is None:
        return ""
    if not isinstance(moment, date):
        raise get.wrong(name, f"must be a datetime, got {quoted(repr(moment))}")
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day)
    if name == "end_date" and moment.year == MAXYEAR:
        return FOR_EVER
    years = YEARS["--start" if name == "start_date" else "--end"]
    if moment.year not in years:
        raise get.wrong(
            name, f"is {moment.date().isoformat()}, but must be in the years {years[0]} to {years[-1]}"
        )
    moment = moment.astimezone(tz) if moment.tzinfo else moment.replace(tzinfo=tz)
    if moment.microsecond:
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=tz)
    return _moment_text(moment)


def _moment_text(moment: datetime) -> str:
    """The shortest form of the moment on its zone's clock; with its offset if the clock repeats it."""
    wall = moment.replace(tzinfo=None)
    text = wall.isoformat(timespec="seconds" if wall.second else "minutes")
    if moment.replace(fold=0).astimezone(UTC) != moment.astimezone(UTC):
        return moment.isoformat(timespec="seconds")
    return text[: len("2026-08-20")] if text[len("2026-08-20") :] == "T00:00" else text
