"""The dataids of a job's work: as a user types them, their order, and the days that a schedule leaves out."""

from __future__ import annotations

from dataflow.errors import BadInput
from dataflow.model.dataid import canonical_dataid, previous_dataid
from dataflow.model.grain import Grain
from dataflow.model.records import ON_DEMAND
from dataflow.model.wording import quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan

DATE_LENGTH = len("2026-08-20")


def leaves_days_out(grain: str, schedule: str) -> bool:
    """Return whether a job has daily dataids but a schedule of some days only, such as weekdays."""
    if grain != Grain.DAILY or not schedule:
        return False
    from dataflow.model.cron import has_some_days  # start-up: few jobs have such a schedule

    return has_some_days(schedule)


def previous_job_dataid(dataid: str, plan: Plan) -> str | None:
    """Return the dataid before in the job's own order; None as for `previous_dataid`."""
    if leaves_days_out(plan.grain, plan.job.schedule):
        from dataflow.model.cron import day_before

        return day_before(plan.job.schedule, dataid)
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
