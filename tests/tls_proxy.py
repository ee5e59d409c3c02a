"""PostgreSQL behind TLS: a proxy that answers SSLRequest for a server that has no TLS itself."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from pathlib import Path

from tests.acceptance.proxy import Proxy

SSL_REQUEST = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big")


class TlsProxy(Proxy):
    """Listens on an address of this machine; without a certificate it says that it has no TLS."""

    def __init__(self, url: str, address: str = "127.0.0.1", certificate: Path | None = None) -> None:
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
        self.encrypted = 0
        super().__init__(url, address=address)

    def url_with(self, query: str) -> str:
        """The same database through the proxy, with parameters of the driver."""
        return f"{self.url}?{query}"

    def _serve(self, client: socket.socket) -> None:
        address = (self._parts.hostname or "127.0.0.1", self._parts.port or 5432)
        with contextlib.suppress(OSError), client, socket.create_connection(address) as server:
            first = client.recv(8)
            if first == SSL_REQUEST and self._context is not None:
                client.sendall(b"S")
                client, first = self._context.wrap_socket(client, server_side=True), b""
                self.encrypted += 1
            elif first == SSL_REQUEST:
                client.sendall(b"N")
                first = b""
            server.sendall(first)
            back = threading.Thread(target=_pass_on, args=(server, client), daemon=True)
            back.start()
            _pass_on(client, server)
            back.join()


def find_outer_address() -> str | None:
    """An address of this machine that is not a loopback one, or None; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return None
        address: str = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
