"""The loop of RunJob: claim, prepare, run, validate, finish, until there is nothing left to claim.

One thread looks after all children; finishing some and claiming the next is one transaction.
"""

from __future__ import annotations

import os
import select
import signal

from dataflow import errors, failpoints
from dataflow.actions.claim import acknowledge_end, finish_and_claim, list_credentials, with_dead
from dataflow.model.record import replace
from dataflow.model.records import ClaimRequest
from dataflow.model.status import RunOutcome
from dataflow.runjob.endings import as_accepted, ending_of, handed_back, not_begun
from dataflow.runjob.kill_command import KillCommand
from dataflow.runjob.lock import is_dead, remove_dead
from dataflow.runjob.orphans import has_orphans
from dataflow.runjob.predecessors import Predecessors
from dataflow.runjob.processes import boottime, kill_orphans
from dataflow.runjob.signals import Signals
from dataflow.runjob.tally import Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Claimant, ClaimResult, Ending, Plan, Run
    from dataflow.runjob.child import Child
    from dataflow.runjob.heartbeat import Heartbeat
    from dataflow.runjob.launch import Launcher
    from dataflow.runjob.report import Report
    from dataflow.runjob.request import JobRequest
    from dataflow.runjob.terminal import Terminal
    from dataflow.store.store import Store

    States = list[object]

HEARTBEAT_AFTER_SECONDS = 1.0
"""A child that lives shorter than this needs no heartbeat thread."""
CROWDED_BYTES = 1 << 20
"""No new work while the reader of our output is this far behind."""
LONGEST_GATHER_SECONDS = 0.02
"""How long an ended run may wait for others to be recorded in the same transaction."""
REAP_SECONDS = 10.0
"""How long the dead that a running script has orphaned may lie about."""
RETRY_SECONDS = 1.0
"""Between two tries to record an outcome while the store is away."""


