"""What one RunJob costs: the CPU time of a script that does nothing, against a bare interpreter's."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from statistics import median

from benchmarks import scene
from benchmarks.commands import RUNJOB, run
from benchmarks.measurement import Measurement
from benchmarks.place import Place

ROUNDS = 15


def measure(place: Place) -> Iterator[Measurement]:
    """RunJob and `python -c pass` in turns, so that a busy moment hits both."""
    rounds = ROUNDS if place.is_full else 3
    address = place.sqlite("startup")
    store = address.open()
    plan = scene.register(store)
    scene.fill(store, plan, rounds + 1)
    store.close()
    script = os.path.join(place.folder, f"{scene.JOB}.sh")
    with open(script, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\n")
    os.chmod(script, 0o755)
    env = place.environment(address)
    run([*RUNJOB, script], env, place.folder)  # fills the caches of files and of compiled modules
    ours, bare = [], []
    for _ in range(rounds):
        ours.append(run([*RUNJOB, script], env, place.folder).cpu_seconds)
        bare.append(run([sys.executable, "-c", "pass"], env, place.folder).cpu_seconds)
    name = "RunJob of a script that does nothing"
    yield Measurement(name, median(ours) * 1000, "ms CPU", "python -c pass", median(bare) * 1000, "<= 6.2")
