"""How fast RunJob drains a dataset of small chunks, against xargs starting the same program."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from benchmarks import scene
from benchmarks.commands import RUNJOB, run
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.errors import DataFlowError

CHUNKS = 2000
PROGRAM = "/bin/true"


def measure(place: Place) -> Iterator[Measurement]:
    """xargs before and after RunJob, so that a machine that gets busier or idler favours neither."""
    chunks = min(CHUNKS, place.size)
    address = place.sqlite("drain")
    store = address.open()
    scene.fill(store, scene.register(store), chunks)
    store.close()
    before = _run_xargs(place, chunks)
    used = run(
        [*RUNJOB, "--quiet", "--job", scene.JOB, "--drain", "-j", "2", PROGRAM],
        place.environment(address),
        place.folder,
    )
    seconds = (before + _run_xargs(place, chunks)) / 2
    check_all_done(address, chunks)
    name = f"RunJob --drain -j 2, {chunks} chunks of {PROGRAM}, sqlite"
    peer = f"xargs -P2 -n1 {PROGRAM}"
    yield Measurement(name, chunks / used.seconds, "chunks/s", peer, chunks / seconds, ">= 0.40")


def _run_xargs(place: Place, chunks: int) -> float:
    path = f"{place.folder}/arguments"
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{number}\n" for number in range(chunks))
    with open(path, "rb") as arguments:
        started = perf_counter()
        run(["xargs", "-P2", "-n1", PROGRAM], place.environment(), place.folder, arguments)
        return perf_counter() - started


def check_all_done(address: Address, chunks: int) -> None:
    """Refuse a measurement of work that was not done."""
    store = address.open()
    row = store.database.read(lambda tx: tx.find("bench.count_done"))
    store.close()
    if row is None or row[0] != chunks:
        raise DataFlowError(f"bench: of {chunks} chunks {row[0] if row else 0} are DONE after the drain.")
