"""Finds and kills the processes of a run: by group, by session and by the token in their environment.

A process escapes only if it leaves the session *and* loses the token (an emptied or overwritten
environment, or another user's process that may not be read)."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection, Iterable

TOKEN_VARIABLE = "DATAFLOW_GUARD_TOKEN"
GUARD_NAMES = ("dataflow-guard", "dataflow-backup")
"""Names of a guard and its backup in ps; two names, so that killing one by name leaves the other."""

_TOKEN_ENTRY = b"\0" + TOKEN_VARIABLE.encode() + b"="
_RUN_ENTRY = b"\0DATAFLOW_RUN_ID="
# An exec shows an empty environment for an instant, so one empty scan is not enough.
_QUIET_LOOKS = 2
_PAUSE_SECONDS = 0.01
_READ_BYTES = 8192
_PR_SET_CHILD_SUBREAPER = 36
_M_TRIM_THRESHOLD = -1
_KEPT_BYTES = 16 << 20


def boottime() -> float:
    """Seconds since boot, counting suspended time: the clock of every deadline in this package."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def join_tokens(inherited: str, token: str) -> str:
    """The value of TOKEN_VARIABLE for a child, given our own: inside a RunJob a RunJob carries both."""
    return f"{inherited}:{token}" if inherited else token


def signal_group(group: int, number: int) -> bool:
    """Send a signal to a process group; False when it has no processes."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def list_live_processes(groups: Iterable[int], owns: Callable[[str], bool]) -> dict[int, int]:
    """Return every running process of these groups or sessions, or with an owned token, and its group or 0.

    Zombies count as gone: they cannot write data.
    """
    wanted = frozenset(groups)
    found: dict[int, int] = {}
    own_pid = os.getpid()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) != own_pid:
            group = _find_group(entry, wanted, owns)
            if group is not None:
                found[int(entry)] = group
    return found


def end_processes(groups: Iterable[int], owns: Callable[[str], bool], until: float) -> bool:
    """Kill what list_live_processes finds until nothing is left; False if something outlived `until`."""
    wanted = set(groups)
    looks = quiet_looks = 0
    while quiet_looks < _QUIET_LOOKS:
        for group in wanted:
            signal_group(group, signal.SIGKILL)
        live = list_live_processes(wanted, owns)
        for pid in live:
            _kill(pid, wanted, owns)
        if live and boottime() >= until:
            return False
        looks += 1
        quiet_looks = 0 if live else quiet_looks + 1
        if looks >= _QUIET_LOOKS:
            wanted.intersection_update(live.values())  # An empty group's number may be reused.
        if quiet_looks < _QUIET_LOOKS:
            time.sleep(_PAUSE_SECONDS)
    return True


def kill_escaped(token: str, group: int | None = None, limit_seconds: float = 5.0) -> bool:
    """Kill what is left of one run, including daemons; False if something outlived the limit.

    `group` may be given as long as its leader has not been reaped.
    """
    return end_processes([group] if group else [], lambda other: other == token, boottime() + limit_seconds)


def kill_orphans(name: str, limit_seconds: float = 5.0) -> bool:
    """Kill what is left of every run of a dead claimant, in case its guard was killed with it."""
    prefix = name + "-"
    return end_processes([], lambda token: token.startswith(prefix), boottime() + limit_seconds)


def kill_runs(runs: Iterable[tuple[int, str]], limit_seconds: float = 5.0) -> bool:
    """Kill what is left of runs of other claimants, in case their guards were stopped."""
    ends = [(name + "-", f"@{run_id}") for run_id, name in runs]

    def owns(token: str) -> bool:
        return any(token.startswith(first) and token.endswith(last) for first, last in ends)

    return end_processes([], owns, boottime() + limit_seconds)


def list_run_ids() -> set[int]:
    """Return the ids of runs that processes on this machine work for."""
    found: set[int] = set()
    for look in range(_QUIET_LOOKS):
        if look:
            time.sleep(_PAUSE_SECONDS)
        for entry in os.listdir("/proc"):
            try:
                run_id = _value_of(_read(f"/proc/{entry}/environ"), _RUN_ENTRY) if entry.isdigit() else ""
            except OSError:
                continue  # Gone meanwhile, or not ours to read.
            if run_id.isascii() and run_id.isdigit():
                found.add(int(run_id))
    return found


def adopt_orphans() -> None:
    """Become the parent of each descendant whose own parent ends, in any session (subreaper)."""
    _call_libc("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def keep_freed_memory() -> None:
    """Let this process keep the memory it frees, up to a bound, instead of asking for it again each time.

    SQLite allocates and frees 90 kB for some statements, such as those that take and end work.
    """
    try:
        _call_libc("mallopt", _M_TRIM_THRESHOLD, _KEPT_BYTES)
    except OSError:
        pass  # This C library has no such setting.


def has_orphans(known: Collection[int]) -> bool:
    """Return True if we have a living child that we did not start; reap those that are dead.

    Also True where the kernel does not report children.
    """
    while True:
        try:
            children = _read(f"/proc/self/task/{os.getpid()}/children").split()
        except OSError:
            return True
        orphans = [pid for pid in map(int, children) if pid not in known]
        if not all(list(map(_is_reaped, orphans))):
            return True
        if not orphans:
            return False
        # One that has just died has left its own children to us: look again.


def _call_libc(function: str, *arguments: int) -> None:
    """Call a function of the C library that os does not have; OSError if there is none of that name."""
    import _ctypes  # start-up: ctypes itself takes ten times as long

    address = _ctypes.dlsym(_ctypes.dlopen(None, os.RTLD_NOW), function)  # type: ignore[arg-type]
    _ctypes.call_function(address, arguments)


def _find_group(pid: str, groups: frozenset[int], owns: Callable[[str], bool]) -> int | None:
    try:
        # After the name in parentheses: state, parent, group, session, ..., and as 18th the threads.
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        if fields[0] in (b"Z", b"X") and int(fields[17]) <= 1:
            return None
        group, session = int(fields[2]), int(fields[3])
        if group in groups or session in groups:
            return group if group in groups else session
        return 0 if any(map(owns, _list_tokens(_read(f"/proc/{pid}/environ")))) else None
    except (OSError, IndexError):
        return None  # Gone meanwhile, or not ours to read.


def _list_tokens(environment: bytes) -> list[str]:
    """Return the tokens of a process, each also with the id of its run: `token@run`."""
    tokens, run_id = _value_of(environment, _TOKEN_ENTRY), _value_of(environment, _RUN_ENTRY)
    return [text for token in tokens.split(":") for text in (token, f"{token}@{run_id}")] if tokens else []


def _value_of(environment: bytes, entry: bytes) -> str:
    return (b"\0" + environment).partition(entry)[2].partition(b"\0")[0].decode("ascii", "replace")


def _kill(pid: int, groups: Iterable[int], owns: Callable[[str], bool]) -> None:
    """Kill one process, after checking through its pidfd that it is still ours.

    Guards of a RunJob inside this run are spared: with their RunJob dead they stop its children, then exit.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except OSError:
        return
    try:
        if _find_group(str(pid), frozenset(groups), owns) is None:
            return
        if _read(f"/proc/{pid}/comm").rstrip().decode("ascii", "replace") not in GUARD_NAMES:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    except OSError:
        pass  # It has ended.
    finally:
        os.close(pidfd)


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True


def _read(path: str) -> bytes:
    """Read a small file; `open` would take three more system calls."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, _READ_BYTES):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)
