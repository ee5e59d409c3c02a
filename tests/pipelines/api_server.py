"""A real HTTP server with a paginated API: signed with Hawk if wanted, and as broken as a test asks for.

Its half of Hawk is written out here, apart from the client's: two copies of one mistake would agree.
"""

from __future__ import annotations

import base64
import functools
import gzip
import hashlib
import hmac
import json
import re
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from email.utils import formatdate
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.pipelines.local_server import LocalServer, QuietHandler

Row = dict[str, Any]


class Seen(NamedTuple):
    """A request that came: path and query as sent, its headers, and the index of the page it asked for."""

    target: str
    headers: dict[str, str]
    page: int


class Hawk(NamedTuple):
    """The one caller who is let in."""

    id: str
    key: str
    algorithm: str = "sha256"


class ApiServer(LocalServer):
    """Serves `rows` in pages at /next, /pages, /offset and /cursor; use as a context manager.

    `fail(page, fault, times)` breaks the answers to the next requests for a page (indexes count from 0).
    """

    def __init__(
        self,
        rows: Sequence[Row],
        page_size: int = 10,
        hawk: Hawk | None = None,
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__(_Handler, tls, port)
        self.rows = rows
        self.page_size = page_size
        self.hawk = hawk
        self.clock_offset_seconds = 0  # how far this server's clock is ahead of ours
        self.elsewhere = ""  # the origin that the fault `elsewhere` leads to
        self.packed = False
        self.seen: list[Seen] = []
        self.connections = 0
        self.released = threading.Event()  # lets go what hangs
        self._faults: dict[int, list[str]] = {}
        self._nonces: set[tuple[str, str]] = set()
        self._bodies: dict[tuple[str, int, int], bytes] = {}
        self._lock = threading.Lock()

    def __exit__(self, *_: object) -> None:
        self.released.set()
        super().__exit__()

    def fail(self, page: int, fault: str, times: int = 1) -> None:
        """The next `times` requests for this page meet this fault; see `FAULTS`."""
        assert fault in FAULTS, fault
        with self._lock:
            self._faults.setdefault(page, []).extend([fault] * times)

    def list_asked_pages(self) -> list[int]:
        """The indexes of the pages asked for, in order of asking."""
        return [seen.page for seen in self.seen]

    def take_fault(self, page: int) -> str:
        with self._lock:
            waiting = self._faults.get(page)
            return waiting.pop(0) if waiting else ""

    def body(self, style: str, start: int, size: int) -> bytes:
        """The page that begins with row `start`, as JSON; made once, so that a fetch is not held up by it."""
        key = (style, start, size)
        if key not in self._bodies:
            self._bodies[key] = json.dumps(self.document(style, start, size), separators=(",", ":")).encode()
        return self._bodies[key]

    def document(self, style: str, start: int, size: int) -> dict[str, Any]:
        page = start // size
        rows = list(self.rows[start : start + size])
        more = start + size < len(self.rows)
        if style == "next":
            following = f"{self.origin}/next?page={page + 1}" if more else None
            return {"count": len(self.rows), "next": following, "previous": None, "results": rows}
        if style == "cursor":
            return {"next_cursor": f"c/{page + 1}=" if more else None, "results": rows}
        return {"meta": {"count": len(self.rows)}, "results": rows}

    def is_fresh(self, nonce: str, timestamp: str) -> bool:
        with self._lock:
            fresh = (nonce, timestamp) not in self._nonces
            self._nonces.add((nonce, timestamp))
            return fresh


class _Handler(QuietHandler):
    def setup(self) -> None:
        super().setup()
        self.server.owner.connections += 1

    def do_GET(self) -> None:
        api = self.server.owner
        style, start, size = self._find_page()
        page = start // size
        api.seen.append(Seen(self.path, dict(self.headers.items()), page))
        if api.hawk and not self._is_authentic(api.hawk):
            return
        fault = api.take_fault(page)
        body = api.body(style, start, size)
        if fault:
            FAULTS[fault](self, style, page, body)
        else:
            self.answer(body)

    def answer(self, body: bytes, status: int = 200, **headers: str) -> None:
        """Sends a whole answer, signed where the server does so."""
        packed = gzip.compress(body, 1) if self.server.owner.packed else body
        self.send_response(status)
        kind = headers.setdefault("Content_Type", "application/json; charset=utf-8")
        if self.server.owner.packed:
            headers["Content_Encoding"] = "gzip"
        headers.setdefault("Server_Authorization", self._sign(body, kind))
        for name, value in headers.items():
            if value:
                self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(packed)))
        self.end_headers()
        self.wfile.write(packed)
        self.wfile.flush()

    def refuse_time(self, now: int) -> None:
        """Says, under the caller's key, that the request is not of this server's time."""
        proof = self._hmac(f"hawk.1.ts\n{now}\n")
        told = f'Hawk ts="{now}", tsm="{proof}", error="Stale timestamp"'
        self.answer(b'{"detail": "Stale timestamp"}', 401, Server_Authorization="", WWW_Authenticate=told)

    def _find_page(self) -> tuple[str, int, int]:
        split = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(split.query).items()}
        style = split.path.strip("/")
        size = min(int(query.get("limit", self.server.owner.page_size)), self.server.owner.page_size)
        if style == "pages":
            return style, (int(query["page"]) - 1) * size, size
        if style == "offset":
            return style, int(query["offset"]), size
        found = re.search(r"[0-9]+", query.get("page", "") or query.get("cursor", ""))
        return style, int(found[0]) * size if found else 0, size

    def _is_authentic(self, hawk: Hawk) -> bool:
        given = dict(re.findall(r'(\w+)="([^"]*)"', self.headers.get("Authorization", "")))
        self.given = given
        now = int(time.time()) + self.server.owner.clock_offset_seconds
        mac = self._mac("header", given.get("hash", ""))
        if given.get("id") != hawk.id or not hmac.compare_digest(mac, given.get("mac", "")):
            self.answer(b'{"detail": "Incorrect authentication credentials."}', 401, Server_Authorization="")
        elif abs(now - int(given["ts"])) > 60:
            self.refuse_time(now)
        elif not self.server.owner.is_fresh(given["nonce"], given["ts"]):
            self.answer(b'{"detail": "Replayed nonce"}', 401, Server_Authorization="")
        else:
            return True
        return False

    def _sign(self, body: bytes, kind: str) -> str:
        hawk = self.server.owner.hawk
        if not hawk:
            return ""
        start = f"hawk.1.payload\n{kind.partition(';')[0]}\n".encode()
        whole = hashlib.new(hawk.algorithm, start)
        whole.update(body)
        whole.update(b"\n")
        digest = base64.b64encode(whole.digest()).decode()
        return f'Hawk mac="{self._mac("response", digest)}", hash="{digest}"'

    def _mac(self, kind: str, digest: str) -> str:
        host, _, port = self.headers["Host"].partition(":")
        given = (self.given.get("ts", ""), self.given.get("nonce", ""))
        parts = (f"hawk.1.{kind}", *given, "GET", self.path, host, port or "80", digest, "", "")
        return self._hmac("\n".join(parts))

    def _hmac(self, text: str) -> str:
        hawk = self.server.owner.hawk
        assert hawk
        return base64.b64encode(hmac.digest(hawk.key.encode(), text.encode(), hawk.algorithm)).decode()


