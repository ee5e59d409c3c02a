"""Messages between a worker and the process of its pipelines: one JSON object per line, on a socket."""

from __future__ import annotations

import json
import socket
import threading
from typing import Any


class Wire:
    """One end of the socket; any thread may send."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._sending = threading.Lock()
        self._rest = b""

    def fileno(self) -> int:
        """Becomes readable when a message arrives or the other end is gone."""
        return self._end.fileno()

    def send(self, message: dict[str, Any]) -> bool:
        """Send a message; False when the other end is gone."""
        try:
            with self._sending:
                self._end.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            return False
        return True

    def receive(self) -> list[dict[str, Any]] | None:
        """Wait for messages and return all that are complete; None at the end."""
        try:
            data = self._end.recv(1 << 16)
        except OSError:
            data = b""
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def close(self) -> None:
        """Close this end."""
        self._end.close()
