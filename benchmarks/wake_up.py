"""How soon an idle worker starts work that appears: from the publication to the script."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from statistics import median

from benchmarks import scene
from benchmarks.commands import DATAFLOW
from benchmarks.measurement import Measurement
from benchmarks.place import Address, Place
from dataflow.actions.make_ready import make_ready
from dataflow.errors import DataFlowError

SAMPLES, FEWEST = 120, 3
LONGEST_PAUSE_SECONDS = 0.3
"""Chunks come at any moment of the worker's wait."""
LONGEST_WAIT_SECONDS = 30.0
POLL_SECONDS = 0.001
SCRIPT = '#!/bin/sh\n: > "woken.$dataid"\n'


def measure(place: Place) -> Iterator[Measurement]:
    """On each kind of store; the peer is the median."""
    samples = SAMPLES if place.is_full else min(SAMPLES, max(FEWEST, place.size // 10))
    for address in place.stores("wake_up"):
        seconds = sorted(_wake(place, address, samples))
        percentile = seconds[min(len(seconds) - 1, int(len(seconds) * 0.99))]
        name = f"wake-up of an idle worker, 99th percentile of {samples} chunks, {address.kind}"
        yield Measurement(name, percentile, "s", "median", median(seconds), "< 1 s")


def _wake(place: Place, address: Address, samples: int) -> list[float]:
    """Start a worker and publish chunks one after the other; return how long each waited for its script."""
    folder = os.path.join(place.folder, f"wake_up_{address.kind}")
    os.mkdir(folder)
    script = os.path.join(folder, "wake.sh")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SCRIPT)
    os.chmod(script, 0o755)
    with open(os.path.join(folder, "dataflow.toml"), "w", encoding="utf-8") as file:
        file.write(f'[job.{scene.JOB}]\ncommand = "./wake.sh"\n')
    store = address.open()
    scene.register(store)
    argv = [*DATAFLOW, "worker", "--quiet", "-j", "2"]
    worker = subprocess.Popen(argv, env=place.environment(address), cwd=folder)
    try:
        found = []
        for number in range(samples + 1):
            time.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))
            began_at = time.perf_counter()
            make_ready(store, scene.SOURCE, [str(number)])
            _wait_for(os.path.join(folder, f"woken.{number}"), worker)
            found.append(time.perf_counter() - began_at)
        return found[1:]  # the first one includes the start of the worker
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait()
        store.close()


def _wait_for(path: str, worker: subprocess.Popen[bytes]) -> None:
    until = time.perf_counter() + LONGEST_WAIT_SECONDS
    while not os.path.exists(path):
        if worker.poll() is not None or time.perf_counter() > until:
            raise DataFlowError("The worker did not start its work.")
        time.sleep(POLL_SECONDS)
