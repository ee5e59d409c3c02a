"""SIGTERM, SIGINT and SIGHUP, handled by the main loop instead of interrupting it."""

from __future__ import annotations

import os
import signal

CAUGHT = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Signals:
    """The first signal received and how many there were; a second one means hurry."""

    def __init__(self) -> None:
        self.first = 0
        self.count = 0
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)
        os.set_blocking(self._write, False)

    def catch(self) -> None:
        """Let these signals only wake the main loop; an ignored one stays ignored, as nohup requires."""
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for number in CAUGHT:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._heard)

    def fileno(self) -> int:
        """Becomes readable when a signal arrives."""
        return self._read

    def take(self) -> bool:
        """Empty the pipe; return True when the work must stop."""
        try:
            os.read(self._read, 4096)
        except BlockingIOError:
            pass
        return bool(self.first)

    def _heard(self, number: int, _frame: object) -> None:
        self.first = self.first or number
        self.count += 1