Break = Callable[[_Handler, str, int, bytes], None]


def _send(status: int = 200, **headers: str) -> Break:
    return lambda handler, style, page, body: handler.answer(b"{}", status, **headers)


def _changed(change: Callable[[_Handler, dict[str, Any], int], None]) -> Break:
    def send(handler: _Handler, style: str, page: int, body: bytes) -> None:
        document = json.loads(body)
        change(handler, document, page)
        handler.answer(json.dumps(document).encode())

    return send


def _wait_after_429(handler: _Handler, style: str, page: int, body: bytes) -> None:
    # Both dates from this server's own clock, which need not be the client's.
    now = time.time() + handler.server.owner.clock_offset_seconds
    handler.send_response_only(429)
    handler.send_header("Date", formatdate(now, usegmt=True))
    handler.send_header("Retry-After", formatdate(now + 1, usegmt=True))
    handler.send_header("Content-Length", "0")
    handler.end_headers()


def _hang(handler: _Handler, style: str, page: int, body: bytes) -> None:
    handler.server.owner.released.wait(60)
    handler.close_connection = True


def _trickle(handler: _Handler, style: str, page: int, body: bytes) -> None:
    """A byte now and then: each read succeeds, the answer never ends."""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Slow: ")
    handler.close_connection = True
    while not handler.server.owner.released.wait(0.05):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def _break_off(handler: _Handler, style: str, page: int, body: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True


@functools.cache
def make_bomb() -> bytes:
    """100 kB that unpack to 100 MB of blanks; made piece by piece, since tests measure memory."""
    packer = zlib.compressobj(wbits=31)
    blanks = b" " * 1_000_000
    return b"".join([packer.compress(blanks) for _ in range(100)] + [packer.flush()])


def _send_packed(pieces: Callable[[bytes], bytes]) -> Break:
    def send(handler: _Handler, style: str, page: int, body: bytes) -> None:
        data = pieces(body)
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Encoding", "gzip")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    return send


def _repeat(handler: _Handler, style: str, page: int, body: bytes) -> None:
    api = handler.server.owner
    handler.answer(api.body(style, (page - 1) * api.page_size, api.page_size))


def _tamper(handler: _Handler, style: str, page: int, body: bytes) -> None:
    """A signature that is right for the page as it was, and a page that is not."""
    signature = handler._sign(body, "application/json; charset=utf-8")
    handler.answer(body.replace(b"1", b"2"), Server_Authorization=signature)


def _sign_without_body(handler: _Handler, style: str, page: int, body: bytes) -> None:
    handler.answer(body, Server_Authorization=f'Hawk mac="{handler._mac("response", "")}"')


def _set_next(link: Callable[[_Handler, int], Any]) -> Break:
    return _changed(lambda handler, document, page: document.update(next=link(handler, page)))


def _empty(handler: _Handler, document: dict[str, Any], page: int) -> None:
    document.update(results=[], next=f"{handler.server.owner.origin}/next?page={page + 1}")


FAULTS: dict[str, Break] = {
    "429": _send(429),
    "429 seconds": _send(429, Retry_After="1"),
    "429 date": _wait_after_429,
    "429 tomorrow": _send(429, Retry_After="86400"),
    "401": _send(401, WWW_Authenticate="Basic"),
    "401 forged time": _send(401, WWW_Authenticate='Hawk ts="1", tsm="bm90aGluZw==", error="Stale"'),
    "401 never in time": lambda handler, style, page, body: handler.refuse_time(
        int(handler.given["ts"]) + 900
    ),
    "404": _send(404),
    "410": _send(410),
    "500": _send(500),
    "501": _send(501),
    "503": _send(503),
    "520": _send(520),
    "hang": _hang,
    "trickle": _trickle,
    "break off": _break_off,
    "truncated": lambda handler, style, page, body: handler.answer(body[: len(body) // 2]),
    "html": lambda handler, style, page, body: handler.answer(
        b"<!doctype html><title>Sign in</title>", Content_Type="text/html"
    ),
    "wrong mac": lambda handler, style, page, body: handler.answer(
        body, Server_Authorization='Hawk mac="bm90aGluZw==", hash="bm90aGluZw=="'
    ),
    "no mac": lambda handler, style, page, body: handler.answer(body, Server_Authorization=""),
    "no body hash": _sign_without_body,
    "tampered": _tamper,
    "bomb": _send_packed(lambda body: make_bomb()),
    "half packed": _send_packed(lambda body: gzip.compress(body)[:-20]),
    "not packed": _send_packed(lambda body: body),
    "loop": _set_next(lambda handler, page: f"{handler.server.owner.origin}/next?page=1"),
    "relative next": _set_next(lambda handler, page: f"/next?page={page + 1}&x=%2f/ü y"),
    "next is a number": _set_next(lambda handler, page: 7),
    "next is no URL": _set_next(lambda handler, page: "http://[::1"),
    "elsewhere": _set_next(lambda handler, page: f"{handler.server.owner.elsewhere}/next?page={page + 1}"),
    "password in next": _set_next(lambda handler, page: f"http://me:secret@{handler.headers['Host']}/next"),
    "repeat": _repeat,
    "empty": _changed(_empty),
    "no next": _changed(lambda handler, document, page: document.pop("next")),
    "no results": _changed(lambda handler, document, page: document.pop("results")),
    "rows are no list": _changed(lambda handler, document, page: document.update(results={"a": 1})),
    "short": _changed(lambda handler, document, page: document["results"].pop()),
    "redirect": lambda handler, style, page, body: handler.answer(
        b"", 302, Location=handler.path + "&again=1"
    ),
    "redirect elsewhere": lambda handler, style, page, body: handler.answer(
        b"", 302, Location=handler.server.owner.elsewhere + handler.path
    ),
    "redirect for ever": lambda handler, style, page, body: handler.answer(b"", 302, Location=handler.path),
}
