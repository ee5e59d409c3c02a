"""A process that holds a lock and a guard and starts children, as RunJob does, but does nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dataflow.runjob

SOURCE = Path(dataflow.runjob.__file__).parents[2]

# What the body of every claimant may use.
PRELUDE = """
import json, os, select, signal, sys, time
import dataflow.runjob.guard as guard_module
from dataflow.runjob.guard import Guard
from dataflow.runjob.kill_command import KillCommand
from dataflow.runjob.lock import ClaimantLock
from dataflow.runjob.processes import TOKEN_VARIABLE, boottime, join_tokens, kill_escaped
from dataflow.runjob.spawn import spawn

directory, name = sys.argv[1:]
null = os.open(os.devnull, os.O_RDWR)
lock = ClaimantLock.take(directory, name)
guard = Guard.start(name, (lock.fileno(),))


def start(script, kill_in=60.0, grace=1.0, watch=True, kill_script=None):
    token = guard.new_token()
    tokens = join_tokens(os.environ.get(TOKEN_VARIABLE, ""), token)
    environment = {**os.environ, TOKEN_VARIABLE: tokens, "odd": "a\\n'\\"$x\\udcff"}
    if kill_script:
        guard.set_kill_command(token, KillCommand(["/bin/sh", "-c", kill_script], environment))
    pid = spawn(["/bin/sh", "-c", script], environment, null, null)
    if watch:
        guard.watch(token, pid, boottime() + kill_in, grace)
    return token, pid


def say(**facts):
    print(json.dumps({"guard": guard.pids[0], "backup": guard.pids[1], **facts}), flush=True)


def wait():
    return sys.stdin.readline()


"""


class Claimant:
    """Runs PRELUDE and a body; `facts` are what the body reported last."""

    def __init__(self, directory: Path, body: str, *, environment: dict[str, str] | None = None) -> None:
        self.directory = str(directory / "locks")
        self.name = secrets.token_hex(8)
        self.process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + body, self.directory, self.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": str(SOURCE)} | (environment or {}),
        )
        self.facts = self.hear()

    @property
    def pid(self) -> int:
        return self.process.pid

    def hear(self) -> dict[str, Any]:
        """Wait for the body's next report."""
        assert self.process.stdout
        facts: dict[str, Any] = json.loads(self.process.stdout.readline())
        return facts

    def go_on(self) -> None:
        """Let the body return from its wait()."""
        assert self.process.stdin
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)

    def wait_until_lock_is_free(self) -> None:
        """Return as soon as the kernel releases the lock."""
        fd = os.open(os.path.join(self.directory, f"{self.name}.lock"), os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_SH)
        os.close(fd)

    def end(self) -> int:
        """Close its input, wait for it, and return its exit code."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        code = self.process.wait(timeout=300)
        self.process.stdout.close()
        return code


def wait_until(condition: Callable[[], object], limit_seconds: float = 300.0) -> None:
    """Wait for something another process does; fail if it never does it."""
    until = time.monotonic() + limit_seconds
    while not condition():
        assert time.monotonic() < until, "It did not happen."
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    """Return True if the process exists and is not a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def is_stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


def read_pid(path: Path) -> int:
    """The pid a child writes into a file, once it has."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def grows(path: Path, seconds: float = 0.2) -> bool:
    """Whether the file still grows; its writers write every 10 ms."""
    size = path.stat().st_size
    time.sleep(seconds)
    return path.stat().st_size != size
