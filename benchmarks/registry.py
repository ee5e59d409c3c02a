"""What a large registry costs: apply, job add, RunJob's start, a chunk that many jobs read, doctor."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from time import perf_counter

from benchmarks import scene
from benchmarks.commands import DATAFLOW, RUNJOB, run
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.config.declarations import write_declarations
from dataflow.model.records import Dataset, Ending, Job, JobInput
from dataflow.model.status import RunOutcome

ROUNDS = 5
FEW = 10
"""Datasets of the small registry."""
DATAID = "2026-01-01"
READ_BY_MANY = "data_0"
WANTED_RATIO = "<= 1.3"


@dataclass(frozen=True, slots=True)
class Registry:
    """A store with some datasets, half as many jobs in chains, and one dataset that many jobs read."""

    place: Place
    address: Address
    datasets: int

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return self.datasets // 2

    @property
    def readers(self) -> int:
        """How many jobs read the dataset that is read by many."""
        return self.datasets // 10

    def declare(self) -> str:
        """Writes the declarations to a file and returns its path."""
        spare = [Dataset(f"spare_{number}") for number in range(ROUNDS)]
        datasets = [Dataset(f"data_{number}", grain="daily") for number in range(self.datasets)]
        jobs = []
        for number in range(self.jobs):
            source = READ_BY_MANY if number < self.readers else f"data_{number}"
            jobs.append(Job(f"job_{number}", (JobInput(source),), (f"data_{number + self.readers}",)))
        path = os.path.join(self.place.folder, f"{self.datasets}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(write_declarations([*datasets, *spare], jobs))
        return path

    def time(self, *command: str) -> float:
        """Seconds that the dataflow command takes."""
        return self._run([*DATAFLOW, *command])

    def add_job(self, number: int) -> float:
        """Seconds to register one more job, at the end of a chain."""
        return self.time(
            "job", "add", f"added_{number}", "--in", f"data_{self.jobs}", "--out", f"spare_{number}"
        )

    def start(self) -> float:
        """Seconds that RunJob takes for a script that does nothing."""
        return self._run([*RUNJOB, f"./{scene.JOB}.sh"])

    def republish(self) -> float:
        """Seconds to publish again the chunk that many jobs have read."""
        return self.time("ready", READ_BY_MANY, DATAID, "--again")

    def do_readers_work(self) -> None:
        """Publishes the chunk and finishes the work of all of its readers."""
        self.time("ready", READ_BY_MANY, DATAID)
        store, claimant = self.address.open(), scene.make_claimant()
        for number in range(self.readers):
            plan = store.find_plan(f"job_{number}")
            assert plan is not None
            (claimed,) = store.claim(plan, scene.make_request(claimant)).runs
            store.finish(plan, Ending(claimed, RunOutcome.DONE, 0))
        store.close()

    def _run(self, command: list[str]) -> float:
        return run(command, self.place.environment(self.address), self.place.folder).seconds


def measure(place: Place) -> Iterator[Measurement]:
    """10,000 datasets and 5,000 jobs against a registry of 15, in turns."""
    script = os.path.join(place.folder, f"{scene.JOB}.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n")
    os.chmod(script, 0o755)
    larges, smalls = place.stores("registry"), place.stores("few")
    for large, small in zip(larges, smalls, strict=True):
        datasets = max(place.size // 100, FEW)
        rounds = range(ROUNDS if place.is_full else 1)
        yield from _compare(Registry(place, large, datasets), Registry(place, small, FEW), rounds)


def _compare(large: Registry, small: Registry, rounds: range) -> Iterator[Measurement]:
    kind, size = large.address.kind, f"{large.datasets + large.jobs:,} datasets and jobs"
    for registry in (large, small):
        registry.address.open().close()  # makes the tables
    path = large.declare()
    started = perf_counter()
    with open(path, "rb") as file:
        tomllib.load(file)
    parsing = perf_counter() - started
    applying = large.time("apply", "--yes", path)
    yield Measurement(f"apply of {size}, {kind}", applying, "s", "parsing the file", parsing, "< 20 s")
    small.time("apply", "--yes", small.declare())
    for registry in (large, small):
        store = registry.address.open()
        scene.fill(store, scene.register(store), len(rounds))
        store.close()
    few = f"with {small.datasets + small.jobs}"
    pairs = [(large.add_job(number), small.add_job(number)) for number in rounds]
    yield _measurement(f"job add with {size}, {kind}", few, pairs, WANTED_RATIO)
    pairs = [(large.start(), small.start()) for _ in rounds]
    yield _measurement(f"RunJob with {size}, {kind}", few, pairs, WANTED_RATIO)
    for registry in (large, small):
        registry.do_readers_work()
    pairs = [(large.republish(), small.republish())]  # only the first has work to do again
    name = f"ready --again of a chunk that {large.readers:,} jobs have read, {kind}"
    yield _measurement(name, "read by 1 job", pairs, "< 1 s")
    pairs = [(large.time("doctor"), small.time("doctor"))]
    yield _measurement(f"doctor with {size}, {kind}", few, pairs, "< 10 s")


def _measurement(name: str, peer: str, pairs: list[tuple[float, float]], wanted: str) -> Measurement:
    large, small = (median(seconds) for seconds in zip(*pairs, strict=True))
    return Measurement(name, large, "s", peer, small, wanted)
