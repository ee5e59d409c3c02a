"""`dataflow up` serves the page beside its worker, and the worker works whatever becomes of the page."""

from __future__ import annotations

import os
import re
import signal
import socket

import httpx

from tests.acceptance.flow import children_of, name_of, wait_until
from tests.project import SOURCE
from tests.service.crew import Crew, Worker

ONE = """
[dataset.raw]
[dataset.loaded]
[job.load]
in = ["raw"]
out = ["loaded"]
command = "./load.sh"
"""
ANY_PORT = {"DATAFLOW_LISTEN": "127.0.0.1:0"}


def start(crew: Crew, *words: str, env: dict[str, str] | None = None) -> Worker:
    """`dataflow up` with one chunk to do, which it has done."""
    crew.declare(ONE)
    crew.flow.script("load.sh", "echo $dataid >> ran")
    crew.flow.ready("raw", "1")
    worker = crew.start(*words, command="up", env=env or ANY_PORT)
    worker.wait_for("load 1: DONE")
    return worker


def url_of(worker: Worker) -> str:
    found = re.search(r"^Page: (\S+)$", worker.said, re.MULTILINE)
    assert found, worker.said
    return found[1]


def is_served(url: str) -> bool:
    try:
        return httpx.get(url, timeout=10).is_redirect
    except httpx.TransportError:
        return False


def test_up_serves_the_page_and_ctrl_c_ends_both(sqlite_crew: Crew) -> None:
    worker = start(sqlite_crew)
    url = url_of(worker)
    with httpx.Client(follow_redirects=True, timeout=60) as client:
        assert "<title>Now · DataFlow</title>" in client.get(url).text
    assert worker.end(signal.SIGINT) == 0
    assert not is_served(url)
    assert "Traceback" not in worker.said


def test_the_page_ends_with_a_worker_that_is_killed(sqlite_crew: Crew) -> None:
    worker = start(sqlite_crew)
    url = url_of(worker)
    assert is_served(url)
    worker.end(signal.SIGKILL)
    wait_until(lambda: not is_served(url), 60)


def test_the_page_is_no_child_of_the_worker_which_would_take_it_for_a_leftover_of_a_run(
    sqlite_crew: Crew,
) -> None:
    worker = start(sqlite_crew)
    assert {name_of(pid) for pid in children_of(worker.pid)} <= {"dataflow-guard", "dataflow-backup"}
    assert worker.end() == 0


def test_a_port_in_use_is_reported_and_the_worker_works(sqlite_crew: Crew) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        worker = start(sqlite_crew, env={"DATAFLOW_LISTEN": address})
    assert re.search(r"Port \d+ on 127.0.0.1 is in use", worker.said)
    assert "The page is not served. The worker works without it." in worker.said
    assert worker.end() == 0


def test_without_the_packages_of_the_page_up_says_so_once_and_works(sqlite_crew: Crew) -> None:
    missing = sqlite_crew.flow.path.parent / "missing"
    missing.mkdir()
    (missing / "starlette.py").write_text("raise ModuleNotFoundError(\"No module named 'starlette'\")\n")
    worker = start(sqlite_crew, env=ANY_PORT | {"PYTHONPATH": f"{missing}{os.pathsep}{SOURCE}"})
    assert worker.said.count("pip install '.[web]'") == 1
    assert "Traceback" not in worker.said
    assert worker.end() == 0


def test_no_page_is_served_if_none_is_wanted(sqlite_crew: Crew) -> None:
    worker = start(sqlite_crew, "--no-page")
    assert "Page:" not in worker.said and "page is not served" not in worker.said
    assert worker.end() == 0
