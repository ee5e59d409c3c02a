"""Mark: an operator sets the status of work manually."""

from __future__ import annotations

from dataflow.actions.hold import hold
from dataflow.actions.resubmit import resubmit
from dataflow.actions.selection import Selection
from dataflow.errors import BadInput
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.job_dataid import job_dataid
from dataflow.model.status import Status, WorkState
from dataflow.model.wording import did_you_mean, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan
    from dataflow.store.store import Store

STATES = {
    Status.READY: WorkState.DONE,  # its outputs are good and are published as they are
    Status.FAILED: WorkState.FAILED,  # it is not claimed until it is resubmitted
    Status.INVALID: WorkState.INVALID,  # its outputs are withdrawn
}
MARKS = (*STATES, Status.RESUBMIT, Status.HOLD)


def mark(store: Store, plan: Plan, dataid: str, status: str, why: str = "") -> str:
    """Set the status of work and return its previous state; RUNNING work loses its run, except for HOLD."""
    wanted = _parse_mark(status)
    grain = Grain(plan.grain)
    dataid = job_dataid(dataid, plan)
    if wanted in STATES:
        return store.mark(plan, (dataid, sort_key(dataid, grain)), STATES[wanted], why)
    before = store.read.find_work(plan.job_id, dataid)
    selection = Selection(dataids=(dataid,))
    if wanted is Status.HOLD:
        hold(store, plan, selection, why)
    else:
        resubmit(store, plan, selection, why)
    return str(before.state) if before else ""


def _parse_mark(text: str) -> Status:
    name = text.strip().upper()
    if name in MARKS:
        return Status(name)
    known = ", ".join(MARKS)
    raise BadInput(f"{quoted(text)} is not a status for mark.{did_you_mean(name, MARKS)} Known: {known}.")
