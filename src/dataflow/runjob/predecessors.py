"""What earlier runs of a work may have left on this machine, ended before the next run of it begins."""

from __future__ import annotations

from dataflow.runjob.endings import handed_back
from dataflow.runjob.processes import kill_runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Claimant, Ending, Run
    from dataflow.store.store import Store


def end_predecessors(store: Store, run: Run, claimant: Claimant) -> Ending | None:
    """Ends what runs that lost the work, or were revoked, still do here; the ending of this one if it cannot.

    They should have gone by themselves. One whose guard was stopped, as in a frozen container, has not.
    """
    if run.is_first:
        return None
    where = {"work_id": run.work_id, "run_id": run.run_id}
    taken = store.rows("claim.taken_before", host=claimant.host, boot_id=claimant.boot_id, **where)
    if not taken or kill_runs(taken):
        return None
    return handed_back(run, f"run {taken[-1][0]} of it lost its work, but its processes cannot be ended yet")
