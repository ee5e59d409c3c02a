"""The handoff: dead claimants, earlier runs and lost leases, for RunJob and Python alike."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dataflow.cli.context import Context
from dataflow.errors import LeaseLost
from dataflow.model.records import Ending
from dataflow.model.status import RunOutcome
from dataflow.runjob.handoff import Handoff
from dataflow.runjob.processes import TOKEN_VARIABLE, boottime
from dataflow.runjob.request import JobRequest
from dataflow.store.leases import FEW_RUNS
from tests.store.world import World, make_claimant, open_sqlite


def make_handoff(world: World, folder: Path, force: bool = False) -> Handoff:
    environ = {"DATAFLOW_LOCK_DIR": str(folder / "locks")}
    caller = Context(f"sqlite:///{folder}/dataflow.db", environ, str(folder))
    request = JobRequest(caller.config, {}, "to_clean", ("true",), force=force)
    return Handoff(request, caller, world.plan("to_clean"), make_claimant("beef"))


def test_a_claim_ends_what_a_dead_claimant_left_and_removes_its_lock(tmp_path: Path) -> None:
    world = open_sqlite(str(tmp_path / "dataflow.db"))
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.take("to_clean", claimant="dead")
    lock = tmp_path / "locks" / "dead.lock"
    lock.parent.mkdir()
    lock.touch()
    environ = {name: value for name, value in os.environ.items() if name != "DATAFLOW_RUN_ID"}
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    left = subprocess.Popen(command, env={**environ, TOKEN_VARIABLE: "dead-1"})
    try:
        exchange = make_handoff(world, tmp_path).take()
        assert left.wait(30) < 0
        assert not lock.exists()
        assert [run.dataid for run in exchange.runs] == ["1"]
    finally:
        left.kill()
        left.wait()
        world.close()


def test_the_lock_of_a_dead_claimant_stays_while_it_holds_runs_of_another_job(tmp_path: Path) -> None:
    world = open_sqlite(str(tmp_path / "dataflow.db"))
    world.chain("raw", "clean")
    world.job("read_raw", ["raw"])
    world.ready("raw", "1")
    for job in ("to_clean", "read_raw"):
        world.take(job, claimant="dead")
    lock = tmp_path / "locks" / "dead.lock"
    lock.parent.mkdir()
    lock.touch()
    assert [run.dataid for run in make_handoff(world, tmp_path).take().runs] == ["1"]
    assert lock.exists()
    world.close()


def test_an_ending_that_is_not_accepted_raises(tmp_path: Path) -> None:
    world = open_sqlite(str(tmp_path / "dataflow.db"))
    world.chain("raw", "clean")
    world.ready("raw", "1")
    handoff = make_handoff(world, tmp_path)
    [run] = handoff.take().runs
    world.cancel(run)
    with pytest.raises(LeaseLost):
        handoff.finish(Ending(run, RunOutcome.DONE))
    world.close()


def test_the_one_cancelled_run_that_still_works_is_ended(tmp_path: Path) -> None:
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
        handoff = make_handoff(world, tmp_path, force=True)
        assert handoff.begin(run, boottime()).ending is None
        assert left.wait(30) < 0
        assert other.poll() is None
    finally:
        for process in (left, other):
            process.kill()
            process.wait()
        world.close()
