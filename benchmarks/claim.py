"""What a claim costs among a million chunks, against a thousand: pages touched and time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter

from benchmarks import scene
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.model.records import Ending, Plan, Run
from dataflow.model.status import RunOutcome
from dataflow.store.store import Store

SMALL = 1000
ROUNDS = 40
CLAIMS = 10
"""Claims a round: all the claimable work of the small store that is 99 % done."""

WANTED = "<= 1.3"


@dataclass(frozen=True, slots=True)
class Mix:
    """How the chunks of a store stand: shares that are done and that are backed off, the rest claimable."""

    name: str
    done: float = 0.0
    backed_off: float = 0.0


MIXES = (Mix("all claimable"), Mix("99 % done", done=0.99), Mix("10 % backed off", backed_off=0.1))


@dataclass(frozen=True, slots=True)
class Sample:
    """A store of one size and what its claims cost."""

    store: Store
    plan: Plan
    pages: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def take(self) -> None:
        """Claims a few works, noting pages and time, and hands them back: the store stays as it was."""
        claimant = scene.make_claimant()
        runs: list[Run] = []
        before = self.store.database.count_pages()
        for _ in range(CLAIMS):
            request = scene.make_request(claimant)
            started = perf_counter()
            claimed = self.store.claim(self.plan, request)
            self.seconds.append(perf_counter() - started)
            runs += claimed.runs
        self.pages.append((self.store.database.count_pages() - before) / CLAIMS)
        assert len(runs) == CLAIMS
        for run in runs:
            self.store.finish(self.plan, Ending(run, RunOutcome.INTERRUPTED))


def measure(place: Place) -> Iterator[Measurement]:
    """Small and large in turns, so that a busy moment hits both."""
    for number, mix in enumerate(MIXES):
        smalls, larges = place.stores(f"small_{number}"), place.stores(f"large_{number}")
        for small, large in zip(smalls, larges, strict=True):
            samples = _make(small, mix, SMALL), _make(large, mix, max(place.size, SMALL))
            for _ in range(ROUNDS if place.is_full else 5):
                for sample in samples:
                    sample.take()
            yield from _compare(mix, *samples, large.kind)


def _make(address: Address, mix: Mix, chunks: int) -> Sample:
    store = address.open()
    plan = scene.register(store)
    scene.fill(store, plan, chunks, round(chunks * mix.done), round(chunks * mix.backed_off))
    store.count_rows()
    return Sample(store, plan)


def _compare(mix: Mix, small: Sample, large: Sample, kind: str) -> Iterator[Measurement]:
    row = large.store.database.read(lambda tx: tx.find("bench.count_work"))
    name = f"claim among {row[0] if row else 0:,} chunks, {mix.name}, {kind}"
    peer = f"{SMALL:,} chunks, {mix.name}"
    yield Measurement(f"{name}: pages", median(large.pages), "pages", peer, median(small.pages), WANTED)
    milliseconds = [1000 * median(sample.seconds) for sample in (large, small)]
    yield Measurement(f"{name}: time", milliseconds[0], "ms", peer, milliseconds[1], WANTED)
    for sample in (small, large):
        sample.store.close()
