"""What a page for operators reads of a large store: the grid, a zoom, a page of chunks, a log of 100 MB."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from statistics import median
from time import perf_counter

from benchmarks import scene
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.actions.attention import get_attention
from dataflow.actions.chunk_list import get_chunk_page
from dataflow.actions.grid import Block, Zoom, get_grid
from dataflow.actions.job_statistics import get_job_statistics
from dataflow.actions.metrics import list_metrics
from dataflow.actions.run_log import read_log, search_log
from dataflow.config.settings import Config, load_config
from dataflow.model.record import replace
from dataflow.store.store import Store

ROUNDS = 5
LOG_LINE = b"a line of a log that goes on for long, as logs do\n"
LOG_BYTES = 100_000_000

Read = Callable[[], object]


def measure(place: Place) -> Iterator[Measurement]:
    """Chunks in all statuses, evenly mixed, right after they were filled in; on each kind of store."""
    for address in place.stores("grid"):
        yield from _measure_one(place, address)


def _measure_one(place: Place, address: Address) -> Iterator[Measurement]:
    store = address.open()
    plan = scene.register(store)
    scene.fill_mixed(store, plan, place.size)
    floor = 1000 * _seconds(store.read.get_now, ROUNDS)
    first = perf_counter()
    grid = get_grid(store, scene.TARGET)
    seconds = perf_counter() - first
    assert grid.total == place.size, grid.total
    name = f"%s of {place.size:,} chunks, {address.kind}"
    compared = ("the shortest read", floor)
    yield Measurement(name % "first grid", 1000 * seconds, "ms", *compared, "< 500 ms")
    for what, wanted, read in _reads(store, grid.blocks[len(grid.blocks) // 2]):
        rounds = ROUNDS if place.is_full else 1
        yield Measurement(name % what, 1000 * _seconds(read, rounds), "ms", *compared, wanted)
    yield from _measure_log(place, store, address.kind, floor)
    store.close()


def _reads(store: Store, block: Block) -> list[tuple[str, str, Read]]:
    first = block.first
    zoom = Zoom(first=first, last=block.last)
    return [
        ("grid again", "< 500 ms", lambda: get_grid(store, scene.TARGET)),
        ("zoom", "< 200 ms", lambda: get_grid(store, scene.TARGET, zoom)),
        ("page from the middle", "< 200 ms", lambda: get_chunk_page(store, scene.TARGET, first)),
        ("page of FAILED", "< 200 ms", lambda: get_chunk_page(store, scene.TARGET, first, status="FAILED")),
        ("attention", "< 1000 ms", lambda: get_attention(store)),
        ("statistics of a job", "< 1000 ms", lambda: get_job_statistics(store, scene.JOB)),
        ("metrics", "< 1000 ms", lambda: list_metrics(store)),
    ]


def _config(place: Place) -> Config:
    return replace(load_config(place.folder, {"DATAFLOW_PROJECT": place.folder}), host="bench")


def write_log(place: Place, store: Store) -> int:
    """Claims a run, gives it a log of 100 MB, and returns its id."""
    plan = store.find_plan(scene.JOB)
    assert plan is not None
    run = store.claim(plan, scene.make_request(scene.make_claimant())).runs[0]
    folder = _config(place).log_dir
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, f"{run.run_id}.log"), "wb") as log:
        for _ in range(LOG_BYTES // len(LOG_LINE) // 1000):
            log.write(LOG_LINE * 1000)
    return run.run_id


def _measure_log(place: Place, store: Store, kind: str, floor: float) -> Iterator[Measurement]:
    run_id, config = write_log(place, store), _config(place)
    for what, read in (
        ("last lines", lambda: read_log(store, config, run_id)),
        ("lines from the middle", lambda: read_log(store, config, run_id, LOG_BYTES // 2)),
        ("search of 32 MB", lambda: search_log(store, config, run_id, "not there")),
    ):
        milliseconds = 1000 * _seconds(read, ROUNDS)
        yield Measurement(
            f"{what} of a log of 100 MB, {kind}", milliseconds, "ms", "the shortest read", floor, "< 300 ms"
        )


def _seconds(read: Read, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        started = perf_counter()
        read()
        times.append(perf_counter() - started)
    return median(times)
