"""The guard process and its backup: read messages, enforce deadlines, kill. Runs only after the fork.

Nothing in here may use the store, print, or need more than the pipe, the lock and /proc."""

from __future__ import annotations

import gc
import os
import select
import signal

from dataflow.runjob.kill_command import LIMIT_SECONDS, KillCommand, end_kill_command
from dataflow.runjob.processes import (
    GUARD_NAMES,
    boottime,
    end_processes,
    list_live_processes,
    signal_group,
)

BLOCKED_SIGNALS = (
    signal.SIGTERM,
    signal.SIGINT,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGALRM,
)

# Messages wait at most this long; poll() does not count suspended time, and boottime does.
_LONGEST_NAP_SECONDS = 0.1
_ENDING_NAP_SECONDS = 0.1
# How long killed processes may stay around (in uninterruptible I/O), if the lease does not give more.
_LEAST_WAIT_SECONDS = 5.0

# The guard has killed by then, one second before the lease lapses (child.MARGIN_SECONDS).
_BACKUP_DELAY_SECONDS = 1.0
# How long the guard may take to end what a dead RunJob left, if no deadline comes first.
_BACKUP_PATIENCE_SECONDS = 2.0

_DONE = b"."

_WATCHING, _TERMINATED, _KILLED, _ENDED = range(4)


class Watch:
    """One run's process group and when it must end: at its deadline, or `delay_seconds` later."""

    __slots__ = ("delay_seconds", "grace_seconds", "group", "kill_at", "stage")

    def __init__(self, group: int, kill_at: float, grace_seconds: float, delay_seconds: float = 0.0) -> None:
        self.group = group
        self.kill_at = kill_at + delay_seconds
        self.grace_seconds = grace_seconds
        self.delay_seconds = delay_seconds
        self.stage = _WATCHING

    def extend(self, kill_at: float) -> None:
        """Move the deadline; one that got its SIGTERM is not spared, as its grace is running out."""
        if self.stage == _WATCHING:
            self.kill_at = kill_at + self.delay_seconds

    @property
    def groups(self) -> list[int]:
        """Its process group; none while it is only announced and known by its token."""
        return [self.group] if self.group else []


