"""RunJob's own standard output and error, written so that a paused reader cannot stop the heartbeat.

`RunJob | less`, or Ctrl-S on a terminal, must not cost the lease: what cannot be written now is kept."""

from __future__ import annotations

import os
import select
import stat

_PIECE_BYTES = 65536
# What a pipe accepts without blocking once it reports room.
_SAFE_PIECE_BYTES = 4096
_REFUSAL_PAUSE_MILLISECONDS = 10


class Terminal:
    """One output stream. A write error is kept in `error`, never raised, and stops further output.

    RunJob's own messages go through here too while children run, to stay in order.
    """

    __slots__ = ("_fd", "_opened", "_out", "_pending", "_piece_bytes", "_poller", "error")

    def __init__(self, fd: int) -> None:
        self.error: OSError | None = None
        self._fd = fd
        self._out = fd
        self._opened = False
        self._piece_bytes = _PIECE_BYTES
        self._poller: select.poll | None = None
        self._pending = b""

    @property
    def pending_bytes(self) -> int:
        """Bytes the reader has not taken yet; RunJob claims nothing new while this is large."""
        return len(self._pending)

    def write(self, data: bytes) -> None:
        """Write what the reader accepts now and keep the rest."""
        if self.error is None:
            self._pending += data
            self.flush(0)

    def flush(self, wait_seconds: float | None) -> bool:
        """Write pending bytes, waiting this long for the reader (None: forever); True when none is left."""
        while self._pending:
            try:
                self._open()
                if not self._is_writable(wait_seconds):
                    return False
                self._pending = self._pending[os.write(self._out, self._pending[: self._piece_bytes]) :]
            except BlockingIOError:
                # A terminal can report room and then refuse; retrying at once would spin.
                if wait_seconds is not None:
                    return False
                select.poll().poll(_REFUSAL_PAUSE_MILLISECONDS)
            except OSError as error:
                self.error = error
                self._pending = b""
        return True

    def _is_writable(self, wait_seconds: float | None) -> bool:
        if self._poller is None:
            return True
        return bool(self._poller.poll(None if wait_seconds is None else wait_seconds * 1000))

    def _open(self) -> None:
        """Open a non-blocking descriptor for the same file.

        The descriptor itself must stay blocking: it is shared with the shell that started us.
        """
        if self._opened:
            return
        self._opened = True
        mode = os.fstat(self._fd).st_mode
        if stat.S_ISREG(mode):
            return
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        try:
            self._out = os.open(f"/proc/self/fd/{self._fd}", flags)
        except OSError:
            self._piece_bytes = _SAFE_PIECE_BYTES  # A socket, or another user's terminal.
        self._poller = select.poll()
        self._poller.register(self._out, select.POLLOUT)
