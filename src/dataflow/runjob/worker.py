"""The event loop of RunJob: claims, runs and finishes until there is nothing left to claim.

One thread serves all children; finishing some and claiming the next is one transaction.
"""

from __future__ import annotations

import os
import select
import signal
from functools import partial

from dataflow import errors, failpoints
from dataflow.actions.claim import acknowledge_end
from dataflow.model.status import RunOutcome, WorkState
from dataflow.runjob.child import LOST, Child
from dataflow.runjob.endings import ending_of, not_begun, observe
from dataflow.runjob.handoff import RETRY_WAIT_SECONDS, Handoff, Settled
from dataflow.runjob.launch import Ended, Launcher
from dataflow.runjob.processes import boottime, has_orphans
from dataflow.runjob.report import Report, Tally

TYPE_CHECKING = False
if TYPE_CHECKING:
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
CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals:
    """The signals that stop the work, handled by the main loop instead of interrupting it.

    The first one received, and how many there were: a second one means hurry.
    """

    def __init__(self) -> None:
        self.first = 0
        self.count = 0
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def catch(self) -> None:
        """Let these signals only wake the main loop; an ignored one stays ignored, as nohup requires."""
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in CAUGHT:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._heard)

    def fileno(self) -> int:
        """Becomes readable when a signal arrives."""
        return self._read

    def take(self) -> bool:
        """Empty the pipe; return True when the work must stop."""
        try:
            os.read(self._read, 4096)
        except BlockingIOError:
            pass
        return bool(self.first)

    def _heard(self, number: int, _frame: object) -> None:
        self.first = self.first or number
        self.count += 1


