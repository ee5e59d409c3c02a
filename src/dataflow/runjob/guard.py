"""RunJob's side of the guard: starts it, sends it what to watch, notices its death, stops it.

The guard is a process forked before any thread and any database connection. It kills the children's
groups when their deadline passes or when RunJob has ended for any reason, and holds the claimant's
lock until they are dead. A second process, the backup, does the same if the guard does not: RunJob and the
guard may be killed or frozen together. What they do is in guard_process."""

from __future__ import annotations

import _thread
import os
import select
import signal
from collections.abc import Callable

from dataflow.runjob.guard_process import BLOCKED_SIGNALS, BackupGuard, GuardProcess, become_guard
from dataflow.runjob.kill_command import KillCommand

_BROKEN = select.POLLERR | select.POLLHUP | select.POLLNVAL
# A guard that leaves its pipe full for this long is stopped or stuck.
_PATIENCE_SECONDS = 5.0


class Guard:
    """The one guard of this process, and its backup.

    For each command, in this order: `new_token` (a forgotten one is never used again), perhaps
    `set_kill_command`, spawn it with the token in its environment, `watch`; `extend` after each renewal;
    when it has ended, wait for it with WNOWAIT, `forget` it, and only then reap it: a reaped pid may
    already belong to another process. Also forget what could not be spawned. Every sender returns False
    when the guard or its backup is gone; the deadline is then no longer safe and the caller must stop its
    children. Any thread may send, but none after `stop`.
    """

    __slots__ = ("_pids", "_pipes", "_sending", "_serial", "_stuck", "name", "pids")

    def __init__(self, name: str, pipes: dict[int, int]) -> None:
        """`pipes` are those that messages go through, by the pid of the guard and of its backup."""
        self.name = name  # the claimant's token, which every child's token begins with
        self.pids = tuple(pipes)  # They are children too: never reap them with waitpid(-1).
        self._pipes = pipes
        # The heartbeat sends too, and a message longer than PIPE_BUF could be interleaved. Not from
        # threading, which is slow to import.
        self._sending = _thread.allocate_lock()
        self._serial = 0
        self._stuck = False
        self._pids: dict[str, int] = {}

    @classmethod
    def start(cls, name: str, keep_fds: tuple[int, ...] = ()) -> Guard:
        """Fork both; `name` is the claimant's, `keep_fds` its lock. Call this before starting threads."""
        heard, told = os.pipe()  # tells the backup whether the guard lives, and that its work is done
        # Blocked before the fork, so that no signal can end the guard at any instant.
        mask = signal.pthread_sigmask(signal.SIG_BLOCK, BLOCKED_SIGNALS)
        guard = _fork(lambda pipe: GuardProcess(name, pipe, told), keep_fds)
        backup = _fork(lambda pipe: BackupGuard(name, pipe, heard), keep_fds)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        os.close(heard)
        os.close(told)
        return cls(name, dict((guard, backup)))

    def list_pids(self) -> set[int]:
        """Return the children we have started and not reaped: the guards and what they watch."""
        return {*self.pids, *self._pids.values()}

    def list_fds(self) -> list[int]:
        """Return descriptors that report POLLERR, which needs no event mask, when their guard is gone."""
        return list(self._pipes.values())

    def new_token(self) -> str:
        """Return a token for the next child, to join into its environment (processes.join_tokens)."""
        self._serial += 1
        token = f"{self.name}-{self._serial}"
        self._pids[token] = 0
        return token

    def set_kill_command(self, token: str, command: KillCommand) -> bool:
        """Run this command whenever the guard ends that child; set it before spawning."""
        return self._send(f"kill-command {token} {command.to_json()}")

    def watch(self, token: str, group: int, kill_at: float, grace_seconds: float) -> bool:
        """SIGTERM to the group at `kill_at` (boottime), SIGKILL after the grace; at once if RunJob dies."""
        self._pids[token] = group
        return self._send(f"watch {token} {group} {kill_at!r} {grace_seconds!r}")

    def expect(self, token: str, kill_at: float, grace_seconds: float) -> bool:
        """Announce a child before it is spawned: its deadline holds even if we are paused right after."""
        return self.watch(token, 0, kill_at, grace_seconds)

    def extend(self, kill_at: float, token: str | None = None) -> bool:
        """Move the deadline of one child, or of all; a child that got its SIGTERM is not spared."""
        return self._send(f"extend {kill_at!r} {token or ''}")

    def forget(self, token: str) -> bool:
        """Stop watching that child; call this before reaping it."""
        self._pids.pop(token, None)
        return self._send(f"forget {token}")

    def alive(self) -> bool:
        """Return True if the guard and its backup receive our messages."""
        return not self._stuck and not any(_poll(pipe, 0.0) & _BROKEN for pipe in self._pipes.values())

    def stop(self) -> None:
        """Stop both and reap them; children not forgotten are killed first. A second call does nothing."""
        pipes, self._pipes = self._pipes, {}
        for pid, pipe in pipes.items():
            # With nothing to watch, end it at once; else it has work to do, even if it was stopped.
            os.kill(pid, signal.SIGCONT if self._pids else signal.SIGKILL)
            os.close(pipe)
        for pid in pipes:
            os.waitpid(pid, 0)

    def _send(self, message: str) -> bool:
        data = message.encode("ascii") + b"\n"
        with self._sending:
            for pipe in self._pipes.values():
                self._write(pipe, data)
        return not self._stuck

    def _write(self, pipe: int, data: bytes) -> None:
        while data and not self._stuck:
            try:
                data = data[os.write(pipe, data) :]
            except BlockingIOError:
                self._stuck = not _poll(pipe, _PATIENCE_SECONDS)
            except BrokenPipeError:
                self._stuck = True


def _fork(make: Callable[[int], GuardProcess], keep_fds: tuple[int, ...]) -> tuple[int, int]:
    """Fork one of the guards; return its pid, and the pipe for its messages."""
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        exit_code = 70
        try:
            become_guard(make(read_end), keep_fds)
            exit_code = 0
        finally:
            os._exit(exit_code)
    os.close(read_end)
    os.set_blocking(write_end, False)
    return pid, write_end


def _poll(pipe: int, wait_seconds: float) -> int:
    poller = select.poll()  # A new one each time: two threads may not share one.
    poller.register(pipe, select.POLLOUT)
    return sum(events for _, events in poller.poll(wait_seconds * 1000))
