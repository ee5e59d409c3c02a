"""Frequent queries cost the same however long the history is: counted in pages, never in time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import apsw
import pytest

from benchmarks.statements import RecordingDatabase
from dataflow.actions.register import add_job
from dataflow.model.record import replace
from dataflow.model.records import Dataset, Job, JobInput, Plan
from dataflow.store import entries
from dataflow.store.leases import FEW_RUNS, Taken
from tests.store.world import STAGED, World

if TYPE_CHECKING:
    from dataflow.store.database import Transaction

HISTORY = 20_000
"""Runs of history: read one by one they would be thousands of pages."""

TRIES = 8

FEW_PAGES = 60
"""What deeper trees and larger answers may cost."""


def add_runs(world: World, plan: Plan, outcome: str) -> None:
    """Insert old ended runs with two journal entries each, faster than the verbs could."""
    now = "now_at()" if world.clock else "now()"
    clock = "boot_id()" if world.clock else "'postgres'"
    fields = {
        **{"work_id": "-i", "job_id": plan.job_id, "job": f"'{plan.job.name}'", "dataid": "'old ' || i"},
        **{
            "attempt": 1,
            "token": "'old ' || i",
            "claimant": "'gone'",
            "host": "'etl1'",
            "boot_id": "'boot-1'",
        },
        **{"pid": 1, "user_name": "'etl'", "environment": "'dev'", "started_at": now, "lease_seconds": 300},
        **{
            "grace_seconds": 10,
            "lease_until": 0,
            "clock_id": clock,
            "ended_at": now,
            "outcome": f"'{outcome}'",
        },
    }
    world.poke(
        f"WITH RECURSIVE number (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM number WHERE i < {HISTORY}) "
        f"INSERT INTO run ({', '.join(fields)}) SELECT {', '.join(map(str, fields.values()))} FROM number"
    )
    world.poke(
        "INSERT INTO journal (at, actor, action, job, dataid, run_id) "
        f"SELECT {now}, 'op@desk', 'claim', job, dataid, run_id FROM run WHERE claimant = 'gone'"
    )
    world.store.count_rows()


def pages_of(world: World, act: Callable[[], object]) -> int:
    """The fewest pages that an action touches; sometimes PostgreSQL's own housekeeping is counted too."""
    if world.clock is None:
        world.poke("VACUUM ANALYZE")  # rows deleted by earlier tests are read until then
    counts = []
    for _ in range(TRIES):
        before = world.store.database.count_pages()
        act()
        counts.append(world.store.database.count_pages() - before)
    return min(counts)


@pytest.mark.parametrize("limit", [1, 3])
def test_a_claim_of_a_limited_job_does_not_read_earlier_cancelled_runs(world: World, limit: int) -> None:
    world.chain("raw", "clean", max_running=limit)
    world.ready("raw", *map(str, range(20)))

    def claim() -> None:
        world.finish(world.take("to_clean"))

    before = pages_of(world, claim)
    add_runs(world, world.plan("to_clean"), "CANCELLED")
    assert pages_of(world, claim) <= before + FEW_PAGES


def test_readers_and_writers_of_a_chunk_are_found_without_reading_earlier_cancelled_runs(
    world: World,
) -> None:
    world.chain("raw", "clean")
    world.dataset("clean", location="/data/{dataid}")
    world.job("to_report", ["clean"])
    world.ready("raw", *map(str, range(20)))
    world.drain("to_clean")

    def do_again() -> None:
        world.resubmit("to_clean", "7")
        world.do("to_clean", "7")

    before = pages_of(world, do_again)
    add_runs(world, world.plan("to_report"), "CANCELLED")
    assert pages_of(world, do_again) <= before + FEW_PAGES


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("host", ["etl1", "etl2"])
def test_leftovers_of_runs_are_found_without_reading_all_lost_runs(
    world: World, alone: bool, host: str
) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    world.cancel(world.take("to_clean"))
    run = world.take("to_clean")

    def ask() -> None:
        taken = Taken(run.run_id, run.job_id, run.work_id, host, "boot-1", alone)
        world.store.list_taken(taken, lambda: {run.run_id - 1})

    before = pages_of(world, ask)
    add_runs(world, world.plan("to_clean"), "CANCELLED")
    run = replace(run, run_id=run.run_id + HISTORY + 1)
    assert pages_of(world, ask) <= before + 6 * FEW_RUNS  # each of the few is looked up


