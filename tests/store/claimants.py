"""A process that claims and finishes until nothing is left, as RunJob --drain does, but runs nothing."""

from __future__ import annotations

import os
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier

from dataflow.model.records import Claimant, ClaimRequest, Ending
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store.opener import open_store

Claimed = tuple[str, str, int]
"""Which process, which dataid, which run."""


def claim_all(url: str, job: str, name: str, start: Barrier, given: Queue[list[Claimed]]) -> None:
    """Waits for the others, drains the job and reports what this process claimed and finished."""
    store = open_store(url, name)
    plan = store.find_plan(job)
    assert plan is not None
    claimant = Claimant(name, "etl1", "boot-1", os.getpid(), "etl", "dev")
    endings: list[Ending] = []
    done: list[Claimed] = []
    start.wait()
    while True:
        request = ClaimRequest(claimant, (os.urandom(8).hex(),), 300.0, 10.0)
        states, result = store.finish_and_claim(plan, endings, request)
        assert all(state is WorkState.DONE for state in states), states
        done += [(name, ending.run.dataid, ending.run.run_id) for ending in endings]
        endings = [Ending(run, RunOutcome.DONE) for run in result.runs]
        if not endings:
            given.put(done)
            return


def claim_in_pool(url: str, job: str, name: str, most: Queue[int]) -> None:
    """Does all work of a job, one at a time, and reports how many runs its pool had at most."""
    store = open_store(url, name)
    plan = store.find_plan(job)
    assert plan is not None
    claimant = Claimant(name, "etl1", "boot-1", os.getpid(), "etl", "dev")
    endings: list[Ending] = []
    seen = 0
    while set(store.read.count_work_by_state(plan.job_id)) != {WorkState.DONE}:
        request = ClaimRequest(claimant, (os.urandom(8).hex(),), 300.0, 10.0)
        _, result = store.finish_and_claim(plan, endings, request)
        endings = [Ending(run, RunOutcome.DONE) for run in result.runs]
        seen = max(seen, len(store.read.list_pool_uses(plan.job.pool)))
    most.put(seen)
