"""What a long history costs: finding runs and journal entries in it, deleting it, and claims meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from statistics import median
from time import perf_counter

from benchmarks import scene
from benchmarks.commands import DATAFLOW, Command, run
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.model.records import Ending, Plan
from dataflow.model.status import RunOutcome
from dataflow.store.store import Store

ATTEMPTS = 20
"""Runs of each work."""
CLAIMABLE = 100
CLAIMS = 100
"""Claims before the purge."""
EVERY_SECONDS = 0.05
"""Between two claims: the other users of the store get their turn."""
ROUNDS = 5


def measure(place: Place) -> Iterator[Measurement]:
    """Twice as many runs as --size, each with two journal entries, on each kind of store."""
    for address in place.stores("history"):
        yield from _measure_one(place, address)


def _measure_one(place: Place, address: Address) -> Iterator[Measurement]:
    store = address.open()
    plan = scene.register(store)
    works = max(2 * place.size // ATTEMPTS, 1)
    started = perf_counter()
    _fill(store, plan, works)
    filling = perf_counter() - started
    runs = works * ATTEMPTS
    env = place.environment(address)
    rounds = range(ROUNDS if place.is_full else 1)
    newest = median(run([*DATAFLOW, "runs", "--limit", "1"], env, place.folder).seconds for _ in rounds)
    for words in _reads(store, works):
        seconds = median(run([*DATAFLOW, *words], env, place.folder).seconds for _ in rounds)
        name = f"{' '.join(words[:2])} in {runs:,} runs of history, {address.kind}"
        yield Measurement(name, seconds, "s", "dataflow runs --limit 1", newest, "< 1 s")
    before = [_claim(store, plan) for _ in range(CLAIMS if place.is_full else 10)]
    command = Command([*DATAFLOW, "purge", "--older-than", "1d", "--yes"], env, place.folder)
    meanwhile, used = [], None
    while used is None:
        meanwhile.append(_claim(store, plan))
        used = command.wait(block=False)
    _check_purged(store, works)
    store.close()
    name = f"purge of {3 * runs:,} rows, {address.kind}"
    # What it took on PostgreSQL before it had batches.
    yield Measurement(name, used.seconds, "s", "inserting them", filling, "< 247 s")
    name += ": claim meanwhile, median"
    times = [1000 * median(seconds) for seconds in (meanwhile, before)]
    yield Measurement(name, times[0], "ms", "before", times[1], "<= 1.5")


def _fill(store: Store, plan: Plan, works: int) -> None:
    """Works that are done, each after 20 old runs, and some that can be claimed."""
    scene.fill(store, plan, works + CLAIMABLE, done=works)
    store.database.write(lambda tx: tx.run("bench.fill_old_runs", job_id=plan.job_id, attempts=ATTEMPTS))
    store.database.write(lambda tx: tx.run("bench.fill_old_pins", dataset_id=plan.inputs[0].dataset_id))
    store.database.write(lambda tx: tx.run("bench.fill_old_journal"))
    store.count_rows()


def _reads(store: Store, works: int) -> list[tuple[str, str, str]]:
    """The commands with a dataid, a run and a rare outcome from the middle of the history."""
    dataid = str(scene.FIRST_DATAID + works // 2)
    run_id = store.read.list_runs(1, dataid=dataid)[0].run_id
    return [
        ("runs", "--dataid", dataid),
        ("runs", "--outcome", "INVALID"),
        ("journal", "--run", str(run_id)),
        ("journal", "--dataid", dataid),
    ]


def _claim(store: Store, plan: Plan) -> float:
    """Seconds of one claim, after a pause; the work is handed back."""
    time.sleep(EVERY_SECONDS)
    request = scene.make_request(scene.make_claimant())
    started = perf_counter()
    claimed = store.claim(plan, request).runs[0]
    seconds = perf_counter() - started
    store.finish(plan, Ending(claimed, RunOutcome.INTERRUPTED))
    return seconds


def _check_purged(store: Store, works: int) -> None:
    row = store.database.read(lambda tx: tx.find("bench.count_old_runs"))
    assert row is not None and row[0] == 0, f"{row} of {works * ATTEMPTS} old runs are left"
