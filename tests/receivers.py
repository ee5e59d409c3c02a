"""Servers of this machine that notifications are sent to: a webhook and an SMTP server."""

from __future__ import annotations

import base64
import json
import socketserver
import ssl
import threading
from typing import Any, Self

from tests.pipelines.local_server import LocalServer, QuietHandler


class WebhookReceiver(LocalServer):
    """Records what is posted; `status` is its answer, `hold` keeps it waiting."""

    def __init__(self, status: int = 200, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(_WebhookHandler, tls)
        self.status = status
        self.location = ""
        self.posts: list[tuple[dict[str, str], bytes]] = []
        self.paths: list[str] = []
        self.let_go = threading.Event()
        self.let_go.set()
        self.drips = False

    @property
    def url(self) -> str:
        return f"{self.origin}/hook"

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(body) for _, body in self.posts]

    def __exit__(self, *exit: object) -> None:
        self.let_go.set()
        super().__exit__(*exit)


class _WebhookHandler(QuietHandler):
    def do_POST(self) -> None:
        receiver: WebhookReceiver = self.server.owner
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver.paths.append(self.path)
        receiver.posts.append(({name.lower(): value for name, value in self.headers.items()}, body))
        while receiver.drips and not receiver.let_go.wait(0.2):
            self.wfile.write(b"H")  # a byte now and then, and never an answer
            self.wfile.flush()
        receiver.let_go.wait(60)
        self.send_response(receiver.status)
        if receiver.location:
            self.send_header("Location", receiver.location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_POST


class SmtpReceiver:
    """Takes mail, with a login and STARTTLS if wanted."""

    def __init__(self, login: tuple[str, str] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.login = login
        self.tls = tls
        self.letters: list[str] = []
        self.was_encrypted: list[bool] = []
        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _SmtpHandler)
        self._server.daemon_threads = True
        self._server.owner = self  # type: ignore[attr-defined]
        self.port = self._server.server_address[1]

    def __enter__(self) -> Self:
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        ).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class _SmtpHandler(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        receiver: SmtpReceiver = self.server.owner  # type: ignore[attr-defined]
        encrypted, known = False, receiver.login is None
        self._say("220 ready")
        while line := self.rfile.readline().decode().strip():
            word = line.upper().split()[0]
            if word == "EHLO":
                offers = ["here"] + (["AUTH PLAIN"] if receiver.login else [])
                offers += ["STARTTLS"] if receiver.tls and not encrypted else []
                for offer in offers[:-1]:
                    self._say(f"250-{offer}")
                self._say(f"250 {offers[-1]}")
            elif word == "STARTTLS":
                assert receiver.tls is not None
                self._say("220 go on")
                try:
                    secure = receiver.tls.wrap_socket(self.request, server_side=True)
                except OSError:
                    return
                self.rfile, self.wfile = secure.makefile("rb"), secure.makefile("wb")
                encrypted = True
            elif word == "AUTH":
                given = base64.b64decode(line.split()[2]).decode().split("\0")
                known = receiver.login == (given[1], given[2])
                self._say("235 welcome" if known else f"535 {given[2]} is wrong")
            elif word == "DATA":
                self._say("354 go on")
                lines = []
                while (text := self.rfile.readline().decode()) != ".\r\n":
                    lines.append(text)
                receiver.letters.append("".join(lines))
                receiver.was_encrypted.append(encrypted)
                self._say("250 taken")
            elif word == "QUIT":
                self._say("221 bye")
                return
            else:
                self._say("250 fine" if known else "530 who are you")

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())
        self.wfile.flush()