class GuardProcess:
    """The guard's state: what it watches, and what it has started."""

    title = GUARD_NAMES[0]

    def __init__(self, name: str, pipe: int, partner: int) -> None:
        """`partner` is the guard's end of the pipe between the two guards."""
        self.descriptors = {pipe, partner}
        self._name = name
        self._pipe = pipe
        self._partner = partner
        self._watches: dict[str, Watch] = {}
        self._commands: dict[str, KillCommand] = {}
        self._running: dict[int, float] = {}
        self._last_serial = 0
        self._rest = b""

    def run(self) -> None:
        """Keep the deadlines until RunJob is gone, then end what it left behind.

        Only the end of the pipe wakes it at once. Messages are read in batches a few times a second, so that
        a drain of short children does not pay for a wake-up each.
        """
        poller = select.poll()
        poller.register(self._pipe, 0)
        os.set_blocking(self._pipe, False)
        while self._read_messages():
            self._keep_deadlines()
            poller.poll(self._get_nap_milliseconds())
        self._finish()

    def _read_messages(self) -> bool:
        """Read all pending messages; False when RunJob is gone."""
        while True:
            try:
                data = os.read(self._pipe, 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            *lines, self._rest = (self._rest + data).split(b"\n")
            for line in lines:
                self._take(line.decode("ascii"))

    def _take(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        if verb == "watch":
            token, group, kill_at, grace_seconds = rest.split()
            self._watches[token] = self._new_watch(int(group), float(kill_at), float(grace_seconds))
            self._last_serial = max(self._last_serial, _serial_of(token))
        elif verb == "extend":
            kill_at, *tokens = rest.split()
            for token, watch in self._watches.items():
                if token in (tokens or (token,)):
                    watch.extend(float(kill_at))
        elif verb == "forget":
            self._watches.pop(rest, None)
            self._commands.pop(rest, None)
            self._last_serial = max(self._last_serial, _serial_of(rest))
        elif verb == "kill-command":
            token, _, text = rest.partition(" ")
            self._commands[token] = KillCommand.from_json(text)

    def _new_watch(self, group: int, kill_at: float, grace_seconds: float) -> Watch:
        return Watch(group, kill_at, grace_seconds)

    def _finish(self) -> None:
        """RunJob is gone: end what it left, and tell the backup that nothing is left to do."""
        self._end_everything()
        try:
            os.write(self._partner, _DONE)
        except BrokenPipeError:
            pass  # The backup is gone.

    def _get_nap_milliseconds(self) -> float:
        if self._running or any(watch.stage in (_TERMINATED, _KILLED) for watch in self._watches.values()):
            return _ENDING_NAP_SECONDS * 1000
        waiting = [watch.kill_at - boottime() for watch in self._watches.values() if watch.stage == _WATCHING]
        return max(0.0, min([_LONGEST_NAP_SECONDS, *waiting])) * 1000 + 1

    def _keep_deadlines(self) -> None:
        now = boottime()
        for token, watch in self._watches.items():
            if watch.stage == _WATCHING and now >= watch.kill_at:
                if watch.group:
                    signal_group(watch.group, signal.SIGTERM)
                    signal_group(watch.group, signal.SIGCONT)  # A stopped group takes the SIGTERM only now.
                watch.stage = _TERMINATED
            elif watch.stage in (_TERMINATED, _KILLED):
                self._press(token, watch, now)
        self._reap_kill_commands()

    def _press(self, token: str, watch: Watch, now: float) -> None:
        """Take a run that got its SIGTERM one step closer to its end."""
        if watch.stage == _TERMINATED and now >= watch.kill_at + watch.grace_seconds:
            watch.stage = _KILLED
        if watch.stage == _KILLED:
            # Short, because other runs have deadlines too; what remains is killed again.
            gone = end_processes(watch.groups, lambda other: other == token, now)
        else:
            gone = not list_live_processes(watch.groups, lambda other: other == token)
        if gone:
            watch.stage = _ENDED
            self._start_kill_command(token)

    def _start_kill_command(self, token: str) -> None:
        command = self._commands.pop(token, None)
        pid = command.start() if command else 0
        if pid:
            self._running[pid] = boottime() + LIMIT_SECONDS

    def _reap_kill_commands(self) -> None:
        for pid, until in list(self._running.items()):
            if os.waitpid(pid, os.WNOHANG)[0]:
                del self._running[pid]
            elif boottime() >= until:
                end_kill_command(pid)
                del self._running[pid]

    def _end_everything(self) -> None:
        """Kill what a dead RunJob left, and return only when it is gone: then the lock becomes free."""
        watches = self._watches.values()
        until = max([boottime() + _LEAST_WAIT_SECONDS, *(w.kill_at + w.grace_seconds for w in watches)])
        end_processes([group for watch in watches for group in watch.groups], self._owns, until)
        for token in list(self._commands):
            self._start_kill_command(token)
        while self._running:
            select.poll().poll(_ENDING_NAP_SECONDS * 1000)
            self._reap_kill_commands()

    def _owns(self, token: str) -> bool:
        """True if watched, or spawned right before RunJob died and so never announced; but not forgotten."""
        if token in self._watches:
            return True
        name, _, serial = token.rpartition("-")
        return name == self._name and serial.isdigit() and int(serial) > self._last_serial


class BackupGuard(GuardProcess):
    """The guard's backup: ends a run's processes when RunJob and the guard are killed or frozen together.

    It gets the guard's messages, and acts only where the guard should have acted already.
    """

    title = GUARD_NAMES[1]

    def _new_watch(self, group: int, kill_at: float, grace_seconds: float) -> Watch:
        """Allow no further grace: the guard should have given it already."""
        return Watch(group, kill_at, 0.0, grace_seconds + _BACKUP_DELAY_SECONDS)

    def _finish(self) -> None:
        """RunJob is gone: end what it left, unless the guard reports that it has."""
        deadlines = [watch.kill_at - boottime() for watch in self._watches.values()]
        patience = max(0.0, min([_BACKUP_PATIENCE_SECONDS, *deadlines]))
        poller = select.poll()
        poller.register(self._partner, select.POLLIN)
        if not poller.poll(patience * 1000) or os.read(self._partner, 1) != _DONE:
            self._end_everything()


def become_guard(process: GuardProcess, keep_fds: tuple[int, ...]) -> None:
    """Turn a process forked with BLOCKED_SIGNALS blocked into a guard; return when its work is done.

    They stay blocked: only the end of RunJob, or a SIGKILL, ends a guard.
    """
    gc.disable()  # It creates no cycles, and a collection would copy the pages shared with RunJob.
    os.setsid()
    _let_go_of_descriptors({*process.descriptors, *keep_fds})
    _rename(process.title)
    process.run()


def _let_go_of_descriptors(kept: set[int]) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        if fd not in kept and fd != null:
            os.dup2(null, fd)
    for entry in os.listdir("/proc/self/fd"):
        if int(entry) > 2 and int(entry) not in kept:
            try:
                os.close(int(entry))
            except OSError:
                pass  # The descriptor of the listing itself.


def _rename(title: str) -> None:
    """Take another name in ps, so that `pkill -9 -f RunJob` does not end the guard with its RunJob."""
    try:
        with open("/proc/self/comm", "wb", buffering=0) as file:
            file.write(title.encode())
        with open("/proc/self/stat", "rb", buffering=0) as file:
            fields = file.read().rpartition(b")")[2].split()
        start, end = int(fields[45]), int(fields[46])  # Where the kernel reads the command line from.
        with open("/proc/self/mem", "r+b", buffering=0) as file:
            file.seek(start)
            file.write(title.encode()[: end - start - 1].ljust(end - start, b"\0"))
    except (OSError, IndexError):
        pass  # Only a name.


def _serial_of(token: str) -> int:
    return int(token.rpartition("-")[2])
