"""Runs a command to its end and tells what it used."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from time import perf_counter
from typing import IO

from dataflow.errors import DataFlowError

# What the installed commands do; `-m` would add the cost of Python's own search for the module.
RUNJOB = [sys.executable, "-c", "import sys; from dataflow.cli.runjob import command; sys.exit(command())"]
DATAFLOW = [sys.executable, "-c", "import sys; from dataflow.cli.main import main; sys.exit(main())"]


@dataclass(frozen=True, slots=True)
class Usage:
    """What a command and its children used; the peak is known only if it was looked at meanwhile."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


class Command:
    """A started command, its output thrown away and its errors kept."""

    def __init__(
        self, argv: list[str], env: dict[str, str], cwd: str, stdin: IO[bytes] | None = None
    ) -> None:
        self._argv = argv
        self._peak_mb = 0.0
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
        if not block:
            self._peak_mb = max(self._peak_mb, peak_mb(self._process.pid))
        # wait4, because Python itself offers only the usage of all children together.
        pid, status, usage = os.wait4(self._process.pid, 0 if block else os.WNOHANG)
        if not pid:
            return None
        self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode:
            with open(self._errors, encoding="utf-8", errors="replace") as errors:
                raise DataFlowError(f"bench: {' '.join(self._argv)} failed: {errors.read()[-1000:]}")
        seconds = perf_counter() - self._started
        return Usage(seconds, usage.ru_utime + usage.ru_stime, self._peak_mb)


def peak_mb(pid: int) -> float:
    """The most memory a running process has had so far; 0 when it is gone."""
    # Not ru_maxrss: it counts what the parent had when it started the process.
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read())
    except OSError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def run(argv: list[str], env: dict[str, str], cwd: str, stdin: IO[bytes] | None = None) -> Usage:
    """Runs a command to its end; DataFlowError with what it said if it fails."""
    used = Command(argv, env, cwd, stdin).wait()
    assert used is not None
    return used
