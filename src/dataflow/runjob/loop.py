"""The event loop that serves the children of any number of jobs in one thread.

It finishes, launches, waits, keeps leases and deadlines. Which job claims when is left to its subclasses:
RunJob's one job (worker.py) and the worker's many (service/worker.py).
"""

from __future__ import annotations

import os
import select
import signal

from dataflow import errors, failpoints
from dataflow.actions.claim import acknowledge_end
from dataflow.model.status import RunOutcome, WorkState
from dataflow.runjob.child import LOST, Child
from dataflow.runjob.endings import ending_of, not_begun, observe
from dataflow.runjob.handoff import Exchange, Handoff, Settled, find_retry_wait
from dataflow.runjob.launch import Ended, Launcher
from dataflow.runjob.processes import boottime, has_orphans
from dataflow.runjob.report import Report, Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Run
    from dataflow.runjob.guard import Guard
    from dataflow.runjob.heartbeat import Heartbeat
    from dataflow.runjob.output import Terminal
    from dataflow.runjob.request import JobRequest
    from dataflow.store.store import Store

HEARTBEAT_AFTER_SECONDS = 1.0
"""A child that ends sooner needs no heartbeat thread."""
CROWDED_BYTES = 1 << 20
"""No new work is claimed while the reader of our output is this far behind."""
LONGEST_GATHER_SECONDS = 0.02
"""How long an ended run waits for others, to be recorded in the same transaction."""
REAP_SECONDS = 10.0
"""How often dead orphans of running scripts are reaped."""
RETRY_SECONDS = 1.0
"""Pause between attempts to record an outcome while the store is unavailable."""


class Signals:
    """The signals that stop the work, handled by the main loop instead of interrupting it.

    The first one received, and how many there were: a second one means hurry.
    """

    caught: tuple[signal.Signals, ...] = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

    def __init__(self) -> None:
        self.first = 0
        self.count = 0
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def catch(self) -> None:
        """Let these signals only wake the main loop; an ignored one stays ignored, as nohup requires."""
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in self.caught:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._heard)

    def fileno(self) -> int:
        """Becomes readable when a signal arrives."""
        return self._read

    def clear(self) -> None:
        """Empty the pipe."""
        try:
            os.read(self._read, 4096)
        except BlockingIOError:
            pass

    @property
    def stops_work(self) -> bool:
        """True when running work must be handed back."""
        return bool(self.first)

    @property
    def stops_claims(self) -> bool:
        """True when nothing more may be claimed."""
        return bool(self.first)

    @property
    def hurries(self) -> bool:
        """True when what was asked to stop must end now."""
        return self.count > 1

    def stop_work(self) -> None:
        """Hand the work back, as after a signal."""
        self.first = self.first or signal.SIGTERM

    def _heard(self, number: int, _frame: object) -> None:
        self.first = self.first or number
        self.count += 1


class JobLine:
    """One job in the loop: how its work is taken and started, and what of it has ended or is retried soon."""

    def __init__(self, request: JobRequest, handoff: Handoff, launcher: Launcher) -> None:
        self.request = request
        self.handoff = handoff
        self.launcher = launcher
        self.ended: list[Ended] = []
        self.retries_at: list[float] = []
        self.exhausted = False  # there is nothing to claim until something changes
        self.broken: errors.DataFlowError | None = None  # stands in the way of every run