class Worker:
    """The runs of one job in this process."""

    def __init__(self, request: JobRequest, store: Store, handoff: Handoff, launcher: Launcher) -> None:
        self.tally = Tally()
        self._request = request
        self._store = store
        self._handoff = handoff
        self._launcher = launcher
        self._signals = Signals()
        self._children: dict[int, Child] = {}
        self._ended: list[Ended] = []
        self._heartbeat: Heartbeat | None = None
        self._exhausted = False
        self._retries_at: list[float] = []
        self._commit_seconds = 0.0
        self._reap_at = boottime() + REAP_SECONDS
        self._terminals: tuple[Terminal, ...] = ()
        self._report: Report

    @property
    def signal(self) -> int:
        """The signal that stopped the work, or 0."""
        return self._signals.first

    def run(self, terminals: tuple[Terminal, ...], report: Report) -> Tally:
        """Work until nothing is left to do or a signal arrives."""
        self._terminals, self._report = terminals, report
        self._signals.catch()
        try:
            while self._settle() or self._has_to_wait():
                if not self._ended and self._has_to_wait():
                    self._wait()
            return self.tally
        finally:
            for child in self._children.values():
                child.kill("RunJob ended")
            if self._heartbeat is not None:
                self._heartbeat.stop()

    # finishing and claiming

    def _settle(self) -> bool:
        """Finish what has ended and claim what there is room for, in one transaction; False when idle."""
        wanted = 0 if self._is_crowded() else self._count_wanted()
        if not wanted and not self._ended:
            return False
        batch, self._ended = self._ended, []
        if batch:
            failpoints.reach("before_finish")
        children = [*(ended.child for ended in batch if ended.child), *self._children.values()]
        until = max((child.kill_at for child in children), default=0.0)
        exchange = self._handoff.take(
            wanted, [ended.ending for ended in batch], partial(self._wait_for_store, until)
        )
        self._commit_seconds = boottime() - exchange.began_at
        for ended, settled in zip(batch, exchange.settled, strict=True):
            self._settled(settled, ended.child)
        if exchange.runs:
            failpoints.reach("after_claim")
        elif wanted:
            self._exhausted = exchange.exhausted
        for run in exchange.runs:
            if self.signal:  # It came while the claim was under way.
                self._ended.append(Ended(not_begun(run, signal.Signals(self.signal).name)))
            else:
                self._launched(self._launcher.launch(self._handoff.begin(run, exchange.began_at)))
        if self._heartbeat is not None:
            self._heartbeat.keep(self._children.values())
        return True

    def _wait_for_store(self, until: float, error: errors.StoreError, again: bool) -> bool:
        """Wait a moment before the next try, as long as the leases may hold; False gives up."""
        if boottime() + RETRY_SECONDS >= until or self._signals.count > 1:
            return False
        if not again:
            self._report.warn(f"{error} Store unavailable; retrying. Press Ctrl-C twice to give up.")
        self._wait_until(boottime() + RETRY_SECONDS)
        return True

    def _count_wanted(self) -> int:
        """Return how many more runs there is room for."""
        if self._exhausted or self.signal or self.tally.broken:
            return 0
        if self._request.drain:
            return max(0, self._request.streams - len(self._children))
        has_ended = any(ended.ending.outcome is not RunOutcome.RETURNED for ended in self._ended)
        return 0 if self._children or self.tally.last or self.tally.lost or has_ended else 1

    def _is_crowded(self) -> bool:
        return any(terminal.pending_bytes > CROWDED_BYTES for terminal in self._terminals)

    def _has_to_wait(self) -> bool:
        """True while something runs or is retried soon, or only the reader of our output delays a claim."""
        is_held_up = self._is_crowded() and self._count_wanted()
        return bool(self._children or is_held_up or self._retries_at)

    def _expect_retry(self) -> str:
        """A drain waits for the retry of what has just failed, if it is due soon; return that in words."""
        delay_seconds = self._handoff.plan.job.retry_delay_seconds
        if not self._request.drain or delay_seconds > RETRY_WAIT_SECONDS:
            return ""
        self._retries_at.append(boottime() + delay_seconds)
        return f", retry in {delay_seconds:g} s"

    def _settled(self, settled: Settled, child: Child | None) -> None:
        """Report how a run ended; there may be more to claim now."""
        failpoints.reach("after_finish")
        ending, state = settled.ending, settled.state
        self._exhausted = False
        if isinstance(state, errors.LeaseLost):
            self.tally.lost += 1
            self._report.warn(str(state))
        else:
            self.tally.count(ending, state)
            is_retried = ending.outcome is RunOutcome.FAILED and state is WorkState.WAITING
            left = f"{state or ''}{self._expect_retry() if is_retried else ''}"
            self._report.ended(ending, left, boottime() - child.began_at if child else 0.0)
        if child is not None:
            if ending.outcome in (RunOutcome.FAILED, RunOutcome.INVALID):
                self._report.last_lines(child.log)
            self._report.holes(child.log)
            self._launcher.release(child)

    # one run

    def _launched(self, found: Child | Ended) -> None:
        if isinstance(found, Ended):
            self._ended.append(found)
            self.tally.broken = found.error or self.tally.broken
        else:
            self._children[found.run.run_id] = found

    def _step_ended(self, child: Child, code: int) -> None:
        """Start the run's next command, or end it."""
        failpoints.reach("after_child_exit")
        if child.stopped == LOST:
            self._lost(child)
            return
        del self._children[child.run.run_id]
        ending = ending_of(observe(child.record_end(code)))
        self._launched(self._launcher.start_step(child) if ending is None else Ended(ending, child))

    def _lost(self, child: Child) -> None:
        """Record that the processes of a lost run are gone; its work is no longer ours."""
        run = child.run
        del self._children[run.run_id]
        self.tally.lost += 1
        try:
            acknowledge_end(self._store, run)
        except errors.StoreError:
            pass  # Its work then waits until the lease lapses.
        self._launcher.release(child)
        self._report.warn(
            f"{run.job} {run.dataid}: run {run.run_id} was cancelled or lost its lease; its processes "
            f"were stopped. See: dataflow journal --run {run.run_id}"
        )

    # waiting

    def _wait_until(self, until: float) -> None:
        """Handle events until then, or until a signal."""
        count = self._signals.count
        while boottime() < until and self._signals.count == count:
            self._wait(until)

    def _wait(self, until: float | None = None) -> None:
        """Wait for the next event and handle all that have arrived."""
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
            # Runs that end within the time of a commit share it.
            left = gather_until - boottime()
            events = poller.poll(left * 1000) if self._ended and self._children and left > 0 else []
        self._keep_promises()

    def _handle(self, poller: select.poll, owners: dict[int, Child], fd: int) -> None:
        """Handle an event of one child; stop polling the descriptors it closes."""
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
        """Return how many milliseconds to wait for an event."""
        deadlines = [*self._retries_at] if until is None else [*self._retries_at, until]
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
        due = [at for at in self._retries_at if at <= now or self.signal or self.tally.broken]
        if due:
            self._retries_at = [at for at in self._retries_at if at not in due]
            self._exhausted = False
        if now >= self._reap_at:
            self._reap_at = now + REAP_SECONDS
            has_orphans(self._launcher.guard.list_pids())
        if not self._launcher.guard.alive() and not self.signal:
            self._signals.first = signal.SIGTERM
            self._report.warn(
                "the guard process is gone; stopping all runs, because nothing else would stop them in time"
            )
        if self._signals.take():
            for child in self._children.values():
                child.stop(signal.Signals(self.signal).name, hurry=self._signals.count > 1)
        if self._heartbeat is not None:
            for run_id in self._heartbeat.take_lost() & set(self._children):
                self._children[run_id].kill(LOST)
        elif self._children and now >= self._heartbeat_at():
            from dataflow.runjob.heartbeat import Heartbeat  # start-up: short children never need a thread

            self._heartbeat = Heartbeat(self._store, self._handoff.claimant.token, self._children.values())
