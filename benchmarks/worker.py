"""How fast a worker does small chunks, against `RunJob --drain` on the same number of them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from benchmarks import scene
from benchmarks.commands import DATAFLOW, RUNJOB, run
from benchmarks.drain import CHUNKS, PROGRAM, check_all_done
from benchmarks.measurement import Measurement
from benchmarks.place import Place

STREAMS = "4"


def measure(place: Place) -> Iterator[Measurement]:
    """RunJob before and after the worker, so that a machine that gets busier or idler favours neither."""
    chunks = min(CHUNKS, place.size)
    before = _run_drain(place, "worker_peer_1", chunks)
    used = _run_worker(place, "worker", chunks)
    seconds = (before + _run_drain(place, "worker_peer_2", chunks)) / 2
    name = f"dataflow worker --until-idle -j {STREAMS}, {chunks} chunks of {PROGRAM}, sqlite"
    peer = f"RunJob --drain -j {STREAMS}"
    yield Measurement(name, chunks / used, "chunks/s", peer, chunks / seconds, ">= 0.9")


def _run_drain(place: Place, store_name: str, chunks: int) -> float:
    return _run(
        place, store_name, chunks, [*RUNJOB, "--quiet", "--job", scene.JOB, "--drain", "-j", STREAMS, PROGRAM]
    )


def _run_worker(place: Place, store_name: str, chunks: int) -> float:
    with open(os.path.join(place.folder, "dataflow.toml"), "w", encoding="utf-8") as file:
        file.write(f'[job.{scene.JOB}]\ncommand = "{PROGRAM}"\n')
    try:
        return _run(
            place, store_name, chunks, [*DATAFLOW, "worker", "--quiet", "--until-idle", "-j", STREAMS]
        )
    finally:
        os.unlink(file.name)


def _run(place: Place, store_name: str, chunks: int, argv: list[str]) -> float:
    """Return how many seconds a command takes for all chunks of a new store."""
    address = place.sqlite(store_name)
    store = address.open()
    scene.fill(store, scene.register(store), chunks)
    store.close()
    used = run(argv, place.environment(address), place.folder)
    check_all_done(address, chunks)
    return used.seconds
