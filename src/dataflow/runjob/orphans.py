"""What a script leaves behind when it ends: noticed by the kernel's help, without a look at every process.

As the subreaper of all that it starts RunJob becomes the parent of each process whose own parent has gone, in
whatever session it is. Only when there is such a child is it worth while to search /proc."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """From now on the orphans among our descendants become our children; without it nothing is noticed."""
    import _ctypes  # start-up: ctypes itself takes ten times as long, and os has no prctl

    prctl = _ctypes.dlsym(_ctypes.dlopen(None, os.RTLD_NOW), "prctl")  # type: ignore[arg-type]
    _ctypes.call_function(prctl, (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def has_orphans(known: Collection[int]) -> bool:
    """Whether we have a living child that we did not start ourselves; reaps those that are dead.

    True as well where the kernel does not tell.
    """
    while True:
        try:
            with open(f"/proc/self/task/{os.getpid()}/children", "rb", buffering=0) as file:
                children = file.read().split()
        except OSError:
            return True
        orphans = [pid for pid in map(int, children) if pid not in known]
        if not all(list(map(_is_reaped, orphans))):
            return True
        if not orphans:
            return False
        # One that lived while they were listed has left its own children to us by dying: once more.


def _is_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
