"""What the HTTP servers of these tests share: a port of this machine, TLS if wanted, threads that end."""

from __future__ import annotations

import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class LocalServer:
    """Serves while it is used as a context manager; handlers find it as `self.server.owner`."""

    def __init__(
        self, handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None, port: int = 0
    ) -> None:
        self._server = OwnedServer(("127.0.0.1", port), handler)
        self._server.owner = self
        self.port = self._server.server_address[1]
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        if tls:
            # Each connection shakes hands in its own thread, so that one cannot hold up the others.
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class OwnedServer(ThreadingHTTPServer):
    """The server that the standard library provides, quiet about clients that hang up."""

    daemon_threads = True
    owner: Any

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what many tests are about."""


class QuietHandler(BaseHTTPRequestHandler):
    """Handles requests without a word about them."""

    protocol_version = "HTTP/1.1"
    # Nagle's algorithm would hold back the last bytes of each answer until the client sends something.
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024
    server: OwnedServer

    def log_message(self, format: str, *args: Any) -> None:
        pass