class Loop:
    """The children of this process. One thread serves them all."""

    waits_for_retries = False
    """Whether to wait for the retry of what has just failed, if it is due soon."""

    def __init__(
        self, store: Store, token: str, guard: Guard, report: Report, terminals: tuple[Terminal, Terminal]
    ) -> None:
        """`token` names the claimant of all runs."""
        self.tally = Tally()
        self.signals = Signals()
        self.report = report
        self._store = store
        self._token = token
        self._guard = guard
        self._terminals = terminals
        self._children: dict[int, Child] = {}
        self._lines: dict[int, JobLine] = {}  # by run
        self._heartbeat: Heartbeat | None = None
        self._commit_seconds = 0.0
        self._reap_at = boottime() + REAP_SECONDS

    @property
    def signal(self) -> int:
        """The signal that stopped the work, or 0."""
        return self.signals.first

    def end(self) -> None:
        """Kill what still runs and stop the heartbeat."""
        for child in self._children.values():
            child.kill("RunJob ended")
        if self._heartbeat is not None:
            self._heartbeat.stop()

    # finishing and claiming

    def settle(self, line: JobLine, wanted: int) -> Exchange:
        """Finish what has ended of a job and claim up to `wanted` more of it, in one transaction."""
        batch, line.ended = line.ended, []
        if batch:
            failpoints.reach("before_finish")
        exchange = self._take(line, wanted, batch)
        self._commit_seconds = boottime() - exchange.began_at
        for ended, settled in zip(batch, exchange.settled, strict=True):
            self._settled(line, settled, ended.child)
        if exchange.runs:
            failpoints.reach("after_claim")
        elif wanted:
            line.exhausted = exchange.exhausted
        for run in exchange.runs:
            if self.signals.stops_claims:  # It came while the claim was under way.
                line.ended.append(Ended(not_begun(run, signal.Signals(self.signal).name)))
            else:
                self._launched(line, self._launch(line, run, exchange.began_at))
        line.launcher.tidy()
        if self._heartbeat is not None:
            self._heartbeat.keep(self._children.values())
        return exchange

    def _take(self, line: JobLine, wanted: int, batch: list[Ended]) -> Exchange:
        """Take work; nothing if the store refuses that and may accept what has ended meanwhile."""
        children = [*(ended.child for ended in batch if ended.child), *self._children.values()]
        until = max((child.kill_at for child in children), default=0.0)
        is_refused = not batch  # and not unanswered: then it may have been made, and has to be repeated

        def wait(error: errors.StoreError, again: bool) -> bool:
            nonlocal is_refused
            is_refused = is_refused and not isinstance(error, errors.StoreUnreachable)
            return self._wait_for_store(until, error, again) and not (is_refused and line.ended)

        try:
            return line.handoff.take(wanted, [ended.ending for ended in batch], wait)
        except errors.DataFlowError:
            if is_refused and line.ended:
                return Exchange((), (), boottime(), exhausted=False)
            line.ended[:0] = batch
            raise

    def _launch(self, line: JobLine, run: Run, began_at: float) -> Child | Ended:
        """Bring a claimed run to its first command, or to its ending."""
        return line.launcher.launch(line.handoff.begin(run, began_at))

    def _wait_for_store(self, until: float, error: errors.StoreError, again: bool) -> bool:
        """Wait a moment before the next try, as long as the leases may hold; False gives up."""
        if boottime() + RETRY_SECONDS >= until or self.signals.hurries:
            return False
        if not again:
            self.report.warn(f"{error} Store unavailable; retrying. Press Ctrl-C twice to give up.")
        self._wait_until(boottime() + RETRY_SECONDS)
        return True

    def _is_crowded(self) -> bool:
        return any(terminal.pending_bytes > CROWDED_BYTES for terminal in self._terminals)

    def _expect_retry(self, line: JobLine, run: Run) -> str:
        """Wait for the retry of what has just failed, if it is due soon; return that in words."""
        if not self.waits_for_retries:
            return ""
        try:
            seconds = find_retry_wait(self._store, line.handoff.plan, run.work_id, run.dataid)
        except errors.StoreError:  # everything is recorded; the next RunJob tries again
            return ""
        if seconds is None:
            return ""
        line.retries_at.append(boottime() + seconds)
        return f", retry in {seconds:.1f} s"

    def _settled(self, line: JobLine, settled: Settled, child: Child | None) -> None:
        """Report how a run ended; there may be more to claim now."""
        failpoints.reach("after_finish")
        ending, state = settled.ending, settled.state
        line.exhausted = False
        if isinstance(state, errors.LeaseLost):
            self.tally.lost += 1
            self.report.warn(str(state))
        else:
            self.tally.count(ending, state)
            is_retried = ending.outcome is RunOutcome.FAILED and state is WorkState.WAITING
            left = f"{state or ''}{self._expect_retry(line, ending.run) if is_retried else ''}"
            self.report.ended(ending, left, boottime() - child.began_at if child else 0.0)
        if child is not None:
            if ending.outcome in (RunOutcome.FAILED, RunOutcome.INVALID):
                self.report.last_lines(child.log)
            self.report.holes(child.log)
            line.launcher.release(child)

    # one run

    def _launched(self, line: JobLine, found: Child | Ended) -> None:
        if isinstance(found, Ended):
            line.ended.append(found)
            line.broken = found.error or line.broken
        else:
            self._children[found.run.run_id] = found
            self._lines[found.run.run_id] = line

    def _leave(self, child: Child) -> JobLine:
        """Take a child out of the loop; return its job."""
        del self._children[child.run.run_id]
        return self._lines.pop(child.run.run_id)

    def _step_ended(self, child: Child, code: int) -> None:
        """Start the run's next command, or end it."""
        failpoints.reach("after_child_exit")
        line = self._leave(child)
        if child.stopped == LOST:
            self._lost(line, child)
            return
        ending = ending_of(observe(child.record_end(code)))
        self._launched(line, line.launcher.start_step(child) if ending is None else Ended(ending, child))

    def _lost(self, line: JobLine, child: Child) -> None:
        """Record that the processes of a lost run are gone; its work is no longer ours."""
        run = child.run
        self.tally.lost += 1
        try:
            acknowledge_end(self._store, run)
        except errors.StoreError:
            pass  # Its work then waits until the lease lapses.
        line.launcher.release(child)
        line.launcher.tidy()
        self.report.warn(
            f"{run.job} {run.dataid}: run {run.run_id} was cancelled or lost its lease; its processes "
            f"were stopped. See: dataflow journal --run {run.run_id}"
        )

    # waiting

    def _wait_until(self, until: float) -> None:
        """Handle events until then, or until a signal."""
        count = self.signals.count
        while boottime() < until and self.signals.count == count:
            self._wait(until)

    def _wait(self, until: float | None = None) -> None:
        """Wait for the next event and handle all that have arrived."""
        poller = select.poll()
        owners: dict[int, Child] = {}
        for child in self._children.values():
            for fd in child.list_fds():
                owners[fd] = child
                poller.register(fd, select.POLLIN)
        poller.register(self.signals.fileno(), select.POLLIN)
        for fd in self._guard.list_fds():
            poller.register(fd, 0)
        if self._heartbeat is not None:
            poller.register(self._heartbeat.fileno(), select.POLLIN)
        for fd in self._list_other_fds():
            poller.register(fd, select.POLLIN)
        events = poller.poll(self._patience(until))
        gather_until = boottime() + min(self._commit_seconds, LONGEST_GATHER_SECONDS)
        while events:
            for fd, _ in events:
                self._handle(poller, owners, fd)
            # Runs that end within the time of a commit share it.
            left = gather_until - boottime()
            events = poller.poll(left * 1000) if self._may_gather() and left > 0 else []
        self._keep_promises()

    def _handle(self, poller: select.poll, owners: dict[int, Child], fd: int) -> None:
        """Handle an event of one child; stop polling the descriptors it closes."""
        child = owners.get(fd)
        if child is None:
            if self._handle_other(fd):
                poller.unregister(fd)
            return
        before = child.list_fds()
        code = child.handle(fd)
        for gone in set(before) - set(child.list_fds()):
            poller.unregister(gone)
            del owners[gone]
        if code is not None:
            self._step_ended(child, code)

    def _patience(self, until: float | None) -> float | None:
        """Return how many milliseconds to wait for an event."""
        deadlines = self._list_deadlines() if until is None else [*self._list_deadlines(), until]
        deadlines += [at for child in self._children.values() if (at := child.next_deadline()) is not None]
        if self._heartbeat is None and self._children:
            deadlines.append(self._heartbeat_at())
        if self._children:
            deadlines.append(self._reap_at)
        if any(terminal.pending_bytes for terminal in self._terminals):
            deadlines.append(boottime() + 0.1)
        return max(0.0, (min(deadlines) - boottime()) * 1000 + 1) if deadlines else None

    def _heartbeat_at(self) -> float:
        """Return when the oldest child needs a heartbeat."""
        return min(
            child.began_at + min(HEARTBEAT_AFTER_SECONDS, child.run.lease_seconds / 6)
            for child in self._children.values()
        )

    def _keep_promises(self) -> None:
        """Handle deadlines, signals, lost leases and a dead guard."""
        now = boottime()
        for child in self._children.values():
            child.look(now)
        for terminal in self._terminals:
            terminal.flush(0)
        self._end_retries(now)
        if now >= self._reap_at:
            self._reap_at = now + REAP_SECONDS
            has_orphans(self._guard.list_pids())
        if not self._guard.alive() and not self.signals.stops_work:
            self.signals.stop_work()
            self.report.warn(
                "the guard process is gone; stopping all runs, because nothing else would stop them in time"
            )
        self.signals.clear()
        if self.signals.stops_work:
            for child in self._children.values():
                child.stop(signal.Signals(self.signal).name, hurry=self.signals.hurries)
        if self._heartbeat is not None:
            for run_id in self._heartbeat.take_lost() & set(self._children):
                self._children[run_id].kill(LOST)
        elif self._children and now >= self._heartbeat_at():
            from dataflow.runjob.heartbeat import Heartbeat  # start-up: short children never need a thread

            self._heartbeat = Heartbeat(self._store, self._token, self._children.values())

    # what a subclass adds

    def _end_retries(self, now: float) -> None:
        """Let work be claimed whose retry is due."""

    def _may_gather(self) -> bool:
        """Return whether something has ended and more may end in a moment."""
        return False

    def _list_deadlines(self) -> list[float]:
        """Return further moments to wake up at."""
        return []

    def _list_other_fds(self) -> list[int]:
        """Return further descriptors that wake the loop."""
        return []

    def _handle_other(self, fd: int) -> bool:
        """Handle an event of one of them; True when it must not be polled again in this turn."""
        return False
