"""A migration by `dataflow worker`: extracts and loads, with failing attempts and kills, and without."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from time import monotonic, sleep

from benchmarks.commands import DATAFLOW
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.actions.apply import apply_changes
from dataflow.actions.make_ready import make_ready
from dataflow.config.declarations import read_declarations
from dataflow.errors import DataFlowError

CHUNKS = 10_000
STREAMS = 8
KILL_SECONDS = 30.0
LIMIT_SECONDS = 1800.0
PROJECT = """
[dataset.source]
[dataset.extracted]
[dataset.loaded]
[job.extract]
in = ["source"]
out = ["extracted"]
command = ["./move.sh"]
retries = 5
retry_delay = "1s"
[job.load]
in = ["extracted"]
out = ["loaded"]
command = ["./move.sh"]
retries = 5
retry_delay = "1s"
"""
FAILING = "case $DATAFLOW_RUN_ID in *00) exit 3;; esac\n"
"""One attempt in a hundred."""


def measure(place: Place) -> Iterator[Measurement]:
    """The rate with faults against the rate without, in one run."""
    chunks = min(CHUNKS, place.size)
    plain = _migrate(place, "plain", chunks, faults=False)
    hard = _migrate(place, "hard", chunks, faults=True)
    name = (
        f"migration of {chunks} extracts and {chunks} loads, 1 % failing, a kill -9 every 30 s, -j {STREAMS}"
    )
    yield Measurement(
        name, 2 * chunks / hard, "chunks/s", "the same without faults", 2 * chunks / plain, ">= 0.70"
    )


def _migrate(place: Place, name: str, chunks: int, faults: bool) -> float:
    """Return the seconds from the start of the worker until the last chunk is READY."""
    folder = os.path.join(place.folder, name)
    os.mkdir(folder)
    address = place.sqlite(name)
    _write_project(folder, faults)
    store = address.open()
    apply_changes(store, read_declarations([os.path.join(folder, "dataflow.toml")]))
    make_ready(store, "source", [f"{number:05}" for number in range(chunks)])
    store.close()
    started = monotonic()
    _work(place, address, folder, chunks, faults)
    seconds = monotonic() - started
    _check(address, chunks)
    return seconds


def _write_project(folder: str, faults: bool) -> None:
    with open(os.path.join(folder, "dataflow.toml"), "w", encoding="ascii") as file:
        file.write(PROJECT)
    path = os.path.join(folder, "move.sh")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\n{FAILING if faults else ''}")
    os.chmod(path, 0o755)


def _work(place: Place, address: Address, folder: str, chunks: int, faults: bool) -> None:
    """Start a worker again whenever it has ended, as a service manager does; nothing else is typed."""
    command = [*DATAFLOW, "worker", "--quiet", "-j", str(STREAMS)]
    worker: subprocess.Popen[bytes] | None = None
    kill_at, until = monotonic() + KILL_SECONDS / 2, monotonic() + LIMIT_SECONDS
    store = address.open()
    try:
        while store.database.read(lambda tx: tx.rows("bench.count_loaded"))[0][0] < chunks:
            if monotonic() > until:
                raise DataFlowError("bench: the migration did not end.")
            if worker is None or worker.poll() is not None:
                worker = subprocess.Popen(
                    command, cwd=folder, env=place.environment(address), stderr=subprocess.DEVNULL
                )
            if faults and monotonic() > kill_at:
                worker.send_signal(signal.SIGKILL)
                worker.wait()
                kill_at = monotonic() + KILL_SECONDS
            sleep(0.1)
    finally:
        store.close()
        if worker is not None and worker.poll() is None:
            worker.terminate()
            worker.wait()


def _check(address: Address, chunks: int) -> None:
    """No chunk is missing, and each has one accepted outcome of each job."""
    store = address.open()
    rows = store.database.read(lambda tx: tx.rows("bench.count_accepted"))
    store.close()
    if rows != [("extract", chunks, chunks), ("load", chunks, chunks)]:
        raise DataFlowError(f"bench: accepted outcomes and chunks are {rows}, not {chunks} of each job.")
