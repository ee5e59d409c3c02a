"""A million chunks made ready at once: how long, how much memory, and how long others wait meanwhile."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from time import perf_counter

from benchmarks import scene
from benchmarks.commands import DATAFLOW, Command, Usage, peak_mb, run
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.errors import DataFlowError
from dataflow.model.records import Ending, Plan
from dataflow.model.status import RunOutcome
from dataflow.store.store import BULK_BATCH, Store

EVERY_SECONDS = 0.05


def measure(place: Place) -> Iterator[Measurement]:
    """The real commands on each kind of store, while this process claims, renews and finishes."""
    for address in place.stores("ready"):
        yield from _measure_one(place, address)


def _measure_one(place: Place, address: Address) -> Iterator[Measurement]:
    store = address.open()
    plan = scene.register(store)
    dataids = _write_dataids(place)
    floor = _floor(place, address, dataids)
    with open(dataids, "rb") as lines:
        command = Command(
            [*DATAFLOW, "ready", scene.SOURCE, "--file", "-"], place.environment(address), place.folder, lines
        )
        used, waits = _work_meanwhile(store, plan, command)
    _check_count(store, place.size)
    store.close()
    what = f"ready of {place.size:,} chunks, {address.kind}"
    plain = f"plain inserts of (dataid, sort_key), {'COPY' if address.kind == 'postgres' else 'executemany'}"
    yield Measurement(what, used.seconds, "s", plain, floor, "< 60 s")
    env = place.environment(address)
    own = peak_mb(os.getpid())
    yield Measurement(f"{what}: memory", used.peak_mb, "MB", "the benchmark itself", own, "< 300 MB")
    waits.sort()
    middle = waits[len(waits) // 2]
    wait = f"{what}: longest claim, renewal or finish meanwhile"
    yield Measurement(wait, waits[-1], "s", f"the median of {len(waits)}", middle, "< 1 s")
    status = run([*DATAFLOW, "status", "--json"], env, place.folder).seconds
    help_seconds = run([*DATAFLOW, "status", "--help"], env, place.folder).seconds
    name = f"status of {place.size:,} chunks, {address.kind}"
    yield Measurement(name, status, "s", "dataflow status --help", help_seconds, "< 1 s")


def _work_meanwhile(store: Store, plan: Plan, command: Command) -> tuple[Usage, list[float]]:
    """Claims, renews and finishes every few milliseconds until the command ends; gives each verb's time."""
    claimant = scene.make_claimant()
    waits: list[float] = []
    used = None
    while used is None:
        started = perf_counter()
        runs = store.claim(plan, scene.make_request(claimant)).runs
        claimed = perf_counter()
        store.renew(claimant.token, [run.run_id for run in runs])
        renewed = perf_counter()
        for claimed_run in runs:
            store.finish(plan, Ending(claimed_run, RunOutcome.DONE, 0))
        waits += [claimed - started, renewed - claimed, perf_counter() - renewed]
        time.sleep(EVERY_SECONDS)
        used = command.wait(block=False)
    return used, waits


def _write_dataids(place: Place) -> str:
    path = os.path.join(place.folder, "dataids")
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{scene.FIRST_DATAID + number}\n" for number in range(place.size))
    return path


def _check_count(store: Store, chunks: int) -> None:
    row = store.database.read(lambda tx: tx.find("bench.count_work"))
    if row is None or row[0] != chunks:
        raise DataFlowError(
            f"bench: {chunks} chunks were made ready, and there is work for {row and row[0]}."
        )


def _floor(place: Place, address: Address, dataids: str) -> float:
    """Seconds for the same dataids and sort keys put plainly into a table without index."""
    if address.kind == "sqlite":
        return _insert_plainly(os.path.join(place.folder, "floor.db"), dataids)
    psql = place.find_program("psql")
    if psql is None:
        place.say("bench: no psql here, so no floor for ready on PostgreSQL")
        return 0.0
    script = (
        "CREATE UNLOGGED TABLE plain_line (dataid text)",
        rf"\copy plain_line FROM '{dataids}'",
        "CREATE TABLE plain (dataid text, sort_key text)",
        "INSERT INTO plain SELECT dataid, '8' || dataid FROM plain_line",
        "DROP TABLE plain, plain_line",
    )
    arguments = [argument for line in script for argument in ("-c", line)]
    started = perf_counter()
    subprocess.run(
        [psql, "-X", "-q", "-v", "ON_ERROR_STOP=1", *arguments, address.url],
        env=place.environment(address),
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return perf_counter() - started


def _insert_plainly(path: str, dataids: str) -> float:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE plain (dataid text, sort_key text)")
    started = perf_counter()
    with open(dataids, encoding="ascii") as lines:
        while batch := [(line.rstrip(), "8" + line.rstrip()) for line in islice(lines, BULK_BATCH)]:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT INTO plain VALUES (?, ?)", batch)
            connection.execute("COMMIT")
    seconds = perf_counter() - started
    connection.close()
    return seconds
