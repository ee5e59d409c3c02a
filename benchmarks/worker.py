"""How fast a worker does small chunks, against `RunJob --drain`, and how soon it wakes up."""

from __future__ import annotations

import os
from collections.abc import Iterator

from benchmarks import idle_worker, scene, wake_up
from benchmarks.commands import DATAFLOW, RUNJOB, run
from benchmarks.drain import CHUNKS, PROGRAM, check_all_done
from benchmarks.measurement import Measurement
from benchmarks.place import Place

STREAMS = "4"
TURNS = 3


def measure(place: Place) -> Iterator[Measurement]:
    """The fastest of several turns of each: what else the machine does only adds to their time."""
    chunks = min(CHUNKS, place.size)
    drained, worked = [], []
    for turn in range(TURNS):
        drained.append(_run_drain(place, f"drained_{turn}", chunks))
        worked.append(_run_worker(place, f"worked_{turn}", chunks))
    name = f"dataflow worker --until-idle -j {STREAMS}, {chunks} chunks of {PROGRAM}, sqlite"
    peer = f"RunJob --drain -j {STREAMS}"
    yield Measurement(name, chunks / min(worked), "chunks/s", peer, chunks / min(drained), ">= 0.9")
    yield from wake_up.measure(place)
    yield from idle_worker.measure(place)


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
