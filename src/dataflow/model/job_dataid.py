"""The dataid of a job's work: the one form that the store keeps, and the interval that it names."""

from __future__ import annotations

from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, interval_of
from dataflow.model.grain import Grain
from dataflow.model.records import ON_DEMAND
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from dataflow.model.records import Job, Plan

DATE_LENGTH = len("2026-08-20")


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

    A schedule decides where its intervals begin (`0 6 * * *`: at six), for other jobs the grain does.
    """
    grain, schedule = Grain(plan.grain), plan.job.schedule
    has_schedule = schedule not in ("", ON_DEMAND)
    if grain == Grain.SEQUENCE or (grain == Grain.TEXT and not has_schedule):
        return None
    from dataflow.model import clock  # start-up: dates are slow, and dataids without a time need none

    try:
        period = interval_of(dataid, grain, plan.timezone)
        if has_schedule:
            at = clock.parse_moment(dataid).timestamp() if period is None else period[1].timestamp() - 1
            return _scheduled(dataid, plan.job, clock.zone(plan.job.timezone), at) or period
        return period
    except clock.BEYOND_CALENDAR:
        return None


def _scheduled(dataid: str, job: Job, tz: tzinfo, at: float) -> tuple[datetime, datetime] | None:
    """Return the interval of a schedule that contains a moment; None if it has another dataid."""
    from datetime import datetime

    from dataflow.model.interval_starts import interval_starts
    from dataflow.model.schedule import Schedule, find_start_moment

    # A fixed step counts from the start of the schedule.
    anchor = find_start_moment(Schedule(job.schedule, job.timezone, job.start or None, None, False)) or 0.0
    starts = interval_starts(job.schedule, tz, at, anchor)
    (begins_at, found), (ends_at, _) = next(starts), next(starts)
    if found != dataid:
        return None
    return datetime.fromtimestamp(begins_at, tz), datetime.fromtimestamp(ends_at, tz)
