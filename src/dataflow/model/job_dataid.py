"""The dataids of a job's work: as typed, in order, and their intervals."""

from __future__ import annotations

from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, interval_of, previous_dataid
from dataflow.model.days import day_before, days_of
from dataflow.model.grain import Grain
from dataflow.model.record import replace
from dataflow.model.records import ON_DEMAND
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

    from dataflow.model.records import Plan

DATE_LENGTH = len("2026-08-20")


def previous_job_dataid(dataid: str, plan: Plan) -> str | None:
    """Return the dataid before in the job's own order; None as for `previous_dataid`."""
    if plan.days:
        return day_before(plan.days, dataid)
    return previous_dataid(dataid, Grain(plan.grain), plan.timezone)


def job_dataid(text: str, plan: Plan) -> str:
    """Return the canonical dataid of a job's work; BadInput if the grain does not allow it.

    A time of a schedule with text dataids (cron, `every 6 hours`) becomes UTC, as its intervals are
    written; without an offset it is read in the schedule's time zone.
    """
    dataid = canonical_dataid(text, Grain(plan.grain), plan.timezone)
    schedule = plan.job.schedule
    if plan.grain != Grain.TEXT or not schedule or schedule == ON_DEMAND or len(dataid) <= DATE_LENGTH:
        return dataid
    from dataflow.model import clock  # start-up: dates are slow, and few jobs have such a schedule

    try:
        moment = clock.parse_moment(dataid)
    except ValueError:
        return dataid
    moments = [moment] if moment.tzinfo else clock.readings(moment, clock.zone(plan.job.timezone))
    try:
        written = [clock.minute_text(int(found.timestamp())) for found in moments]
    except clock.BEYOND_CALENDAR:
        return dataid
    if len(written) > 1:
        choices = " or ".join(written)
        raise BadInput(f"{quoted(text)} occurs twice in {plan.job.timezone}: write {choices}.")
    return written[0] if written else dataid


def find_interval(dataid: str, plan: Plan) -> tuple[datetime, datetime] | None:
    """Return when the interval of a job's work begins and ends; None if its dataid is not a time.

    A schedule decides where its intervals begin (`0 6 * * *`: at six), for other jobs the grain does. A day
    that a schedule leaves out begins and ends at that time of day, too.
    """
    grain, schedule = Grain(plan.grain), plan.job.schedule
    has_schedule = schedule not in ("", ON_DEMAND)
    if grain == Grain.SEQUENCE or (grain == Grain.TEXT and not has_schedule):
        return None
    from datetime import datetime  # start-up: slow, and dataids without a time need none

    from dataflow.model import clock
    from dataflow.model.schedule import Schedule, named_interval

    try:
        period = interval_of(dataid, grain, plan.timezone)
        if not has_schedule:
            return period
        job, by_day = plan.job, grain is Grain.DAILY
        # A fixed step counts from the start of the schedule.
        parsed = Schedule(schedule, job.timezone, job.start or None, None, False, by_day)
        found = named_interval(parsed, dataid)
        if found is None and days_of(schedule):  # a day that it leaves out, run by force
            every_day = " ".join([*schedule.split()[:2], "* * *"])
            found = named_interval(replace(parsed, expression=every_day), dataid) if by_day else None
    except clock.BEYOND_CALENDAR:
        return None
    if found is None:
        return period
    zone = clock.zone(job.timezone)
    return datetime.fromtimestamp(found.start_at, zone), datetime.fromtimestamp(found.end_at, zone)
