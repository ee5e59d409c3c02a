"""What an idle worker costs, and how soon another takes over from one that was killed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator

from benchmarks import scene
from benchmarks.commands import DATAFLOW
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.errors import DataFlowError

SETTLE_SECONDS = 3.0
IDLE_SECONDS = 20.0
LIMIT_SECONDS = 60.0
SLEEPS = '#!/bin/sh\nif test -e "$0.again"; then exit 0; fi\ntouch "$0.began"\nexec sleep 60\n'


def measure(place: Place) -> Iterator[Measurement]:
    """On each kind of store."""
    for address in place.stores("idle"):
        store = address.open()
        scene.fill(store, scene.register(store), 1)
        store.close()
        script = os.path.join(place.folder, f"sleeps_{address.kind}")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SLEEPS)
        os.chmod(script, 0o755)
        project = os.path.join(place.folder, "dataflow.toml")
        with open(project, "w", encoding="utf-8") as file:
            file.write(f'[job.{scene.JOB}]\ncommand = "{script}"\n')
        try:
            yield _measure_death(place, address, script)
            yield _measure_idle(place, address)
        finally:
            os.unlink(project)


def _measure_death(place: Place, address: Address, script: str) -> Measurement:
    """Kill a worker at work, and wait until another on this machine has done its work."""
    first, second = _start(place, address), None
    try:
        _wait(lambda: os.path.exists(f"{script}.began"))
        second = _start(place, address)
        time.sleep(SETTLE_SECONDS)
        open(f"{script}.again", "w", encoding="utf-8").close()
        began_at = time.perf_counter()
        first.kill()
        _wait(lambda: _is_done(address))
        seconds = time.perf_counter() - began_at
    finally:
        for worker in (first, second):
            _end(worker)
    name = f"work of a killed worker done by another on its host, {address.kind}"
    return Measurement(name, seconds, "s", "none", 0.0, "< 2 s")


def _measure_idle(place: Place, address: Address) -> Measurement:
    """Count the processor time of a worker and its guards without any work."""
    worker = _start(place, address)
    idle_seconds = IDLE_SECONDS if place.is_full else SETTLE_SECONDS
    try:
        time.sleep(SETTLE_SECONDS)
        before = _cpu_seconds(worker.pid)
        time.sleep(idle_seconds)
        used = _cpu_seconds(worker.pid) - before
    finally:
        _end(worker)
    name = f"idle worker, {idle_seconds:.0f} s, {address.kind}"
    return Measurement(name, 100 * used / idle_seconds, "%", "a core", 100.0, "< 1 %")


def _start(place: Place, address: Address) -> subprocess.Popen[bytes]:
    with open(os.path.join(place.folder, "said"), "ab") as said:
        return subprocess.Popen(
            [*DATAFLOW, "worker", "-j", "2"],
            env=place.environment(address),
            cwd=place.folder,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
        )


def _end(worker: subprocess.Popen[bytes] | None) -> None:
    if worker is not None:
        worker.send_signal(signal.SIGTERM)
        worker.wait(LIMIT_SECONDS)


def _is_done(address: Address) -> bool:
    store = address.open()
    try:
        row = store.database.read(lambda tx: tx.find("bench.count_done"))
        return row is not None and row[0] == 1
    finally:
        store.close()


def _wait(condition: Callable[[], bool]) -> None:
    until = time.monotonic() + LIMIT_SECONDS
    while not condition():
        if time.monotonic() > until:
            raise DataFlowError("bench: a worker did not do its work")
        time.sleep(0.01)


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children; in nanoseconds, as an idle one uses few ticks."""
    used = 0.0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat", encoding="ascii") as stat:
            used += int(stat.read().split()[0]) / 1e9
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
        return used + sum(_cpu_seconds(int(child)) for child in children.read().split())
