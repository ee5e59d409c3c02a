"""What a run that lost its work has left on this machine is ended, however many such runs there were."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dataflow.cli.context import Context
from dataflow.runjob.handoff import Handoff
from dataflow.runjob.processes import TOKEN_VARIABLE, boottime
from dataflow.runjob.request import JobRequest
from dataflow.store.leases import FEW_RUNS
from tests.store.world import make_claimant, open_sqlite


def test_of_many_cancelled_runs_the_one_that_still_works_is_ended(tmp_path: Path) -> None:
    world = open_sqlite(str(tmp_path / "dataflow.db"))
    world.chain("raw", "clean")
    world.dataset("clean", mode="snapshot", location="/data/clean")
    world.ready("raw", *map(str, range(FEW_RUNS + 2)))
    revoked = []
    for _ in range(FEW_RUNS + 1):
        revoked.append(world.take("to_clean", claimant="earlier"))
        world.cancel(revoked[-1])
        world.store.acknowledge(revoked[-1].run_id, "earlier")
    run = world.take("to_clean")
    left, other = (
        subprocess.Popen(
            [sys.executable, "-c", "import time; time.sleep(600)"],
            env={**os.environ, TOKEN_VARIABLE: "earlier-1", "DATAFLOW_RUN_ID": str(run_id)},
        )
        for run_id in (revoked[7].run_id, run.run_id + 1)
    )
    try:
        caller = Context(f"sqlite:///{tmp_path}/dataflow.db", {}, str(tmp_path))
        request = JobRequest(caller.config, {}, "to_clean", ("true",), force=True)
        handoff = Handoff(request, caller, world.plan("to_clean"), make_claimant())
        assert handoff.begin(run, boottime()).ending is None
        assert left.wait(30) < 0
        assert other.poll() is None
    finally:
        for process in (left, other):
            process.kill()
            process.wait()
        world.close()