class Worker:
    """One process's runs of one job."""

    def __init__(
        self, request: JobRequest, store: Store, plan: Plan, claimant: Claimant, launcher: Launcher
    ) -> None:
        self.plan = plan
        self.tally = Tally()
        self._request = request
        self._store = store
        self._claimant = claimant
        self._launcher = launcher
        self._predecessors = Predecessors(store, claimant)
        self._signals = Signals()
        self._children: dict[int, Child] = {}
        self._ended: list[tuple[Ending, Child | None]] = []
        self._heartbeat: Heartbeat | None = None
        self._exhausted = False
        self._look_for_dead = True
        self._commit_seconds = 0.0
        self._reap_at = boottime() + REAP_SECONDS
        self._terminals: tuple[Terminal, ...] = ()
        self._report: Report

    @property
    def signal(self) -> int:
        """The signal that ended the work, or 0."""
        return self._signals.first

    def run(self, terminals: tuple[Terminal, ...], report: Report) -> Tally:
        """Works until nothing is left to do or a signal says stop."""
        self._terminals, self._report = terminals, report
        self._signals.catch()
        try:
            while self._settle() or self._children or self._is_held_up():
                if not self._ended and (self._children or self._is_held_up()):
                    self._wait()
            return self.tally
        finally:
            for child in self._children.values():
                child.kill("RunJob ended")
            if self._heartbeat is not None:
                self._heartbeat.stop()
            self._launcher.close()

    # finishing and claiming

    def _settle(self) -> bool:
        """Finishes what has ended and claims what there is room for, in one transaction; False when idle."""
        request = self._claim_request()
        if request is None and not self._ended:
            return False
        looked = request is not None and (self._look_for_dead or bool(self._request.kill_command))
        if request is not None and looked:
            request = self._with_dead(request)
        batch, self._ended = self._ended, []
        if batch:
            failpoints.reach("before_finish")
        began_at = boottime()
        states, result = self._finish_and_claim(batch, request)
        self._commit_seconds = boottime() - began_at
        for (ending, child), state in zip(batch, states, strict=True):
            self._settled(ending, child, state)
        self._forget_dead(request)
        if result.runs:
            failpoints.reach("after_claim")
        elif request is not None:
            # Before giving up, ask the kernel about the others on this machine once more.
            self._exhausted, self._look_for_dead = looked, True
        for run in result.runs:
            self.tally.started += 1
            if self.signal:  # It came while the claim was under way.
                self._ended.append((not_begun(run, signal.Signals(self.signal).name), None))
            else:
                self._launched(*self._launch(run, began_at))
        if self._heartbeat is not None:
            self._heartbeat.keep(self._children.values())
        return True

    def _finish_and_claim(
        self, batch: list[tuple[Ending, Child | None]], request: ClaimRequest | None
    ) -> tuple[States, ClaimResult]:
        """One transaction; while the store is away it is tried again as long as the leases may hold."""
        endings = [ending for ending, _ in batch]
        children = [*(child for _, child in batch if child is not None), *self._children.values()]
        until = max((child.kill_at for child in children), default=0.0)
        repeat = False
        while True:
            try:
                states, result, self.plan = finish_and_claim(self._store, self.plan, endings, request, repeat)
                return list(states), result
            except errors.SchemaMismatch:
                raise
            except errors.StoreError as error:
                if boottime() + RETRY_SECONDS >= until or self._signals.count > 1:
                    raise
                if not repeat:
                    self._report.warn(
                        f"{error} Trying again to record what has ended; two signals give it up."
                    )
                repeat = True
                self._wait_until(boottime() + RETRY_SECONDS)

    def _claim_request(self) -> ClaimRequest | None:
        """What to ask for now; None when no new work is wanted."""
        wanted = self._count_wanted()
        if not wanted or self._is_crowded():
            return None
        job, asked = self.plan.job, self._request
        return ClaimRequest(
            self._claimant,
            tuple(os.urandom(16).hex() for _ in range(wanted)),
            job.lease_seconds if asked.lease_seconds is None else asked.lease_seconds,
            job.grace_seconds if asked.grace_seconds is None else asked.grace_seconds,
            asked.dataid,
            asked.force,
            bool(asked.kill_command),
            credentials=list_credentials(self.plan),
        )

    def _count_wanted(self) -> int:
        """How many more runs there is room for."""
        if self._exhausted or self.signal or self.tally.broken:
            return 0
        if self._request.drain:
            return max(0, self._request.streams - len(self._children))
        return 0 if self._children or self.tally.last or self.tally.lost or self._really_ended() else 1

    def _is_crowded(self) -> bool:
        return any(terminal.pending_bytes > CROWDED_BYTES for terminal in self._terminals)

    def _is_held_up(self) -> bool:
        """Only the reader of our output keeps us from claiming."""
        return self._is_crowded() and bool(self._count_wanted())

    def _really_ended(self) -> bool:
        return any(ending.outcome is not RunOutcome.RETURNED for ending, _ in self._ended)

    def _with_dead(self, request: ClaimRequest) -> ClaimRequest:
        """Adds what this machine's kernel knows to be dead, and ends what outlived it."""
        lock_dir = self._request.config.lock_dir
        self._look_for_dead = False
        request = with_dead(self._store, self.plan, request, lambda name: is_dead(lock_dir, name))
        # What cannot be killed now, in uninterruptible I/O perhaps, keeps its work until its lease is over.
        request = replace(request, dead=tuple(name for name in request.dead if kill_orphans(name)))
        if not self._request.kill_command:
            return request
        lapsed = self._store.list_lapsed(self.plan.job_id, request.dead)
        killed = [
            run.run_id
            for run in lapsed
            if run.has_kill_command and self._kill_remains(run.run_id, run.dataid)
        ]
        return replace(request, killed=tuple(killed))

    def _forget_dead(self, request: ClaimRequest | None) -> None:
        """Removes the locks of dead claimants that hold nothing any more, of this job or of another."""
        for name in request.dead if request is not None else ():
            if not self._store.holds_runs(name):
                remove_dead(self._request.config.lock_dir, name)

    def _kill_remains(self, run_id: int, dataid: str) -> bool:
        """Runs the kill command for a dead run whose work may have outlived its process."""
        told = {"dataid": dataid, "jobid": self.plan.job.name, "DATAFLOW_RUN_ID": str(run_id)}
        code = KillCommand(list(self._request.kill_command), self._launcher.given.inherited | told).run()
        if code != 0:
            self._report.warn(f"the kill command for dead run {run_id} failed ({code}); its work has to wait")
        return code == 0

    def _settled(self, ending: Ending, child: Child | None, state: object) -> None:
        """Tells how a run ended; there may be more to claim now."""
        failpoints.reach("after_finish")
        self._exhausted = False
        if isinstance(state, errors.LeaseLost):
            self.tally.lost += 1
            self._report.warn(str(state))
        else:
            ending = as_accepted(ending, state)
            self.tally.count(ending)
            self._report.ended(ending, str(state or ""), boottime() - child.began_at if child else 0.0)
        if child is not None:
            if ending.outcome in (RunOutcome.FAILED, RunOutcome.INVALID):
                self._report.last_lines(child.log)
            self._report.holes(child.log)
            self._launcher.release(child)

    # one run

    def _launch(self, run: Run, began_at: float) -> tuple[Child | None, Ending | None]:
        """The child under way, or the ending of a run that must not start."""
        ending = self._predecessors.end(self.plan, run)
        if ending is not None:
            return None, ending
        try:
            self._launcher.follow(self.plan)
        except errors.SecretError as error:
            self.tally.broken = error
            return None, handed_back(run, str(error))
        return self._launcher.launch(self._store, self.plan, run, began_at)

    def _launched(self, child: Child | None, ending: Ending | None) -> None:
        if ending is not None:
            self._ended.append((ending, child))
            if child is not None and child.broken is not None and child.script_code is None:
                self.tally.broken = child.broken
        elif child is not None:
            self._children[child.run.run_id] = child

    def _step_ended(self, child: Child, code: int) -> None:
        """The run's next command, or its ending."""
        failpoints.reach("after_child_exit")
        if child.ending == "lost":
            self._lost(child)
            return
        ending = ending_of(child, code)
        del self._children[child.run.run_id]
        if ending is None:
            child.steps.pop(0)
            ending = self._launcher.start_step(child)
        self._launched(child, ending)

    def _lost(self, child: Child) -> None:
        """The work is no longer ours: nothing is recorded but that our processes are gone."""
        run = child.run
        del self._children[run.run_id]
        self.tally.lost += 1
        try:
            acknowledge_end(self._store, run)
        except errors.StoreError:
            pass  # Its work then waits until the lease is over.
        self._launcher.release(child)
        self._report.warn(
            f"{run.job} {run.dataid}: run {run.run_id} was taken away or lost its lease, "
            "and its processes were ended. "
            f"See: dataflow journal --run {run.run_id}"
        )

    # waiting

    def _wait_until(self, until: float) -> None:
        """Reacts to whatever happens until then, or until a signal."""
        count = self._signals.count
        while boottime() < until and self._signals.count == count:
            self._wait(until)

    def _wait(self, until: float | None = None) -> None:
        """Waits for the next event and reacts to all that have come."""
        poller = select.poll()
        owners: dict[int, Child] = {}
        for child in self._children.values():
            for fd in child.list_fds():
                owners[fd] = child
                poller.register(fd, select.POLLIN)
        poller.register(self._signals.fileno(), select.POLLIN)
        for fd in self._launcher.guard.list_fds():
            poller.register(fd, 0)
        if self._heartbeat is not None:
            poller.register(self._heartbeat.fileno(), select.POLLIN)
        events = poller.poll(self._patience(until))
        gather_until = boottime() + min(self._commit_seconds, LONGEST_GATHER_SECONDS)
        while events:
            for fd, _ in events:
                self._handle(poller, owners, fd)
            # Those that end while a commit would last are better off sharing it.
            left = gather_until - boottime()
            events = poller.poll(left * 1000) if self._ended and self._children and left > 0 else []
        self._keep_promises()

    def _handle(self, poller: select.poll, owners: dict[int, Child], fd: int) -> None:
        """Reacts to an event of one child; its descriptors are not asked again once they are closed."""
        child = owners.get(fd)
        if child is None:
            return
        before = child.list_fds()
        code = child.handle(fd)
        for gone in set(before) - set(child.list_fds()):
            poller.unregister(gone)
            del owners[gone]
        if code is not None:
            self._step_ended(child, code)

    def _patience(self, until: float | None) -> float | None:
        """How many milliseconds may pass without an event."""
        deadlines = [] if until is None else [until]
        deadlines += [at for child in self._children.values() if (at := child.next_deadline()) is not None]
        if self._heartbeat is None and self._children:
            deadlines.append(self._heartbeat_at())
        if self._children:
            deadlines.append(self._reap_at)
        if any(terminal.pending_bytes for terminal in self._terminals):
            deadlines.append(boottime() + 0.1)
        return max(0.0, (min(deadlines) - boottime()) * 1000 + 1) if deadlines else None

    def _heartbeat_at(self) -> float:
        """When the oldest child has lived long enough to need a heartbeat."""
        return min(
            child.began_at + min(HEARTBEAT_AFTER_SECONDS, child.run.lease_seconds / 6)
            for child in self._children.values()
        )

    def _keep_promises(self) -> None:
        """Deadlines, signals, lost leases and a dead guard."""
        now = boottime()
        for child in self._children.values():
            child.look(now)
        for terminal in self._terminals:
            terminal.flush(0)
        if now >= self._reap_at:
            self._reap_at = now + REAP_SECONDS
            has_orphans(self._launcher.guard.list_pids())
        if not self._launcher.guard.alive() and not self.signal:
            self._signals.first = signal.SIGTERM
            self._report.warn(
                "the guard process is gone: ending the children, for nobody else would do it in time"
            )
        if self._signals.take():
            for child in self._children.values():
                child.stop(signal.Signals(self.signal).name, hurry=self._signals.count > 1)
        if self._heartbeat is not None:
            for run_id in self._heartbeat.take_lost() & set(self._children):
                self._children[run_id].kill("lost")
        elif self._children and now >= self._heartbeat_at():
            self._start_heartbeat()

    def _start_heartbeat(self) -> None:
        from dataflow.runjob.heartbeat import Heartbeat  # start-up: short children never need a thread

        self._heartbeat = Heartbeat(self._store, self._claimant.token, self._children.values())
