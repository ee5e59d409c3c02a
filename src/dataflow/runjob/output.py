"""A child's output: pumped from its pipes through the redactors to the terminal and the run's log.

Bytes throughout; nothing here decodes, or raises because disk or terminal are gone. Only a terminal that
several runs share waits for the end of a line.
`RunJob | less`, or Ctrl-S on a terminal, must not cost the lease: what cannot be written now is kept."""

from __future__ import annotations

import os
import select
import stat

from dataflow.private_files import open_with_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class Redactor(Protocol):
        """Removes secrets from a stream; may hold back bytes that could start one."""

        def feed(self, data: bytes) -> bytes:
            """Return what can be shown now."""

        def flush(self) -> bytes:
            """Return what was held back, at the end of the stream."""


LOG_LIMIT_BYTES = 256 * 1024 * 1024
TAIL_BYTES = 8192
LONGEST_LINE_BYTES = 65536
"""A longer line is written in parts, even to a terminal that several runs share."""

_READ_BYTES = 65536
# Of the first read in a turn, which often finds nothing: a large buffer would be paid for each time.
_FIRST_READ_BYTES = 4096
# Reads from one stream before the others get their turn.
_READS_PER_TURN = 4
# Reads of what a dead child left; a grandchild may keep writing forever.
_READS_AT_END = 16
_TERMINAL_WAIT_SECONDS = 0.05
_PIECE_BYTES = 65536
# What a pipe accepts without blocking once it reports room.
_SAFE_PIECE_BYTES = 4096
_REFUSAL_PAUSE_MILLISECONDS = 10


class RunLog:
    """The log of one run, `<log_dir>/<run_id>.log`, mode 0600, created at the first byte.

    After a write error nothing more is written, so that the log has no gaps; `error` says why.
    """

    __slots__ = ("_begun", "_fd", "_is_full", "_limit_bytes", "_size", "_tail", "error", "path")

    def __init__(self, log_dir: str, run_id: int, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
        self.path = os.path.join(log_dir, f"{run_id}.log")
        self.error: OSError | None = None
        self._limit_bytes = limit_bytes
        self._is_full = False
        self._begun = False
        self._fd = -1
        self._size = 0
        self._tail = b""

    def write(self, data: bytes) -> None:
        """Append to the log, up to its limit, and to the tail."""
        if not data:
            return
        self._tail = (self._tail + data[-TAIL_BYTES:])[-TAIL_BYTES:]
        if self._is_full or self.error is not None:
            return
        if self._size + len(data) > self._limit_bytes:
            self._is_full = True
            notice = b"\n[dataflow: the log ends here, at its limit of %d bytes]\n" % self._limit_bytes
            data = data[: self._limit_bytes - self._size] + notice
        self._size += len(data)
        self._append(data)

    def list_last_lines(self, count: int) -> list[bytes]:
        """Return the last lines that fit into the tail, even if the log could not be written."""
        lines = self._tail.split(b"\n")
        if not lines[-1]:
            lines.pop()
        return lines[-count:] if count else []

    def close(self) -> None:
        """Close the file, if it exists; a later write reopens it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _append(self, data: bytes) -> None:
        try:
            if self._fd < 0:
                # Run ids belong to a store: a log of this name that we did not create is another store's.
                how = os.O_APPEND if self._begun else os.O_APPEND | os.O_TRUNC
                self._fd = open_with_folder(self.path, os.O_WRONLY | os.O_CREAT | how)
                self._begun = True
            view = memoryview(data)
            while view:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            self.error = error


class Terminal:
    """Our standard output or error. A write error is kept in `error`, never raised, and stops output.

    RunJob's own messages go through here too while children run, to stay in order.
    """

    __slots__ = ("_fd", "_opened", "_out", "_pending", "_piece_bytes", "_poller", "error", "is_shared")

    def __init__(self, fd: int, is_shared: bool = False) -> None:
        self.error: OSError | None = None
        self.is_shared = is_shared  # by several runs, whose lines must not be mixed
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


class _Stream:
    """One of the two streams of a child."""

    __slots__ = ("line", "read_fd", "redactor", "terminal", "write_fd")

    def __init__(self, terminal: Terminal, redactor: Redactor | None) -> None:
        self.read_fd, self.write_fd = os.pipe()
        os.set_blocking(self.read_fd, False)
        self.terminal = terminal
        self.redactor = redactor
        self.line = b""  # the beginning of a line that a shared terminal has not got yet


class OutputPump:
    """Both streams of a child: `close_child_ends` after the spawn, `pump` on any event, then `drain`."""

    __slots__ = ("_log", "_open", "_streams")

    def __init__(
        self,
        log: RunLog,
        terminals: tuple[Terminal, Terminal],
        redactors: tuple[Redactor | None, Redactor | None] = (None, None),
    ) -> None:
        self._log = log
        self._streams = [_Stream(*pair) for pair in zip(terminals, redactors, strict=True)]
        self._open = {stream.read_fd: stream for stream in self._streams}

    @property
    def child_ends(self) -> tuple[int, int]:
        """The descriptors for the child's standard output and error."""
        return self._streams[0].write_fd, self._streams[1].write_fd

    def close_child_ends(self) -> None:
        """Close our copies of the child's ends, or end of file never comes. A second call does nothing."""
        for stream in self._streams:
            if stream.write_fd >= 0:
                os.close(stream.write_fd)
                stream.write_fd = -1

    def list_fds(self) -> list[int]:
        """Return the descriptors still to poll for input."""
        return list(self._open)

    def pump(self, fd: int) -> bool:
        """Move available output, up to a bound; False when the stream has ended and its descriptor is closed.

        While the terminal blocks, nothing is read: the child waits, as it would without us.
        """
        stream = self._open[fd]
        if not stream.terminal.flush(_TERMINAL_WAIT_SECONDS):
            return True
        return self._read(stream, _READS_PER_TURN)

    def drain(self) -> None:
        """Read what an ended child left in its pipes, without waiting for end of file, and close them.

        A grandchild may hold the pipes open; what it writes later is lost.
        """
        self.close_child_ends()
        for stream in list(self._open.values()):
            if self._read(stream, _READS_AT_END):
                self._end(stream)

    def _read(self, stream: _Stream, turns: int) -> bool:
        for turn in range(turns):
            try:
                data = os.read(stream.read_fd, _READ_BYTES if turn else _FIRST_READ_BYTES)
            except BlockingIOError:
                return True
            if not data:
                self._end(stream)
                return False
            self._show(stream, stream.redactor.feed(data) if stream.redactor else data)
        return True

    def _end(self, stream: _Stream) -> None:
        del self._open[stream.read_fd]
        os.close(stream.read_fd)
        if stream.redactor:
            self._show(stream, stream.redactor.flush())
        stream.terminal.write(stream.line)

    def _show(self, stream: _Stream, data: bytes) -> None:
        self._log.write(data)
        if stream.terminal.is_shared:
            end = data.rfind(b"\n") + 1
            lines, rest = data[:end], data[end:]
            data, stream.line = (stream.line + lines, rest) if end else (b"", stream.line + rest)
            if len(stream.line) > LONGEST_LINE_BYTES:
                data, stream.line = data + stream.line, b""
        stream.terminal.write(data)
