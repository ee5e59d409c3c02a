"""Claim and finish on PostgreSQL by several processes, against pgbench sending the same statements."""

from __future__ import annotations

import multiprocessing
import os
import re
import subprocess
from collections.abc import Iterator
from time import perf_counter
from typing import Any

from benchmarks import scene
from benchmarks.measurement import Measurement
from benchmarks.place import NO_POSTGRES, Address, Place
from benchmarks.statements import write_script
from dataflow.errors import DataFlowError
from dataflow.model.records import Ending
from dataflow.model.status import RunOutcome
from dataflow.store.queries import Queries

WANTED = {1: ">= 0.5", 4: ">= 0.5", 16: ">= 0.4"}
ROUNDS = 3
ROUND_SECONDS = 3.0
WARM_UP_PAIRS = 10
CHUNKS = 300_000
"""Enough for every round; nobody may run out of work."""


def measure(place: Place) -> Iterator[Measurement]:
    """Both in turns, each on tables of its own, so that a busy moment hits both."""
    ours, theirs = place.postgres("pairs"), place.postgres("pgbench")
    pgbench = place.find_program("pgbench")
    if ours is None or theirs is None or pgbench is None:
        place.say(
            f"bench: skipped claim and finish on PostgreSQL: {NO_POSTGRES if pgbench else 'no pgbench here'}"
        )
        return
    for address in (ours, theirs):
        _fill(address, CHUNKS if place.is_full else 5000)
    script = _write_script(theirs, place.folder)
    rounds, seconds = (ROUNDS, ROUND_SECONDS) if place.is_full else (1, 1.0)
    for clients, wanted in WANTED.items():
        rates = [0.0, 0.0]
        for _ in range(rounds):
            rates[0] += run_clients(ours, clients, seconds) / rounds
            rates[1] += (
                _run_pgbench([pgbench, "-f", script], place.environment(theirs), clients, seconds) / rounds
            )
        name = f"claim + finish, postgres, {clients} client{'s' if clients > 1 else ''}"
        yield Measurement(name, rates[0], "pairs/s", "pgbench -M prepared, same statements", rates[1], wanted)


def run_clients(address: Address, clients: int, seconds: float) -> float:
    """Pairs per second of several processes that claim and finish for a while."""
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(clients), context.SimpleQueue()
    processes = [
        context.Process(target=_client, args=(address, seconds, barrier, answers), daemon=True)
        for _ in range(clients)
    ]
    for process in processes:
        process.start()
    rates: list[float] = []
    for process in processes:
        process.join()
        if process.exitcode:
            raise DataFlowError(f"bench: a client ended with {process.exitcode}; what it said stands above.")
        rates.append(answers.get())
    return sum(rates)


def _client(address: Address, seconds: float, barrier: Any, answers: Any) -> None:
    store = address.open()
    plan = store.find_plan(scene.JOB)
    assert plan is not None
    claimant = scene.make_claimant()
    pairs, started = -WARM_UP_PAIRS, 0.0
    while pairs <= 0 or perf_counter() - started < seconds:
        if pairs == 0:
            barrier.wait(120)
            started = perf_counter()
        run = store.claim(plan, scene.make_request(claimant)).runs[0]
        store.finish(plan, Ending(run, RunOutcome.DONE, 0))
        pairs += 1
    answers.put(pairs / (perf_counter() - started))


def _fill(address: Address, chunks: int) -> None:
    store = address.open()
    scene.fill(store, scene.register(store), chunks)
    store.count_rows()
    store.close()


def _write_script(address: Address, folder: str) -> str:
    from dataflow.store.postgres_words import WORDS

    store = address.open()
    plan = store.find_plan(scene.JOB)
    assert plan is not None
    path = os.path.join(folder, "pairs.sql")
    with open(path, "w", encoding="utf-8") as file:
        file.write(write_script(store, plan, Queries("postgres", WORDS)))
    store.close()
    return path


def _run_pgbench(command: list[str], env: dict[str, str], clients: int, seconds: float) -> float:
    counts = ["-c", str(clients), "-j", str(min(clients, os.cpu_count() or 1)), "-T", f"{seconds:.0f}"]
    url = env["DATAFLOW_STORE"]
    done = subprocess.run(
        [*command, "-n", "-M", "prepared", *counts, url], env=env, capture_output=True, text=True, check=False
    )
    rate = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    failed = re.search(r"failed transactions: (\d+)", done.stdout)
    if done.returncode or rate is None or (failed and failed[1] != "0"):
        raise DataFlowError(f"bench: pgbench failed: {done.stderr[-500:] or done.stdout[-500:]}")
    return float(rate[1])