QUESTIONS: dict[str, Callable[[World], object]] = {
    "runs --dataid": lambda w: w.store.read.list_runs(50, dataid="7"),
    "runs --dataid --job": lambda w: w.store.read.list_runs(50, "to_clean", dataid="7"),
    "runs --outcome": lambda w: w.store.read.list_runs(50, outcome="INVALID"),
    "runs --outcome RUNNING": lambda w: w.store.read.list_runs(50, outcome="RUNNING"),
    "journal --run": lambda w: w.store.read.list_journal(50, run_id=7),
    "journal --dataid": lambda w: w.store.read.list_journal(50, dataid="7"),
    "the runs of a work before": lambda w: w.store.read.list_earlier_runs(7, 1 << 40),
}


def test_queries_about_history_do_not_read_all_of_it(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", *map(str, range(20)))
    world.drain("to_clean")
    before = {name: pages_of(world, lambda: ask(world)) for name, ask in QUESTIONS.items()}  # noqa: B023
    add_runs(world, world.plan("to_clean"), "FAILED")
    after = {name: pages_of(world, lambda: ask(world)) for name, ask in QUESTIONS.items()}  # noqa: B023
    assert [name for name in QUESTIONS if after[name] > before[name] + FEW_PAGES] == []


def register_others(world: World, count: int) -> None:
    """Jobs that all read the dataset `raw`, each with its own output."""

    def verb(tx: Transaction) -> None:
        entries.write_datasets(tx, [Dataset(f"made_{number}", location=STAGED) for number in range(count)])
        inputs = (JobInput("raw"),)
        jobs = [Job(f"make_{number}", inputs, (f"made_{number}",)) for number in range(count)]
        entries.write_entries(tx, [], [entries.JobEntry(job, inputs, "text", "UTC") for job in jobs])

    world.store.register(verb)
    world.store.count_rows()


def test_changing_a_job_costs_the_same_whatever_else_is_registered(world: World) -> None:
    world.chain("raw", "clean")
    retries = itertools.count(1)

    def change() -> None:
        add_job(world.store, Job("to_clean", (JobInput("raw"),), ("clean",), retries=next(retries)))

    before = pages_of(world, change)
    others = 1000
    register_others(world, others)
    # PostgreSQL may read a table of a few pages whole. To read each job would take several pages for each.
    assert pages_of(world, change) <= before + others / 2


def test_a_finish_locks_all_its_outputs_with_one_statement(world: World) -> None:
    for name in ("raw", "left", "right", "rest"):
        world.dataset(name)
    world.job("split", ["raw"], ["left", "right", "rest"])
    world.ready("raw", "1")
    run = world.take("split")
    recorder: Any = RecordingDatabase(world.store.database)
    world.beside(recorder).finish(run)
    ids = sorted(world.dataset_record(name)[0] for name in ("left", "right", "rest"))
    locks = [parameters["dataset_ids"] for name, parameters in recorder.steps if "lock_dataset" in name]
    assert locks == [ids]


def test_publishing_to_many_consumers_takes_no_more_statements_than_to_a_few(world: World) -> None:
    world.dataset("raw")
    world.ready("raw", "1")
    steps = []
    for count in (2, 400):
        register_others(world, count)
        recorder: Any = RecordingDatabase(world.store.database)
        for _ in range(2):
            world.beside(recorder).ready("raw", "1", again=True)
        steps.append(len(recorder.steps))
        assert {row[0] for row in world.select("SELECT state FROM work")} == {"CLAIMABLE"}
    assert steps[0] == steps[1]


def test_sqlite_prepares_no_statement_of_a_run_again(sqlite_world: World) -> None:
    world = sqlite_world
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    again: list[str] = []

    def note(event: dict[str, Any]) -> None:
        if event["stmt_status"]["SQLITE_STMTSTATUS_REPREPARE"]:
            again.append(event["sql"])

    connection = world.store.database._connection  # type: ignore[attr-defined]
    connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, note)
    for dataid in ("1", "2", "3"):
        world.finish(world.take("to_clean", dataid))
    assert again == []
