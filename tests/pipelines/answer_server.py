"""A real HTTP server whose answers a test writes itself, request by request."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from tests.pipelines.local_server import LocalServer, QuietHandler


class Asked(NamedTuple):
    """A request: `query` has the parameters of its URL, `form` those of its body."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    form: dict[str, str]


class Reply(NamedTuple):
    """An answer; `body` is sent as it is if it is bytes, else as JSON."""

    body: Any = b""
    status: int = 200
    headers: Sequence[tuple[str, str]] = ()


Answer = Callable[[Asked], Reply]


class AnswerServer(LocalServer):
    """Answers every request as `answer` says, and keeps what was asked; use as a context manager."""

    def __init__(self, answer: Answer, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(_Handler, tls)
        self.answer = answer
        self.asked: list[Asked] = []

    def list_pages(self) -> list[str]:
        """The values of `page` that were asked for, in order of asking."""
        return [asked.query.get("page", "") for asked in self.asked]


class _Handler(QuietHandler):
    def do_GET(self) -> None:
        split = urlsplit(self.path)
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        query, form = (dict(parse_qsl(text, keep_blank_values=True)) for text in (split.query, sent))
        asked = Asked(self.command, split.path, query, dict(self.headers.items()), form)
        self.server.owner.asked.append(asked)
        reply = self.server.owner.answer(asked)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    do_POST = do_GET
