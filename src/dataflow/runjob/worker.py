"""The loop of RunJob: claim, prepare, run, validate, finish, until there is nothing left to claim.

One thread looks after all children; finishing some and claiming the next is one transaction.
"""

from __future__ import annotations

import os
import select
import signal

from dataflow import errors, failpoints
from dataflow.actions.claim import finish_and_claim, with_dead
from dataflow.actions.prepare import prepare
from dataflow.model.record import replace
from dataflow.model.records import ClaimRequest
from dataflow.model.status import RunOutcome
from dataflow.runjob import endings as ends
from dataflow.runjob.child import Child
from dataflow.runjob.environment import child_environment, describe, write_context
from dataflow.runjob.kill_command import KillCommand
from dataflow.runjob.lock import is_dead, remove_dead
from dataflow.runjob.output import RunLog
from dataflow.runjob.processes import boottime, kill_orphans
from dataflow.runjob.steps import list_steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Claimant, Ending, Plan, Run
    from dataflow.runjob.guard import Guard
    from dataflow.runjob.heartbeat import Heartbeat
    from dataflow.runjob.report import Report
    from dataflow.runjob.request import JobRequest
    from dataflow.runjob.terminal import Terminal
    from dataflow.secrets.redaction import Redactor
    from dataflow.store.store import Store

HEARTBEAT_AFTER_SECONDS = 1.0
"""A child that lives shorter than this needs no heartbeat thread."""
CROWDED_BYTES = 1 << 20
"""No new work while the reader of our output is this far behind."""


class Tally:
    """What this call of RunJob has done so far."""

    def __init__(self) -> None:
        self.outcomes: dict[str, int] = {}
        self.last: Ending | None = None
        self.lost = 0
        self.broken: errors.CannotExecute | None = None

    def count(self, ending: Ending) -> None:
        """Adds a run's outcome."""
        self.outcomes[ending.outcome] = self.outcomes.get(ending.outcome, 0) + 1
        if ending.outcome is not RunOutcome.RETURNED:
            self.last = ending

    @property
    def failed(self) -> int:
        """Runs that did not end well."""
        return self.outcomes.get(RunOutcome.FAILED, 0) + self.outcomes.get(RunOutcome.INVALID, 0)


