"""Checks of a run held by a Python program: one command at a time, without event loop or guard."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable

from dataflow.runjob.output import OutputPump, RunLog, Terminal
from dataflow.runjob.processes import signal_group
from dataflow.runjob.spawn import exit_code_of, find_command, spawn
from dataflow.secrets.redaction import Redactor

_LOOK_MILLISECONDS = 500


def run_check(
    argv: tuple[str, ...],
    environment: dict[str, str],
    log: RunLog,
    redactor: Redactor,
    is_lost: Callable[[], bool],
) -> int:
    """Run a command and return its exit code; its redacted output goes to the run's log and to our own.

    Its process group is killed when the run is lost, and when an exception is raised meanwhile.
    """
    path = find_command(argv[0], environment.get("PATH", os.defpath), os.getcwd())
    terminals = (Terminal(1), Terminal(2))
    pump = OutputPump(log, terminals, (redactor.new_stream(), redactor.new_stream()))
    try:
        pid = spawn([path, *argv[1:]], environment, *pump.child_ends)
    except BaseException:
        pump.drain()
        raise
    pump.close_child_ends()
    pidfd = os.pidfd_open(pid)
    try:
        while pidfd not in _pump_once(pump, pidfd):
            if is_lost():
                signal_group(pid, signal.SIGKILL)
    finally:
        signal_group(pid, signal.SIGKILL)
        pump.drain()
        log.close()
        _, status = os.waitpid(pid, 0)
        os.close(pidfd)
        for terminal in terminals:
            terminal.flush(None)
    return exit_code_of(status)


def _pump_once(pump: OutputPump, pidfd: int) -> set[int]:
    """Wait, move the output that has arrived, and return the descriptors with events."""
    poller = select.poll()
    for fd in [*pump.list_fds(), pidfd]:
        poller.register(fd, select.POLLIN)
    events = {fd for fd, _ in poller.poll(_LOOK_MILLISECONDS)}
    for fd in events - {pidfd}:
        pump.pump(fd)
    return events
