"""Server-sent events tell of changes, of outages, and end with the server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import psutil

from dataflow.api import events as module
from dataflow.api.events import Events, Queue, _put
from tests.acceptance.flow import Flow
from tests.api.served import Served
from tests.postgres import PostgresServer
from tests.project import Project


def read_events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    """The events of a stream, each with its data."""
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        if line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def test_a_change_by_anybody_is_told_to_every_page(served: Served) -> None:
    with ExitStack() as stack:
        streams = [stack.enter_context(served.client.stream("GET", "/api/v1/events")) for _ in range(3)]
        events = [read_events(stream) for stream in streams]
        assert [next(each)[0] for each in events] == ["hello"] * 3
        served.flow.ready("bobin", "3.0")
        for each in events:
            name, data = next(each)
            assert name == "change"
            assert {"dataset": "bobin", "dataid": "3.0", "action": "ready"}.items() <= data["changes"][
                0
            ].items()
            assert data["more"] is False


def test_many_pages_are_told_one_after_the_other(sqlite_served: Served) -> None:
    times: list[float] = []

    def wait_for_change(stream: httpx.Response, begun: Barrier) -> None:
        events = read_events(stream)
        assert next(events)[0] == "hello"
        begun.wait()
        assert next(events)[0] == "change"
        times.append(time.monotonic())

    pages = 15
    begun = Barrier(pages + 1)
    with ExitStack() as stack, ThreadPoolExecutor(pages) as threads:
        streams = [
            stack.enter_context(sqlite_served.client.stream("GET", "/api/v1/events")) for _ in range(pages)
        ]
        waits = [threads.submit(wait_for_change, stream, begun) for stream in streams]
        begun.wait()
        sqlite_served.flow.ready("bobin", "3.0")
        for wait in waits:
            wait.result()
    # Of 15 random times up to 3 s: that all lie so close together does not happen by chance.
    assert max(times) - min(times) > module.SPREAD_SECONDS * pages / 5


def test_open_pages_share_one_thread_and_one_connection(sqlite_served: Served) -> None:
    process = psutil.Process(sqlite_served.process.pid)
    with ExitStack() as stack:
        streams = [
            stack.enter_context(sqlite_served.client.stream("GET", "/api/v1/events")) for _ in range(50)
        ]
        pages = [read_events(stream) for stream in streams]
        assert [next(page)[0] for page in pages] == ["hello"] * 50
        time.sleep(3 * module.POLL_SECONDS)
        assert process.num_threads() < 10
        files = [file.path for file in process.open_files() if file.path.endswith("dataflow.db")]
        assert len(files) <= 3
        sqlite_served.flow.ready("bobin", "3.0")
        assert [next(page)[0] for page in pages] == ["change"] * 50


def test_a_page_that_does_not_read_gets_one_reload_instead_of_all() -> None:
    queue: Queue = asyncio.Queue(module.LONGEST_QUEUE)
    for number in range(10 * module.LONGEST_QUEUE):
        _put(queue, str(number))
    assert queue.qsize() <= module.LONGEST_QUEUE
    assert "event: reload" in str(queue.get_nowait())


def test_no_more_streams_than_the_limit_are_taken(sqlite_flow: Flow) -> None:
    events = Events.__new__(Events)
    events._queues = {asyncio.Queue() for _ in range(module.MOST_STREAMS)}
    assert events.is_full


def test_a_store_that_goes_away_is_503_and_comes_back_by_itself(project: Project) -> None:
    with PostgresServer.create() as server:
        flow = Flow(project, server.url("postgres"))
        flow.declare()
        with Served(flow) as served, served.client.stream("GET", "/api/v1/events") as stream:
            events = read_events(stream)
            assert next(events)[0] == "hello"
            assert served.client.get("/api/v1/jobs").status_code == 200
            server.stop()
            assert next(events) == ("store", {"code": "store-unreachable", "reachable": False})
            refused = served.client.get("/api/v1/jobs")
            assert (refused.status_code, refused.json()["code"]) == (503, "store-unreachable")
            assert refused.headers["retry-after"]
            assert served.client.get("/readyz").status_code == 503
            assert served.client.get("/healthz").status_code == 200
            server.start()
            assert next(events) == ("store", {"code": "", "reachable": True})
            assert served.client.get("/api/v1/jobs").status_code == 200
        assert "Traceback" not in served.stop()[1]


def test_an_embedded_store_that_is_removed_is_not_created_again(sqlite_served: Served) -> None:
    path = sqlite_served.flow.url.removeprefix("sqlite:///")
    for name in (path, f"{path}-wal", f"{path}-shm"):
        Path(name).unlink(missing_ok=True)
    refused = sqlite_served.client.get("/api/v1/jobs")
    assert (refused.status_code, refused.json()["code"]) == (503, "store-missing")
    assert not Path(path).exists()
