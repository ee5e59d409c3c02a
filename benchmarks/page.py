"""The operators' page over a large store: `dataflow serve`, a browser, and many open pages beside claims."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from statistics import median, quantiles
from time import perf_counter
from urllib.parse import parse_qs, urlsplit

import httpx

from benchmarks import scene
from benchmarks.commands import DATAFLOW
from benchmarks.grid import LOG_BYTES, write_log
from benchmarks.measurement import Measurement
from benchmarks.open_pages import OPENING_SECONDS, OpenPages
from benchmarks.paced_claims import RATE
from benchmarks.place import Address, Place

GRID = f"/datasets/{scene.TARGET}"
PAGES = 50
ROUNDS = 5
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


@dataclass(frozen=True, slots=True)
class Server:
    """A running `dataflow serve`, and how long it took until it answered."""

    url: str
    base: str
    token: str
    start_seconds: float

    def client(self) -> httpx.Client:
        """Sends requests with the token of the server."""
        bearer = {"Authorization": f"Bearer {self.token}"}
        return httpx.Client(base_url=self.base, headers=bearer, timeout=60)


def measure(place: Place) -> Iterator[Measurement]:
    """On each kind of store, right after it was filled."""
    for address in place.stores("page"):
        store = address.open()
        scene.fill_mixed(store, scene.register(store), place.size)
        run_id = write_log(place, store)
        store.close()
        with _serve(place, address) as server:
            yield from _measure_requests(place, address.kind, server, run_id)
            yield from _measure_paint(place, address.kind, server)
            yield from _measure_load(place, address, server)


def _measure_requests(place: Place, kind: str, server: Server, run_id: int) -> Iterator[Measurement]:
    name = f"%s, {place.size:,} chunks, {kind}"
    yield Measurement(name % "start of dataflow serve", server.start_seconds, "s", "wanted", 1, "< 1 s")
    with server.client() as client:
        floor = _milliseconds(client, "/healthz")
        compared = ("a request without a read", floor)
        first = _milliseconds(client, GRID, 1)
        yield Measurement(name % "first page with the grid", first, "ms", *compared, "< 500 ms")
        grid = client.get(f"/api/v1{GRID}/grid").json()
        block = grid["blocks"][len(grid["blocks"]) // 2]
        zoom = str(httpx.URL(GRID, params={"from": block["first"], "to": block["last"]}))
        for what, path, wanted in (
            ("page with the grid", GRID, "< 500 ms"),
            ("page with a zoom", zoom, "< 200 ms"),
            (f"page of a run with a log of {LOG_BYTES // 1_000_000} MB", f"/runs/{run_id}", "< 300 ms"),
        ):
            yield Measurement(name % what, _milliseconds(client, path), "ms", *compared, wanted)
        size = max(len(client.get(path).content) for path in ("/", GRID, zoom)) / 1000
        yield Measurement(name % "largest page", size, "kB", "wanted", 300, "< 300 kB")


def _measure_paint(place: Place, kind: str, server: Server) -> Iterator[Measurement]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        place.say("bench: without a browser: Chromium is not installed")
        return
    from playwright.sync_api import sync_playwright  # only here: the rest is measured without a browser

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page()
        page.goto(server.url)  # gives the browser its cookie
        times = []
        for _ in range(ROUNDS if place.is_full else 1):
            page.goto(server.base + GRID)
            page.wait_for_function(f"{FIRST_PAINT} !== undefined")
            times.append(float(page.evaluate(FIRST_PAINT)))
        browser.close()
    name = f"first paint of the grid, {place.size:,} chunks, {kind}"
    yield Measurement(name, median(times), "ms", "wanted", 1500, "< 1500 ms")


def _measure_load(place: Place, address: Address, server: Server) -> Iterator[Measurement]:
    seconds = 30.0 if place.is_full else 5.0
    pages = OpenPages(server.base, server.token, ("/", GRID, f"/jobs/{scene.JOB}", "/runs"))
    alone = _claim_rate(place, address, seconds, None)
    beside = _claim_rate(place, address, seconds, pages)
    name = f"{PAGES} open pages, {place.size:,} chunks, {address.kind}: %s"
    peer = f"{RATE} wanted, without pages"
    yield Measurement(name % "claims", beside, "claims/s", peer, alone, ">= 0.9")
    last = 1000 * quantiles([*pages.seconds, *pages.seconds], n=100)[-1]
    middle = 1000 * median(pages.seconds)
    yield Measurement(name % "99th percentile of requests", last, "ms", "median", middle, "< 500 ms")


def _claim_rate(place: Place, address: Address, seconds: float, pages: OpenPages | None) -> float:
    """Return how many claims a second a process gets that wants 100."""
    argv = [sys.executable, "-m", "benchmarks.paced_claims", json.dumps(asdict(address)), str(seconds)]
    if pages is not None:
        argv[-1] = str(seconds + OPENING_SECONDS)
    claims = subprocess.Popen(argv, env=place.environment(address), stdout=subprocess.PIPE, text=True)
    if pages is not None:
        pages.watch(PAGES, seconds)
    return float(claims.communicate()[0])


@contextmanager
def _serve(place: Place, address: Address) -> Iterator[Server]:
    started = perf_counter()
    process = subprocess.Popen(
        [*DATAFLOW, "serve", "--port", "0"],
        env=place.environment(address) | {"DATAFLOW_PROJECT": place.folder},
        cwd=place.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc}"
        httpx.get(f"{base}/healthz", timeout=60).raise_for_status()
        yield Server(url, base, parse_qs(parts.query)["token"][0], perf_counter() - started)
    finally:
        process.terminate()
        process.wait(timeout=60)


def _milliseconds(client: httpx.Client, path: str, rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        started = perf_counter()
        client.get(path).raise_for_status()
        times.append(1000 * (perf_counter() - started))
    return median(times)
