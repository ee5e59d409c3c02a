"""A running child: the commands of one run, their processes, their output and their deadlines."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping

from dataflow.actions.prepare import Prepared
from dataflow.errors import BadInput, CannotExecute, LeaseLost
from dataflow.model.record import record
from dataflow.model.records import Run
from dataflow.runjob.endings import NOT_RENEWED, TIMEOUT, CommandEnd
from dataflow.runjob.environment import Given
from dataflow.runjob.guard import Guard
from dataflow.runjob.handoff import Attempt
from dataflow.runjob.kill_command import KillCommand
from dataflow.runjob.output import OutputPump, RunLog, Terminal
from dataflow.runjob.processes import (
    TOKEN_VARIABLE,
    boottime,
    has_orphans,
    join_tokens,
    kill_escaped,
    signal_group,
)
from dataflow.runjob.spawn import exit_code_of, find_command, spawn

MARGIN_SECONDS = 2.0
"""Killing begins this long before it must be over."""
LOST = "lost"


@record
class Step:
    """One command of a run: a check of `dataset`, before or after the script, or the script itself."""

    argv: tuple[str, ...]
    dataset: str = ""
    before: bool = False

    @property
    def is_script(self) -> bool:
        """True for the script, False for a check."""
        return not self.dataset


def list_steps(
    prepared: Prepared, argv: tuple[str, ...], checks: Mapping[str, tuple[str, ...]]
) -> list[Step]:
    """Input checks (of what no producer has checked), the script, output checks."""
    checked = {item.source.dataset.name for item in prepared.inputs if item.pin and item.pin.checked}
    # Of an input with several chunks, one without a check is enough.
    checked -= {item.source.dataset.name for item in prepared.inputs if item.pin and not item.pin.checked}
    inputs = [item.dataset.name for item in prepared.plan.inputs]
    outputs = [item.dataset.name for item in prepared.plan.outputs]
    before = [Step(checks[name], name, True) for name in inputs if name in checks and name not in checked]
    return [*before, Step(argv), *(Step(checks[name], name) for name in outputs if name in checks)]


class Child:
    """A run's commands, one at a time, each in its own session and watched by the guard."""

    def __init__(self, attempt: Attempt, steps: list[Step], guard: Guard, log: RunLog) -> None:
        assert attempt.prepared is not None
        self.prepared: Prepared = attempt.prepared
        self.given: Given = attempt.given
        self.began_at = attempt.began_at
        self.renewed_at = attempt.began_at
        self.timeout_at: float | None = None
        self._timeout_seconds = attempt.timeout_seconds
        self.environment: dict[str, str] = {}
        self.context_path = ""
        self.script_code: int | None = None
        self.stopped = ""
        self.kill_command: KillCommand | None = None
        self.log = log
        self._steps = steps
        self._passed: list[str] = []
        self._token = ""
        self._guard = guard
        self._pump: OutputPump | None = None
        self._pid = 0
        self._pidfd = -1
        self._kill_at: float | None = None

    @property
    def run(self) -> Run:
        """The run this child works for."""
        return self.prepared.run

    @property
    def kill_at(self) -> float:
        """When the guard must end the processes, so that they are gone before the lease lapses."""
        return self.renewed_at + self.run.lease_seconds - self.run.grace_seconds - MARGIN_SECONDS

    def start(self, terminals: tuple[Terminal, Terminal]) -> None:
        """Start the next command; CannotExecute if it does not exist, LeaseLost if it would be too late."""
        argv = self._steps[0].argv
        search_path = self.given.inherited.get("PATH", os.defpath)
        argv = (find_command(argv[0], search_path, os.getcwd()), *argv[1:])
        # A token of its own for each command: the guard must find it even if we die before it is announced.
        self._token = self._guard.new_token()
        self.environment[TOKEN_VARIABLE] = join_tokens(
            self.given.inherited.get(TOKEN_VARIABLE, ""), self._token
        )
        if self.kill_command is not None:
            self._guard.set_kill_command(self._token, self.kill_command)
        if boottime() >= self.kill_at:
            raise LeaseLost(f"the lease of run {self.run.run_id} ran out before its command was started")
        self._pump = OutputPump(
            self.log, terminals, (self.given.redactor.new_stream(), self.given.redactor.new_stream())
        )
        self._guard.expect(self._token, self.kill_at, self.run.grace_seconds)
        try:
            self._pid = spawn(list(argv), self.environment, *self._pump.child_ends)
        except (CannotExecute, BadInput):
            self._pump.drain()
            self._guard.forget(self._token)
            raise
        self._pump.close_child_ends()
        self._pidfd = os.pidfd_open(self._pid)
        self._guard.watch(self._token, self._pid, self.kill_at, self.run.grace_seconds)

    def renewed(self, at: float) -> None:
        """Count the lease from this moment; the guard's deadline moves with it."""
        self.renewed_at = at
        self._guard.extend(self.kill_at, self._token)

    def list_fds(self) -> list[int]:
        """List the descriptors to poll: output, and the end of the process."""
        fds = self._pump.list_fds() if self._pump else []
        return [*fds, self._pidfd] if self._pidfd >= 0 else fds

    def handle(self, fd: int) -> int | None:
        """React to an event; return the exit code when the command has ended."""
        if fd != self._pidfd:
            if self._pump and fd in self._pump.list_fds():
                self._pump.pump(fd)
            return None
        return self._reap()

    def record_end(self, code: int) -> CommandEnd:
        """Count the command that has ended as done, and return the facts about it."""
        step = self._steps.pop(0)
        if step.is_script:
            self.script_code = code
        elif not step.before and not code:
            self._passed.append(step.dataset)
        passed = tuple(self._passed)
        return CommandEnd(
            self.prepared, step, code, self.script_code, passed, self.stopped, is_last=not self._steps
        )

    def stop(self, why: str, hurry: bool = False) -> None:
        """Send SIGTERM; what is left is killed after the grace, or at once in a hurry."""
        if self.stopped:
            if hurry and self._kill_at is not None:
                self._kill_at = boottime()
            return
        self.stopped = why
        self._kill_at = boottime() + self.run.grace_seconds
        signal_group(self._pid, signal.SIGTERM)
        signal_group(self._pid, signal.SIGCONT)

    def kill(self, why: str) -> None:
        """Kill all processes of this run at once, including daemons it left behind."""
        self.stopped = self.stopped or why
        kill_escaped(self._token, self._pid or None)

    def next_deadline(self) -> float | None:
        """Return the next time at which `look` is due."""
        return self._kill_at if self._kill_at is not None else self.timeout_at

    def look(self, now: float) -> None:
        """Enforce the timeout, and the grace after a stop."""
        if self._kill_at is not None:
            if now >= self._kill_at:
                self._kill_at = None
                self.timeout_at = None
                self.kill(self.stopped)
        elif self.timeout_at is not None and now >= self.timeout_at and not self.stopped:
            self.timeout_at = None
            self.stop(f"{TIMEOUT} after {self._timeout_seconds:g} s")

    def _reap(self) -> int:
        """Reap the ended command; nothing may be signalled once its pid is free again."""
        if not self.stopped and boottime() >= self.kill_at:
            # The guard has signalled it: it did not end by itself.
            self.stopped = NOT_RENEWED
        if self.stopped:
            kill_escaped(self._token, self._pid)
            if self.kill_command is not None:
                self.kill_command.run()
        else:
            # Background processes of the script end with it, in other sessions too.
            signal_group(self._pid, signal.SIGKILL)
            if has_orphans(self._guard.list_pids()):
                kill_escaped(self._token, self._pid)
        assert self._pump is not None
        self._pump.drain()
        self._guard.forget(self._token)
        _, status = os.waitpid(self._pid, 0)
        os.close(self._pidfd)
        self._pidfd, self._pid, self._kill_at = -1, 0, None
        return exit_code_of(status)
