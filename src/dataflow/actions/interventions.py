"""What an operator does to work: resubmit, hold, release, mark and cancel."""

from __future__ import annotations

from dataflow.actions.make_ready import in_batches
from dataflow.actions.names import get_run
from dataflow.actions.selection import Selection, batches_of_work, refuse_running
from dataflow.errors import BadInput
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.job_dataid import job_dataid
from dataflow.model.status import Status, WorkState
from dataflow.model.wording import did_you_mean, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.model.records import Plan, RunRow
    from dataflow.store.store import Store

STATES = {
    Status.READY: WorkState.DONE,  # its outputs are good and are published as they are
    Status.FAILED: WorkState.FAILED,  # it is not claimed until it is resubmitted
    Status.INVALID: WorkState.INVALID,  # its outputs are withdrawn
}
MARKS = (*STATES, Status.RESUBMIT, Status.HOLD)


def resubmit(
    store: Store,
    plan: Plan,
    selection: Selection,
    why: str = "",
    progress: Callable[[int], None] | None = None,
) -> int:
    """Have the selected work done again; return how much. Refused if any is RUNNING or unknown."""
    refuse_running(store, plan, selection)
    batches = batches_of_work(store, plan, selection)
    return in_batches(batches, lambda batch: store.resubmit(plan, batch, why), progress)[0]


def accept(store: Store, plan: Plan, selection: Selection, why: str = "") -> int:
    """Keep STALE results of the selected work as they are; return how many became current again."""
    batches = batches_of_work(store, plan, selection)
    return in_batches(batches, lambda batch: store.accept(plan, batch, why), None)[0]


def hold(store: Store, plan: Plan, selection: Selection | None = None, why: str = "") -> int:
    """Block claims of the whole job (None) or the selected work; return how much was not held before."""
    return _set_hold(store, plan, selection, True, why)


def release(store: Store, plan: Plan, selection: Selection | None = None, why: str = "") -> int:
    """Release the job itself (None) or the selected work; return how much was held."""
    return _set_hold(store, plan, selection, False, why)


def _set_hold(store: Store, plan: Plan, selection: Selection | None, on: bool, why: str) -> int:
    if selection is None:
        return store.hold(plan, None, on, why)
    return sum([store.hold(plan, batch, on, why) for batch in batches_of_work(store, plan, selection)])


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


def cancel(store: Store, run_id: int, why: str = "") -> RunRow:
    """Revoke a run, which can no longer publish; return the run as it was. Its work is FAILED."""
    run = get_run(store, run_id)
    store.cancel(run_id, why)
    return run


def parse_run_id(text: str) -> int:
    """Return the run id that a user typed; BadInput if it is not one."""
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise BadInput(f"{quoted(text)} is not a run id. List runs: dataflow runs")
