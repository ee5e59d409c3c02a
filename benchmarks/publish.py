"""A publish that touches one work among a thousand that wait and among a million, of a day and of a year."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter

from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.actions.make_ready import make_ready
from dataflow.actions.register import add_dataset, add_job
from dataflow.model.grain import Grain
from dataflow.model.nesting import parts_of
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.store.store import Store

FEW = 1000
ROUNDS = 40
WANTED = "<= 1.3"


def measure(place: Place) -> Iterator[Measurement]:
    """Chunks of a second input that each let one waiting work begin, and hours that complete nothing."""
    for address in place.stores("publish"):
        yield from _measure_one(place, address)


def _measure_one(place: Place, address: Address) -> Iterator[Measurement]:
    store = address.open()
    add_dataset(store, Dataset("first", grain="sequence"))
    add_dataset(store, Dataset("second", grain="sequence"))
    add_job(store, Job("both", (JobInput("first"), JobInput("second"))))
    few, size = min(FEW, place.size // 2), place.size
    make_ready(store, "first", map(str, range(few)))
    little = _time(store, "second", [str(number) for number in range(ROUNDS)])
    make_ready(store, "first", map(str, range(few, size)))
    much = _time(store, "second", [str(size - number - 1) for number in range(ROUNDS)])
    what = f"publish that touches one of {size:,} waiting works, {address.kind}"
    yield Measurement(what, much, "s", f"one of {few:,}", little, WANTED)
    yield _measure_within(store, address)
    store.close()


def _measure_within(store: Store, address: Address) -> Measurement:
    add_dataset(store, Dataset("hours", grain="hourly"))
    for name, grain in (("days", "daily"), ("years", "yearly")):
        add_dataset(store, Dataset(name, grain=grain))
    add_job(store, Job("by_day", (JobInput("hours", "within"),), ("days",)))
    hours = parts_of("2023", Grain.YEARLY, Grain.HOURLY, "UTC")
    of_days = _time(store, "hours", hours[:ROUNDS])
    add_dataset(store, Dataset("ticks", grain="hourly"))
    add_job(store, Job("by_year", (JobInput("ticks", "within"),), ("years",)))
    ticks = parts_of("2024", Grain.YEARLY, Grain.HOURLY, "UTC")
    make_ready(store, "ticks", ticks[:-ROUNDS])
    of_year = _time(store, "ticks", ticks[-ROUNDS:])
    what = f"publish of an hour of a year that is made from {len(ticks):,}, {address.kind}"
    return Measurement(what, of_year, "s", "an hour of a day", of_days, WANTED)


def _time(store: Store, dataset: str, dataids: Sequence[str]) -> float:
    """Seconds that one chunk takes to become ready, the least of some: others use the machine too."""
    store.count_rows()
    seconds = []
    for dataid in dataids:
        started = perf_counter()
        make_ready(store, dataset, [dataid])
        seconds.append(perf_counter() - started)
    return min(seconds)
