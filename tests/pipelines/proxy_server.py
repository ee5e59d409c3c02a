"""A real HTTP proxy: forwards requests, tunnels with CONNECT, asks for a password if wanted."""

from __future__ import annotations

import base64
import select
import socket
import ssl
from http.client import HTTPConnection
from urllib.parse import urlsplit

from tests.pipelines.local_server import LocalServer, QuietHandler


class ProxyServer(LocalServer):
    """Leads every request for a host to the port in `hosts`; `seen` has a line for each, as it came."""

    def __init__(
        self, hosts: dict[str, int], credentials: str = "", tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(_Handler, tls)
        self.hosts = hosts
        self.expected = f"Basic {base64.b64encode(credentials.encode()).decode()}" if credentials else ""
        self.refusal = 0
        self.seen: list[str] = []
        self.headers: list[dict[str, str]] = []


class _Handler(QuietHandler):
    def do_CONNECT(self) -> None:
        if not self._is_welcome():
            return
        port = self.server.owner.hosts[self.path.partition(":")[0]]
        with socket.create_connection(("127.0.0.1", port)) as upstream:
            self.send_response(200, "Connection established")
            self.end_headers()
            self.wfile.flush()
            self._pump(upstream)
        self.close_connection = True

    def do_GET(self) -> None:
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self._is_welcome():
            return
        split = urlsplit(self.path)
        upstream = HTTPConnection("127.0.0.1", self.server.owner.hosts[split.hostname or ""])
        kept = {name: value for name, value in self.headers.items() if not name.lower().startswith("proxy-")}
        upstream.request(self.command, f"{split.path}?{split.query}".rstrip("?"), sent, kept)
        answer = upstream.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("date", "server", "connection"):
                self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        upstream.close()

    do_POST = do_GET

    def _is_welcome(self) -> bool:
        owner = self.server.owner
        owner.seen.append(f"{self.command} {self.path}")
        owner.headers.append(dict(self.headers.items()))
        status = owner.refusal
        if owner.expected and self.headers.get("Proxy-Authorization") != owner.expected:
            status = 407
        if status:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()
        return not status

    def _pump(self, upstream: socket.socket) -> None:
        """Bytes in both directions, until one side has had enough."""
        others = {self.connection: upstream, upstream: self.connection}
        while True:
            for ready in select.select(list(others), [], [])[0]:
                data = ready.recv(65536)
                if not data:
                    return
                others[ready].sendall(data)
