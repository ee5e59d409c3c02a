"""A local API of as many rows as wanted, in pages with next links; run as a process of its own.

Its pages are rendered beforehand and differ in their keys alone, so that serving one costs next to nothing.
"""

from __future__ import annotations

import json
import random
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAGE_ROWS = 5000
RENDERED = 8
"""So many pages are rendered; the others are these again, with other keys."""

COLUMNS = {
    "id": "uuid PRIMARY KEY",
    "created_at": "timestamp with time zone NOT NULL",
    "amount": "numeric(12,2)",
    "tags": "text[]",
    "status": "character varying(20)",
    "quantity": "integer",
    "customer": "bigint",
    "paid": "boolean",
    "due": "date",
    "weight": "double precision",
    "note": "text",
    "extra": "jsonb",
}
"""What the rows have, with the types they are to get."""

_NUMBER = "0123-4567"
"""Stands in every key where the number of the page goes; the rest of a key is random."""


class PageServer(ThreadingHTTPServer):
    """The API; `/0` is its first page."""

    daemon_threads = True

    def __init__(self, pages: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._pages = pages
        self._rendered = list(_render())

    def page(self, number: int) -> bytes:
        """The page of that number."""
        mark = f"{number >> 16:04x}-{number & 0xFFFF:04x}"
        rows = self._rendered[number % RENDERED].replace(_NUMBER.encode(), mark.encode())
        is_last = number + 1 >= self._pages
        following = None if is_last else f"http://127.0.0.1:{self.server_port}/{number + 1}"
        return b'{"next":%b,"results":%b}' % (json.dumps(following).encode(), rows)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: PageServer

    def do_GET(self) -> None:
        """Answers with a page."""
        body = self.server.page(int(self.path.strip("/")))
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


def _render() -> Iterator[bytes]:
    chance = random.Random(1)
    for _ in range(RENDERED):
        rows = [_row(chance) for _ in range(PAGE_ROWS)]
        yield json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def _row(chance: random.Random) -> dict[str, object]:
    month, day, hour, second = (chance.randint(1, last) for last in (12, 28, 23, 59))
    return {
        "id": f"{chance.getrandbits(32):08x}-{_NUMBER}-8000-{chance.getrandbits(48):012x}",
        "created_at": f"2026-{month:02}-{day:02}T{hour:02}:30:{second:02}.{chance.randrange(1000):03}Z",
        "amount": f"{chance.randrange(10_000_000) / 100:.2f}",
        "tags": chance.sample(["new", "urgent", "export", "größer", "a b"], chance.randint(0, 3)),
        "status": chance.choice(["open", "done", "cancelled"]),
        "quantity": chance.randrange(1000),
        "customer": chance.getrandbits(40),
        "paid": chance.random() < 0.5,
        "due": f"2026-{month:02}-{day:02}" if chance.random() < 0.9 else None,
        "weight": chance.randrange(100_000) / 64,
        "note": "Order of the month, to be delivered " * chance.randint(0, 3),
        "extra": {"channel": chance.choice(["web", "shop"]), "points": chance.randrange(100), "gift": None},
    }


def main() -> None:
    """Serves that many pages until standard input ends; says its port first."""
    server = PageServer(int(sys.argv[1]))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(server.server_port, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
