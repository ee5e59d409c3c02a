"""The kill command: stops work outside this process, such as a cluster-mode submit, before it is retried.

It runs after the run's processes are dead and before the work is given to another run."""

from __future__ import annotations

import os
import signal
import time

from dataflow.errors import BadInput, CannotExecute
from dataflow.runjob.processes import TOKEN_VARIABLE, boottime, signal_group
from dataflow.runjob.spawn import exit_code_of, spawn

LIMIT_SECONDS = 30.0

_PAUSE_SECONDS = 0.02


class KillCommand:
    """An argument list, its first item a path from find_command, and the environment of the run it ends.

    It may run more than once for the same run (by the guard and by RunJob), so it has to be repeatable.
    Its output is discarded: it may contain secrets, and nothing is left to redact it.
    """

    __slots__ = ("argv", "environment")

    def __init__(self, argv: list[str], environment: dict[str, str]) -> None:
        self.argv = argv
        self.environment = environment

    def to_json(self) -> str:
        """One line of ASCII; newlines and undecodable bytes survive it."""
        import json  # start-up: few jobs have such a command

        return json.dumps([self.argv, self.environment])

    @classmethod
    def from_json(cls, text: str) -> KillCommand:
        """Read what to_json wrote."""
        import json

        argv, environment = json.loads(text)
        return cls(argv, environment)

    def start(self) -> int:
        """Start it in a session of its own and return its pid, or 0 if it cannot be executed."""
        environment = dict(self.environment)
        environment.pop(TOKEN_VARIABLE, None)  # Or it would be killed with the run.
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            return spawn(self.argv, environment, null, null)
        except (CannotExecute, BadInput):
            return 0
        finally:
            os.close(null)

    def run(self, limit_seconds: float = LIMIT_SECONDS) -> int | None:
        """Run it and return its exit code; None if it cannot be executed or takes too long."""
        pid = self.start()
        until = boottime() + limit_seconds
        while pid:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                return exit_code_of(status)
            if boottime() >= until:
                end_kill_command(pid)
                return None
            time.sleep(_PAUSE_SECONDS)
        return None


def end_kill_command(pid: int) -> None:
    """Kill and reap a kill command that takes too long."""
    signal_group(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
