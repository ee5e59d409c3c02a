"""What is measured: a job that reads one dataset and produces another, and a claimant of its work."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from dataflow.model.records import Claimant, ClaimRequest, Dataset, Job, JobInput, Plan
from dataflow.store import entries
from dataflow.store.store import Store

if TYPE_CHECKING:
    from dataflow.store.database import Transaction

SOURCE = "bench_in"
TARGET = "bench_out"
JOB = "bench"
FIRST_DATAID = 10_000_000
"""Dataids of eight digits: their order as texts is their order as numbers."""


def register(store: Store) -> Plan:
    """Registers the two datasets and the job between them."""

    def verb(tx: Transaction) -> None:
        for name in (SOURCE, TARGET):
            entries.write_dataset(tx, Dataset(name))
        inputs = (JobInput(SOURCE),)
        job = Job(JOB, inputs, (TARGET,))
        entries.write_entries(tx, [], [entries.JobEntry(job, inputs, "text", "UTC")])

    store.register(verb)
    plan = store.find_plan(JOB)
    assert plan is not None
    return plan


def fill(store: Store, plan: Plan, chunks: int, done: int = 0, backed_off: int = 0) -> None:
    """Publishes chunks with their work: first the done, then those that wait an hour, then the claimable."""
    where = {"job_id": plan.job_id, "dataset_id": plan.inputs[0].dataset_id}
    states = {
        "first_open": str(FIRST_DATAID + done),
        "first_claimable": str(FIRST_DATAID + done + backed_off),
    }

    def verb(tx: Transaction) -> None:
        tx.run("bench.fill_chunks", dataset_id=where["dataset_id"], chunks=chunks)
        tx.run("bench.fill_work", **where, **states)
        tx.run("bench.fill_work_inputs", job_id=plan.job_id)
        if done:
            tx.run("bench.fill_runs", job_id=plan.job_id)
            tx.run("bench.fill_journal", job_id=plan.job_id)
            tx.run("bench.fill_pins", **where)
            tx.run("bench.fill_outputs", job_id=plan.job_id, dataset_id=plan.outputs[0].dataset_id)

    store.database.write(verb)


def fill_mixed(store: Store, plan: Plan, chunks: int) -> None:
    """Publishes chunks with work in all states, evenly mixed, and what has been made of it."""
    where = {"job_id": plan.job_id, "dataset_id": plan.inputs[0].dataset_id}

    def verb(tx: Transaction) -> None:
        tx.run("bench.fill_chunks", dataset_id=where["dataset_id"], chunks=chunks)
        tx.run("bench.fill_mixed_work", **where)
        tx.run("bench.fill_mixed_chunks", job_id=plan.job_id, dataset_id=plan.outputs[0].dataset_id)

    store.database.write(verb)


def make_claimant() -> Claimant:
    """A claimant that stands for this process."""
    return Claimant(os.urandom(8).hex(), "bench", "bench", os.getpid(), "bench", "bench")


def make_request(claimant: Claimant) -> ClaimRequest:
    """A request for one run."""
    return ClaimRequest(claimant, (os.urandom(8).hex(),), 300.0, 10.0)
