"""What a worker says on standard error: what RunJob says, and each lasting problem once."""

from __future__ import annotations

from dataflow.runjob.output import Terminal
from dataflow.runjob.report import Report

MOST_REMEMBERED = 1000


class WorkerReport(Report):
    """Lines on standard error."""

    def __init__(self, terminal: Terminal, quiet: bool) -> None:
        super().__init__(terminal, quiet, "dataflow")
        self._said: dict[str, None] = {}

    def once(self, text: str, more: str = "") -> None:
        """Warn, with more on a line of its own, unless the same was said before."""
        if text in self._said:
            return
        self._said[text] = None
        if len(self._said) > MOST_REMEMBERED:
            del self._said[next(iter(self._said))]
        self.warn(text)
        if more:
            self.warn(more)


class Silent(Terminal):
    """Where the output of scripts goes on the terminal of a worker: nowhere. Each run has its log."""

    def __init__(self) -> None:
        super().__init__(-1)

    def write(self, data: bytes) -> None:
        pass

    def flush(self, wait_seconds: float | None) -> bool:
        return True
