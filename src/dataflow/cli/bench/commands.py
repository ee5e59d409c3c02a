"""Runs a command to its end and tells what it used."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from time import perf_counter
from typing import IO

from dataflow.errors import DataFlowError

# What the installed commands do; `-m` would add the cost of Python's own search for the module.
RUNJOB = [sys.executable, "-c", "import sys; from dataflow.cli.runjob import main; sys.exit(main())"]
DATAFLOW = [sys.executable, "-c", "import sys; from dataflow.cli.main import main; sys.exit(main())"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command and the processes it waited for used."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


class Command:
    """A started command, its output thrown away and its errors kept."""

    def __init__(
        self, argv: list[str], env: dict[str, str], cwd: str, stdin: IO[bytes] | None = None
    ) -> None:
        self._argv = argv
        self._errors = os.path.join(cwd, "errors")
        self._started = perf_counter()
        with open(self._errors, "wb") as stderr:
            self._process = subprocess.Popen(
                argv,
                env=env,
                cwd=cwd,
                stdin=stdin or subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )

    def wait(self, block: bool = True) -> Usage | None:
        """What it used, once it has ended; None while it runs, if not to `block`."""
        # wait4, because the usage of all children together, which Python offers, cannot tell peaks apart.
        pid, status, usage = os.wait4(self._process.pid, 0 if block else os.WNOHANG)
        if not pid:
            return None
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode:
            with open(self._errors, encoding="utf-8", errors="replace") as errors:
                raise DataFlowError(f"bench: {' '.join(self._argv)} failed: {errors.read()[-1000:]}")
        seconds = perf_counter() - self._started
        return Usage(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def run(argv: list[str], env: dict[str, str], cwd: str, stdin: IO[bytes] | None = None) -> Usage:
    """Runs a command to its end; DataFlowError with what it said if it fails."""
    used = Command(argv, env, cwd, stdin).wait()
    assert used is not None
    return used
