"""Retries for a database that becomes unreachable while a run writes to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from dataflow.errors import StagingLost, TargetError, TargetUnreachable

Result = TypeVar("Result")
Errors = tuple[type[TargetError], ...]
LOST: Errors = (TargetUnreachable, StagingLost)


class Patience:
    """The retries left to one run, or to one of its publishes."""

    def __init__(
        self, waits: Iterable[float] = (0,), tell: Callable[[str, float], None] = lambda trouble, left: None
    ) -> None:
        """`tell` is called each second with the reason for waiting and the seconds left; it may raise."""
        self._waits = list(waits)
        self._tell = tell
        self._waited = 0.0

    def repeat(self, work: Callable[[], Result], after: Errors = LOST) -> Result:
        """Do the work, and repeat it from the start after one of these errors."""
        while True:
            try:
                return work()
            except after as trouble:
                self._wait(trouble)

    def _wait(self, trouble: TargetError) -> None:
        """Wait for the next retry; raises the error when none is left."""
        if not self._waits:
            waited = f" Gave up after {self._waited:.0f} s." if self._waited else ""
            raise type(trouble)(f"{trouble}{waited}") from trouble
        seconds = self._waits.pop(0)
        self._waited += seconds
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._tell(str(trouble), left)
            time.sleep(min(left, 1.0))
