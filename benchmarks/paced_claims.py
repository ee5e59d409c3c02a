"""Claims work at a steady rate and hands it back; run as a process of its own. Says how many a second."""

from __future__ import annotations

import json
import sys
from time import perf_counter, sleep

from benchmarks import scene
from benchmarks.place import Address
from dataflow.model.records import Ending
from dataflow.model.status import RunOutcome

RATE = 100


def main() -> None:
    """`paced_claims ADDRESS SECONDS`: the address as JSON."""
    address, seconds = Address(**json.loads(sys.argv[1])), float(sys.argv[2])
    store = address.open()
    plan = store.find_plan(scene.JOB)
    assert plan is not None
    claimant = scene.make_claimant()
    started, claims = perf_counter(), 0
    while (now := perf_counter() - started) < seconds:
        if claims > now * RATE:
            sleep(claims / RATE - now)
        for run in store.claim(plan, scene.make_request(claimant)).runs:
            store.finish(plan, Ending(run, RunOutcome.INTERRUPTED))
        claims += 1
    print(claims / (perf_counter() - started))


if __name__ == "__main__":
    main()
