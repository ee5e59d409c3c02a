"""The work that `why` explains when no dataid is given: running, next or stuck, by the facts of a claim."""

from __future__ import annotations

from dataflow.actions.missing import find_latest, list_due, list_lacking
from dataflow.actions.shortages import has_enough_of_all, list_shortages
from dataflow.actions.work_case import WorkCase
from dataflow.model.dataid import sort_key
from dataflow.model.days import has_day
from dataflow.model.grain import Grain
from dataflow.model.mapping import ALL, LATEST, UNCALLING, called_by, creates_work
from dataflow.model.record import replace
from dataflow.model.status import WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import PlanInput


def find_next(case: WorkCase) -> str | None:
    """Return the dataid that is running, next or stuck, or one that is DONE; None if the job has no work.

    Ended intervals that the next claim adds count as work.
    """
    read, job_id = case.store.read, case.plan.job_id
    found = read.find_first_in_state(job_id, WorkState.RUNNING) or read.find_first_claimable(
        job_id, case.plan.job.order
    )
    if found is not None:
        return found
    waiting = read.find_first_waiting(job_id)
    if waiting is not None and _is_promoted(case, waiting):
        return waiting
    due = _list_due(case)
    complete = next((dataid for dataid in due if _is_free(case, dataid) and _is_complete(case, dataid)), None)
    on_hold = read.find_first_in_state(job_id, WorkState.CLAIMABLE)
    new = next((dataid for dataid in due if read.find_work_state(job_id, dataid) is None), None)
    for dataid in (complete, on_hold, waiting, new):
        if dataid is not None:
            return dataid
    for state in (WorkState.FAILED, WorkState.INVALID):
        if (ended := read.find_first_in_state(job_id, state)) is not None:
            return ended
    return read.find_last_done(job_id) or read.find_first_in_state(job_id, WorkState.WAITING)


def _is_promoted(case: WorkCase, dataid: str) -> bool:
    """Return whether the next claim makes WAITING work claimable: inputs ready, wait over."""
    work = case.store.read.find_work(case.plan.job_id, dataid)
    if work is None or work.hold or work.missing or work.wait_seconds is None:
        return False
    return work.wait_seconds <= 0


def _list_due(case: WorkCase) -> list[str]:
    """Return the dataids that the intervals added by the next claim call for, in order.

    None for an ordered job with unfinished work, which nothing overtakes.
    """
    plan, read = case.plan, case.store.read
    if plan.job.ordered and read.find_first_unfinished(plan.job_id) is not None:
        return []
    first, grain = plan.job.start or None, Grain(plan.grain)
    found: set[str] = set()
    for source in plan.inputs:
        if source.mapping in UNCALLING:
            continue
        for interval in _due_intervals(case, source):
            works = called_by(plan, source, interval)
            found.update(work for work in works if creates_work(source.mapping, work, first, grain))
    return sorted(
        [dataid for dataid in found if has_day(plan.days, dataid)], key=lambda dataid: sort_key(dataid, grain)
    )


def _is_free(case: WorkCase, dataid: str) -> bool:
    """Return whether work does not exist yet, or waits only for its inputs."""
    work = case.store.read.find_work(case.plan.job_id, dataid)
    if work is None:
        return True
    return work.state is WorkState.WAITING and not work.hold and work.wait_seconds is None


def _is_complete(case: WorkCase, dataid: str) -> bool:
    """Return whether a claim that adds the ended intervals finds every input of the work ready."""
    case = replace(case, dataid=dataid)
    if any(wanted not in _due_intervals(case, source) for source, wanted, _ in list_lacking(case)):
        return False
    for shortage in list_shortages(case):
        due = set(_due_intervals(case, shortage.source)).intersection(shortage.lacking)
        if shortage.ready + len(due) < shortage.wanted:
            return False
    latest = [source for source in case.plan.inputs if source.mapping == LATEST]
    if not all(find_latest(case, source) or _due_intervals(case, source) for source in latest):
        return False
    return all(has_enough_of_all(case, source) for source in case.plan.inputs if source.mapping == ALL)


def _due_intervals(case: WorkCase, source: PlanInput) -> list[str]:
    return [interval.dataid for interval in list_due(case.store, source.dataset_id)]
