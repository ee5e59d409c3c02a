"""What earlier runs of a work may have left on this machine, ended before the next run of it begins."""

from __future__ import annotations

from dataflow.runjob.endings import handed_back
from dataflow.runjob.processes import kill_runs, list_run_ids
from dataflow.store.leases import Taken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Claimant, Ending, Plan, Run
    from dataflow.store.store import Store


class Predecessors:
    """Ends, once for each, what runs that lost their work, or were revoked, still do on this machine.

    They should have gone by themselves. One whose guard was stopped, as in a frozen container, has not.
    """

    def __init__(self, store: Store, claimant: Claimant) -> None:
        self._store = store
        self._machine = (claimant.host, claimant.boot_id)
        self._ended: set[int] = set()

    def end(self, plan: Plan, run: Run) -> Ending | None:
        """Ends those of the run's work, or of its whole job if that runs one at a time.

        Gives the ending of this run if it cannot.
        """
        if run.is_first and not plan.one_at_a_time:
            return None
        work = (run.run_id, run.job_id, run.work_id)
        found = self._store.list_taken(Taken(*work, *self._machine, plan.one_at_a_time), list_run_ids)
        taken = [row for row in found if row[0] not in self._ended]
        if taken and not kill_runs(taken):
            why = f"run {taken[-1][0]} of it lost its work, but its processes cannot be ended yet"
            return handed_back(run, why)
        self._ended.update(run_id for run_id, _ in taken)
        return None
