"""Waiting for a database that goes away while a run writes to it, as one waits for a source."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from dataflow.errors import StagingLost, TargetError, TargetUnreachable

Result = TypeVar("Result")


class Patience:
    """The tries that are left to one run, or to one publish of it."""

    def __init__(
        self, waits: Iterable[float] = (0,), tell: Callable[[str, float], None] = lambda trouble, left: None
    ) -> None:
        """`tell` is called each second with what is waited for and the seconds left; it may raise."""
        self._waits = list(waits)
        self._tell = tell
        self._waited = 0.0

    def repeat(self, work: Callable[[], Result]) -> Result:
        """Does the work, and does it again from its beginning when the target went away meanwhile."""
        while True:
            try:
                return work()
            except (TargetUnreachable, StagingLost) as trouble:
                self.wait(trouble)

    def wait(self, trouble: TargetError) -> None:
        """Returns when it is time for the next try; raises the trouble when there was enough of them."""
        if not self._waits:
            waited = f" It was waited for {self._waited:.0f} s." if self._waited else ""
            raise type(trouble)(f"{trouble}{waited}") from trouble
        seconds = self._waits.pop(0)
        self._waited += seconds
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            self._tell(str(trouble), left)
            time.sleep(min(left, 1.0))
