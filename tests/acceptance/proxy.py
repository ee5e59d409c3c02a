"""A TCP proxy in front of PostgreSQL that loses answers, or passes nothing on, when a test says so."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit, urlunsplit

COMMIT = b"COMMIT\0"


class Proxy:
    """Listens on its own port and forwards bytes to the server of a URL.

    `cut` is asked at each COMMIT, with its number: after a yes the server commits, and then the connection
    breaks before the client gets the answer.
    """

    def __init__(
        self, url: str, cut: Callable[[int], bool] = lambda number: False, address: str = "127.0.0.1"
    ) -> None:
        self._parts = urlsplit(url)
        self._cut = cut
        self._listener = socket.create_server((address, 0))
        self._open = threading.Event()
        self._open.set()
        self._counting = threading.Lock()
        self._commits = 0
        self.cuts = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """The same database through the proxy."""
        user = self._parts.netloc.rpartition("@")[0]
        host, port = self._listener.getsockname()[:2]
        return urlunsplit(self._parts._replace(netloc=f"{user}@{host}:{port}"))

    def stall(self) -> None:
        """Pass nothing on from now, in either direction; connections stay open, as when a cable is pulled."""
        self._open.clear()

    def go_on(self) -> None:
        """Pass on what has waited, and everything after it."""
        self._open.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.set()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        address = (self._parts.hostname or "127.0.0.1", self._parts.port or 5432)
        with contextlib.suppress(OSError), client, socket.create_connection(address) as server:
            while True:
                readable = select.select([client, server], [], [])[0]
                self._open.wait()
                if client in readable:
                    data = client.recv(65536)
                    server.sendall(data)
                    if COMMIT in data and self._is_cut():
                        # The answer means that it is committed; the client never gets to see it.
                        server.recv(65536)
                        return
                else:
                    data = server.recv(65536)
                    client.sendall(data)
                if not data:
                    return

    def _is_cut(self) -> bool:
        with self._counting:
            self._commits += 1
            cut = self._cut(self._commits)
            self.cuts += cut
        return cut