class Worker:
    """One process's runs of one job."""

    def __init__(
        self,
        request: JobRequest,
        store: Store,
        plan: Plan,
        claimant: Claimant,
        guard: Guard,
        terminals: tuple[Terminal, Terminal],
        report: Report,
    ) -> None:
        self.request = request
        self.plan = plan
        self.tally = Tally()
        self.signal = 0
        self._store = store
        self._claimant = claimant
        self._guard = guard
        self._terminals = terminals
        self._report = report
        self._inherited: dict[str, str] = {}
        self._passwords: dict[str, str] = {}
        self._redactor: Redactor
        self._children: dict[int, Child] = {}
        self._endings: list[tuple[Ending, Child | None]] = []
        self._heartbeat: Heartbeat | None = None
        self._exhausted = False
        self._first = True
        self._wake_fd = -1

    def give(self, inherited: dict[str, str], passwords: dict[str, str], redactor: Redactor) -> None:
        """What every child is given: the inherited environment and its datasets' passwords."""
        self._inherited, self._passwords, self._redactor = inherited, passwords, redactor

    def run(self) -> Tally:
        """Works until nothing is left to do or a signal says stop."""
        self._wake_fd = _catch_signals(self)
        try:
            while True:
                self._settle()
                if self._endings:
                    continue
                if not self._children:
                    return self.tally
                self._wait()
        finally:
            for child in self._children.values():
                child.kill("RunJob ended")
            if self._heartbeat is not None:
                self._heartbeat.stop()

    def hurry(self) -> None:
        """A second signal: no more grace."""
        for child in self._children.values():
            child.hurry()

    # finishing and claiming

    def _settle(self) -> None:
        """Finishes what has ended and claims what there is room for, in one transaction."""
        request = self._claim_request()
        if not self._endings and request is None:
            return
        if request is not None and (self._first or self.request.kill_command):
            request = self._with_dead(request)
        batch, self._endings = self._endings, []
        began_at = boottime()
        if batch:
            failpoints.reach("before_finish")
        ended = [ending for ending, _ in batch]
        states, result, self.plan = finish_and_claim(self._store, self.plan, ended, request)
        for (ending, child), state in zip(batch, states, strict=True):
            self._settled(ending, child, state)
        if result.runs:
            failpoints.reach("after_claim")
        elif request is not None:
            self._nothing_claimed(request)
        for run in result.runs:
            self._start(run, began_at)
        if self._heartbeat is not None:
            self._heartbeat.keep(self._children.values())

    def _claim_request(self) -> ClaimRequest | None:
        """What to ask for now; None when no new work is wanted."""
        wanted = self.request.streams - len(self._children)
        ran = sum(self.tally.outcomes.values()) - self.tally.outcomes.get(RunOutcome.RETURNED, 0)
        started = ran + len(self._children) + self.tally.lost + sum(e.outcome is not RunOutcome.RETURNED for e, _ in self._endings)
        if not self.request.drain and started:
            return None
        if wanted <= 0 or self._exhausted or self.signal or self.tally.broken:
            return None
        if any(terminal.pending_bytes > CROWDED_BYTES for terminal in self._terminals):
            return None
        job = self.plan.job
        return ClaimRequest(
            self._claimant,
            tuple(os.urandom(16).hex() for _ in range(wanted if self.request.drain else 1)),
            self.request.lease_seconds or job.lease_seconds,
            self.request.grace_seconds if self.request.grace_seconds is not None else job.grace_seconds,
            self.request.dataid,
            self.request.force,
            bool(self.request.kill_command),
            credentials=tuple(sorted(self._passwords)),
        )

    def _with_dead(self, request: ClaimRequest) -> ClaimRequest:
        """Adds what this machine's kernel knows to be dead, and ends what outlived it."""
        lock_dir = self.request.config.lock_dir
        self._first = False
        request = with_dead(self._store, self.plan, request, lambda name: is_dead(lock_dir, name))
        for name in request.dead:
            kill_orphans(name)
        if not self.request.kill_command:
            return request
        killed = []
        for lapsed in self._store.list_lapsed(self.plan.job_id, request.dead):
            if lapsed.has_kill_command:
                told = {"dataid": lapsed.dataid, "jobid": self.plan.job.name, "DATAFLOW_RUN_ID": str(lapsed.run_id)}
                code = KillCommand(list(self.request.kill_command), self._inherited | told).run()
                if code == 0:
                    killed.append(lapsed.run_id)
                else:
                    self._report.warn(f"the kill command for dead run {lapsed.run_id} failed ({code}); its work waits")
        return replace(request, killed=tuple(killed))

    def _nothing_claimed(self, request: ClaimRequest) -> None:
        """Before giving up, looks once more for dead claimants on this machine."""
        again = self._with_dead(request) if not request.dead else request
        if again.dead and not request.dead:
            self._first = True
            return self._settle()
        for name in request.dead:
            remove_dead(self.request.config.lock_dir, name)
        self._exhausted = True

    def _settled(self, ending: Ending, child: Child | None, state: object) -> None:
        failpoints.reach("after_finish")
        if isinstance(state, errors.LeaseLost):
            self.tally.lost += 1
            self._report.warn(str(state))
        else:
            self.tally.count(ending)
            seconds = boottime() - child.began_at if child else 0.0
            self._report.ended(ending, str(state or ""), seconds)
        if child is not None:
            if ending.outcome in (RunOutcome.FAILED, RunOutcome.INVALID):
                self._report.last_lines(child.log)
            child.close()

    # one run

    def _start(self, run: Run, began_at: float) -> None:
        """Prepares a run and starts its first command, or hands the work back."""
        config = self.request.config
        prepared = prepare(self._store, self.plan, run, config.project_dir, config.environment)
        refusal = None if self.request.force else ends.refused(prepared)
        if refusal is not None:
            self._endings.append((refusal, None))
            return
        checked = {item.source.dataset.name for item in prepared.inputs if item.pin and item.pin.checked}
        child = Child(prepared, list_steps(self.plan, self.request.argv, config.checks, checked), self._guard, began_at)
        child.log = RunLog(config.log_dir, run.run_id)
        told = describe(prepared)
        child.context_path = write_context(os.path.join(os.path.dirname(config.log_dir), "context"), prepared, told)
        passwords = self._passwords
        child.environment = child_environment(self._inherited, told, passwords, child.token, child.context_path)
        if self.request.timeout_seconds:
            child.timeout_at = boottime() + self.request.timeout_seconds
        if self.request.kill_command:
            child.kill_command = KillCommand(list(self.request.kill_command), child.environment)
        self._children[run.run_id] = child
        self._start_step(child)

    def _start_step(self, child: Child) -> None:
        failpoints.reach("before_spawn")
        try:
            child.start(self._terminals, self._redactor, self._inherited.get("PATH", os.defpath))
        except errors.CannotExecute as error:
            child.forget()
            del self._children[child.run.run_id]
            if child.script_code is not None:
                ending = ends.check_not_executed(child, str(error))
            else:
                self.tally.broken = error
                ending = ends.not_executed(child.prepared, str(error))
            self._endings.append((ending, child))
            return
        failpoints.reach("after_spawn")

    def _step_ended(self, child: Child, code: int) -> None:
        failpoints.reach("after_child_exit")
        if child.ending == "lost":
            self._lost(child)
            return
        ending = ends.ending_of(child, code)
        if ending is None:
            child.steps.pop(0)
            self._start_step(child)
            return
        del self._children[child.run.run_id]
        self._endings.append((ending, child))

    def _lost(self, child: Child) -> None:
        """The work is no longer ours: nothing is recorded but that our processes are gone."""
        del self._children[child.run.run_id]
        self.tally.lost += 1
        run = child.run
        self._store.acknowledge(run.run_id, run.claimant)
        child.close()
        self._report.warn(
            f"{run.job} {run.dataid}: run {run.run_id} was taken away or lost its lease; its processes were ended. "
            f"See: dataflow journal --run {run.run_id}"
        )

    # waiting

    def _wait(self) -> None:
        """Waits for the next event and reacts to all that have come."""
        poller = select.poll()
        owners: dict[int, Child] = {}
        for child in self._children.values():
            for fd in child.list_fds():
                owners[fd] = child
                poller.register(fd, select.POLLIN)
        poller.register(self._wake_fd, select.POLLIN)
        poller.register(self._guard.fileno(), 0)
        if self._heartbeat is not None:
            poller.register(self._heartbeat.fileno(), select.POLLIN)
        events = poller.poll(self._patience())
        for fd, _ in events:
            if fd in owners:
                code = owners[fd].handle(fd)
                if code is not None:
                    self._step_ended(owners[fd], code)
        self._keep_promises()

    def _patience(self) -> float | None:
        """How many milliseconds may pass without an event."""
        deadlines = [at for child in self._children.values() if (at := child.next_deadline()) is not None]
        if self._heartbeat is None:
            deadlines.append(min(child.began_at for child in self._children.values()) + self._heartbeat_after())
        if any(terminal.pending_bytes for terminal in self._terminals):
            deadlines.append(boottime() + 0.1)
        return max(0.0, (min(deadlines) - boottime()) * 1000 + 1) if deadlines else None

    def _heartbeat_after(self) -> float:
        return min([HEARTBEAT_AFTER_SECONDS, *(child.run.lease_seconds / 6 for child in self._children.values())])

    def _keep_promises(self) -> None:
        """Signals, deadlines, lost leases and a dead guard."""
        now = boottime()
        for child in list(self._children.values()):
            child.look(now)
        for terminal in self._terminals:
            terminal.flush(0)
        if self.signal:
            _drain_pipe(self._wake_fd)
            for child in self._children.values():
                child.stop(signal.Signals(self.signal).name)
        if self._heartbeat is not None:
            for run_id in self._heartbeat.take_lost():
                if run_id in self._children:
                    self._children[run_id].kill("lost")
        elif self._children and now >= min(c.began_at for c in self._children.values()) + self._heartbeat_after():
            self._start_heartbeat()
        if not self._guard.alive():
            self.signal = self.signal or signal.SIGTERM
            self._report.warn("the guard process is gone; ending the children, since nobody else would in time")

    def _start_heartbeat(self) -> None:
        from dataflow.runjob.heartbeat import Heartbeat  # start-up: short children never need a thread

        lease_seconds = min(child.run.lease_seconds for child in self._children.values())
        self._heartbeat = Heartbeat(self._store, self._claimant.token, lease_seconds)
        self._heartbeat.keep(self._children.values())


def _catch_signals(worker: Worker) -> int:
    """Lets the main loop hear SIGTERM, SIGINT and SIGHUP; a second one kills at once."""
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)

    def heard(number: int, _frame: object) -> None:
        if worker.signal:
            worker.hurry()
        worker.signal = worker.signal or number

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, heard)
    return read_end


def _drain_pipe(fd: int) -> None:
    try:
        os.read(fd, 4096)
    except BlockingIOError:
        pass
