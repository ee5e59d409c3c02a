"""An API to try pipelines on: 60,000 made-up orders in pages, every request and answer signed with Hawk.

    python orders_api.py [--port N]

It needs only Python's standard library and ends with the shell that started it. Each answer is recorded in
orders_api.log: status, page, rows. While a file `outage` contains a page number, all later pages are answered
with 503.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import hmac
import json
import os
import random
import re
import sys
import threading
import time
from datetime import UTC, date, datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

ORDERS = 60_000
PAGE_SIZE = 500
PAGES = ORDERS // PAGE_SIZE
PORT = 8765
PLACE = "/v4/dataset/omis-dataset"
LOG = Path("orders_api.log")
OUTAGE = Path("outage")

# This key is for the demo only. Never keep a real one in a file that others can read.
HAWK_ID = "data-flow"
HAWK_KEY = "a-key-for-the-demo-only"
ALLOWED_SKEW_SECONDS = 60

FIRST_DAY = datetime(2017, 11, 1, tzinfo=UTC)
SECONDS = int((datetime(2018, 11, 1, tzinfo=UTC) - FIRST_DAY).total_seconds())
SUMMER_TIME = timezone(timedelta(hours=1))
STATUSES = ("complete",) * 7 + ("draft", "cancelled", "paid")
REASONS = ("Client no longer needs it", "Never paid", "")
TEAMS = ("Advanced Manufacturing", "Food and Drink", "Life Sciences", "Team Ångström")
REGIONS = ("London", "North West", "Scotland", "Wales", None)
MARKETS = ("Brazil", "Côte d'Ivoire", "Germany", "Japan", "United States")
SECTORS = ("Aerospace", "Energy", "Retail", "Software")
SERVICES = ("Market research", "Meet the buyer", "Validated contacts", "Trade fair")


def list_orders() -> list[dict[str, Any]]:
    """Return all orders, the same ones every time."""
    chance = random.Random(2018)
    return [_make_order(number, chance) for number in range(1, ORDERS + 1)]


def _make_order(number: int, chance: random.Random) -> dict[str, Any]:
    status = chance.choice(STATUSES)
    moment = FIRST_DAY + timedelta(seconds=chance.randrange(SECONDS))
    # Some have the offset of another zone, so that their local date may be in the next month.
    written = moment.astimezone(SUMMER_TIME) if chance.random() < 0.5 else moment
    return {
        "reference": f"OMI{number:06d}/18",
        "company__name": f"Company {chance.randrange(5000)} “Söhne” & Co",
        "dit_team__name": chance.choice(TEAMS),
        "subtotal": chance.randrange(10_000_00),
        "uk_region__name": chance.choice(REGIONS),
        "market__name": chance.choice(MARKETS),
        "sector__name": chance.choice(SECTORS),
        "services": chance.sample(SERVICES, chance.randrange(3)),
        "delivery_date": _day(moment.date(), chance.randrange(60)),
        "payment_received_date": _day(moment.date(), -7) if status in ("complete", "paid") else None,
        "completed_on": written.isoformat() if status == "complete" else None,
        "cancellation_reason__name": chance.choice(REASONS) if status == "cancelled" else None,
        "status": status,
    }


def _day(day: date, days: int) -> str:
    return (day + timedelta(days=days)).isoformat()


class OrdersApi(ThreadingHTTPServer):
    """Serves the orders; remembers the nonces it has seen, so that no request can be replayed."""

    daemon_threads = True

    def __init__(self, port: int) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.orders = list_orders()
        self._nonces: set[tuple[str, str]] = set()
        self._lock = threading.Lock()
        self._parent = os.getppid()

    def service_actions(self) -> None:
        """Exit when the parent process has exited."""
        if os.getppid() != self._parent:
            sys.exit()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that was killed."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)

    def is_new(self, timestamp: str, nonce: str) -> bool:
        """Return whether the request has not been seen before."""
        with self._lock:
            is_new = (timestamp, nonce) not in self._nonces
            self._nonces.add((timestamp, nonce))
            return is_new

    def note(self, status: int, page: int, rows: int) -> None:
        """Add a line to the log."""
        with self._lock, LOG.open("a") as log:
            log.write(f"{status} {page} {rows}\n")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Without these two, the end of each page waits until the client acknowledges its beginning.
    disable_nagle_algorithm = True
    wbufsize = 64 * 1024
    server: OrdersApi

    def do_GET(self) -> None:
        """Answer with one page of orders, or an error."""
        self.hawk = dict(re.findall(r'(\w+)="([^"]*)"', self.headers.get("Authorization", "")))
        refusal = self._find_refusal()
        split = urlsplit(self.path)
        page = parse_qs(split.query).get("page", ["1"])[0]
        if refusal:
            self._answer(401, {"detail": refusal})
        elif split.path != PLACE or not page.isdecimal() or not 1 <= int(page) <= PAGES:
            self._answer(404, {"detail": "Page not found."})
        elif OUTAGE.exists() and int(page) > int(OUTAGE.read_text()):
            self.server.note(503, int(page), 0)
            self._answer(503, {"detail": "Out of order."})
        else:
            rows = self.server.orders[(int(page) - 1) * PAGE_SIZE : int(page) * PAGE_SIZE]
            following = f"{self.server.origin}{PLACE}?page={int(page) + 1}" if int(page) < PAGES else None
            self.server.note(200, int(page), len(rows))
            self._answer(200, {"count": ORDERS, "next": following, "results": rows})

    def log_message(self, format: str, *arguments: Any) -> None:
        """Write nothing: the server has a log of its own."""

    def _find_refusal(self) -> str:
        """Return why the request is refused; empty if it is not."""
        given = self.hawk
        mac = self._mac("header", given.get("hash", "")).encode()
        if given.get("id") != HAWK_ID or not hmac.compare_digest(mac, given.get("mac", "").encode()):
            return "The request is not signed with a known key."
        if abs(time.time() - int(given["ts"])) > ALLOWED_SKEW_SECONDS:
            return "The timestamp of the request is too far from the server's clock."
        return "" if self.server.is_new(given["ts"], given["nonce"]) else "The request is a replay."

    def _answer(self, status: int, content: dict[str, Any]) -> None:
        body = json.dumps(content, ensure_ascii=False).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            now = int(time.time())
            proof = _hmac(f"hawk.1.ts\n{now}\n")
            self.send_header("WWW-Authenticate", f'Hawk ts="{now}", tsm="{proof}", error="Refused"')
        else:
            whole = hashlib.sha256(b"hawk.1.payload\napplication/json\n" + body + b"\n").digest()
            digest = base64.b64encode(whole).decode()
            proof = self._mac("response", digest)
            self.send_header("Server-Authorization", f'Hawk mac="{proof}", hash="{digest}"')
        self.end_headers()
        self.wfile.write(body)

    def _mac(self, kind: str, digest: str) -> str:
        """Return the Hawk MAC of the request and the hash of a body."""
        host, _, port = self.headers.get("Host", "").partition(":")
        request = (self.hawk.get("ts", ""), self.hawk.get("nonce", ""), "GET", self.path, host, port or "80")
        return _hmac("\n".join((f"hawk.1.{kind}", *request, digest, "", "")))


def _hmac(text: str) -> str:
    return base64.b64encode(hmac.digest(HAWK_KEY.encode(), text.encode(), "sha256")).decode()


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port", type=int, default=PORT, help=f"default: {PORT}; 0 chooses a free port")
    api = OrdersApi(parser.parse_args().port)
    print(f"Serving {ORDERS:,} orders in {PAGES} pages. Settings for clients:", flush=True)
    print(f"export DATAHUB_BASE_URL={api.origin} HAWK_ID={HAWK_ID} HAWK_KEY={HAWK_KEY}", flush=True)
    try:
        api.serve_forever()
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
