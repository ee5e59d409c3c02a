"""The worker's event loop: waits for work, keeps its place among the others, and outlives outages."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.wording import counted
from dataflow.runjob.child import Child
from dataflow.runjob.endings import handed_back
from dataflow.runjob.launch import Ended
from dataflow.runjob.loop import RETRY_SECONDS, JobLine
from dataflow.runjob.processes import boottime
from dataflow.service.assignment import Assignment
from dataflow.service.housekeeping import Housekeeping
from dataflow.service.membership import Membership
from dataflow.service.request import ActiveRun, Snapshot
from dataflow.service.store_watch import StoreWatch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Run
    from dataflow.runjob.handoff import Exchange
    from dataflow.service.request import View, WorkerRequest
    from dataflow.service.session import Equipment

TICK_SECONDS = 1.0
"""How often files and locks are looked at."""
VIEW_SECONDS = 0.5
LOOK_AGAIN_SECONDS = 1.0
"""How long a transaction may be under way that began before the worker listened."""


class ServiceWorker(Assignment):
    """All runs of one worker: scripts as children of this process, pipelines in one other process."""

    def __init__(self, request: WorkerRequest, equipment: Equipment, view: View | None) -> None:
        super().__init__(request, equipment)
        self.leaves_runs = False  # whether a claim may have succeeded whose answer was not waited for
        self.waits_for_retries = request.until_idle
        self._view = view
        self._membership = Membership(request, equipment.lock.name)
        self._house = Housekeeping(
            self._definitions, self._pipelines, self._membership, self._ranking, equipment.report
        )
        self._watch = StoreWatch()
        self._told = equipment.told
        self._tick_at = self._view_at = 0.0
        self._trouble = ""
        self._is_stopping = False
        self._look_again_at = 0.0  # 0: not any more

    def run(self) -> None:
        """Work until a signal, or until there is nothing to do with `until_idle`."""
        self.signals.catch()
        try:
            self._look()
            self._tick()  # before the first claim: it finds the work of dead processes
            while not self._is_over():
                self._turn()
        finally:
            self._pipelines.end()
            self.end()
            self._resign()

    def _turn(self) -> None:
        """Finish, claim, and wait until there may be more to do."""
        if self.signals.take_reload():
            self._house.reload()
        if self.signals.stops_claims and not self._is_stopping:
            self._is_stopping = True
            runs = counted(len(self._children) + self._pipelines.busy, "run")
            self.report.say(f"Stopping after {runs}. A second signal hands running work back.")
        try:
            if self._trouble:
                self._look()
            self._settle_ended()
            self._claim_next()
            if not self._count_free():
                self._membership.work(self._quick)
            if self._has_ended() or self._listen():
                return
        except errors.SchemaMismatch:
            raise
        except errors.StoreError as error:
            if self.signals.stops_work and not self._children:
                raise
            self._note_outage(error)
            self._wait(boottime() + RETRY_SECONDS)
            return
        if not self._is_over():
            self._wait()

    def _is_over(self) -> bool:
        if self._children or self._pipelines.is_busy or self._has_ended():
            return False
        if self.signals.stops_claims:
            return True
        is_waiting = self._ranking.is_stale or self._trouble or self._pipelines.is_loading
        if not self._request.until_idle or is_waiting or any(line.retries_at for line in self._open_lines):
            return False
        return self._find_first() is None

    # the store

    def settle(self, line: JobLine, wanted: int) -> Exchange:
        exchange = super().settle(line, wanted)
        self._note_recovery()
        return exchange

    def _look(self) -> None:
        super()._look()
        self._note_recovery()

    def _launch(self, line: JobLine, run: Run, began_at: float) -> Child | Ended:
        try:
            return super()._launch(line, run, began_at)
        except errors.SchemaMismatch:
            raise
        except errors.StoreError as error:
            return Ended(handed_back(run, str(error)))

    def _wait_for_store(self, until: float, error: errors.StoreError, again: bool) -> bool:
        """Wait for as long as it takes: the guard ends the children before their leases lapse."""
        if self.signals.hurries or (self.signals.stops_work and not self._children):
            return False
        self._note_outage(error)
        if self._ends_without_store(until):
            return False
        self._wait_until(boottime() + RETRY_SECONDS)
        return True

    def _ends_without_store(self, until: float) -> bool:
        """Return whether a signal wants the worker to end and only the answer to a claim is missing."""
        if not self.signals.stops_claims or self._children or self._has_ended() or until:
            return False
        self.leaves_runs = True
        return True

    def _note_outage(self, error: errors.StoreError) -> None:
        if not self._trouble:
            self.report.warn(f"{error} The worker waits for the store.")
        self._trouble = str(error)
        self._ranking.is_stale = True
        self._watch.close()

    def _note_recovery(self) -> None:
        if self._trouble:
            self.report.say("The store answers again.")
            self._trouble = ""

    def _listen(self) -> bool:
        """Have the store wake this worker; True if it must look once more before it waits."""
        if not self._count_free() or self.signals.stops_claims:
            return False
        is_new = self._watch.open(self._quick)
        if self._membership.wait(self._quick) or is_new:
            self._ranking.forget()
            # A publisher that asked who listens just before this, and commits after the look, wakes nobody.
            self._look_again_at = boottime() + LOOK_AGAIN_SECONDS
        return self._ranking.is_stale

    def _hear(self, changed: bool) -> None:
        """Look at the store again if something has changed there."""
        if changed:
            self._ranking.forget()
            for job in self._roster:
                job.unblock()

    def _resign(self) -> None:
        self._watch.close()
        self.signals.limit_wait()
        try:
            self._membership.leave(self._quick)
        except errors.StoreError:
            pass  # its heartbeat lapses
        self._quick.close()

    # events

    def _list_other_fds(self) -> list[int]:
        fds, watched = self._pipelines.list_fds(), self._watch.fileno()
        return fds if watched is None else [*fds, watched]

    def _handle_other(self, fd: int) -> bool:
        if fd in self._pipelines.list_fds():
            self._pipelines.handle(fd)
            self._note_pipelines()
        elif fd == self._watch.fileno():
            self._hear(self._watch.take())
        else:
            return False
        return fd not in self._list_other_fds()

    def _list_deadlines(self) -> list[float]:
        found = [self._tick_at, *(at for line in self._open_lines for at in line.retries_at)]
        if (poll_at := self._watch.poll_at) is not None:
            found.append(poll_at)
        if self._count_free() and not self.signals.stops_claims:
            found += [self._ranking.due_at, *([self._look_again_at] if self._look_again_at else [])]
        if self._view is not None:
            found.append(self._view_at)
        return found

    def _may_gather(self) -> bool:
        return bool(self._children) and self._has_ended()

    def _end_retries(self, now: float) -> None:
        for line in self._open_lines:
            left = [at for at in line.retries_at if at > now and not self.signals.stops_claims]
            if left != line.retries_at:
                line.retries_at, self._ranking.is_stale = left, True

    def _keep_promises(self) -> None:
        super()._keep_promises()
        self._hear(self._watch.poll())
        if self._look_again_at and boottime() >= self._look_again_at:
            self._look_again_at = 0.0
            self._hear(True)
        self._pipelines.keep_promises(self.signals)
        now = boottime()
        if now >= self._tick_at:
            self._tick_at = now + TICK_SECONDS
            self._tick()
        if self._view is not None and now >= self._view_at:
            self._view_at = now + VIEW_SECONDS
            self._view.show(self.take_snapshot())

    def tell(self) -> None:
        """Print what the notifier has to say."""
        while not self._told.empty():
            self.report.warn(self._told.get())

    def _tick(self) -> None:
        self.tell()
        self._house.reload_changed()
        if self._trouble:
            return  # every attempt would hold up the children for a while
        try:
            self._house.keep(self._quick)
        except errors.SchemaMismatch:
            raise
        except errors.StoreError as error:
            self._note_outage(error)

    def take_snapshot(self) -> Snapshot:
        """Return what this worker is doing now."""
        doing = [
            ActiveRun(child.run.job, child.run.dataid, child.run.run_id, child.began_at)
            for child in self._children.values()
        ]
        return Snapshot(
            self._token,
            self._request.streams,
            len(self._roster),
            (*doing, *self._pipelines.list_doing()),
            self.tally.runs_done,
            self.tally.runs_failed,
            self.tally.lost,
            self.signals.stops_claims,
            self._trouble,
        )
