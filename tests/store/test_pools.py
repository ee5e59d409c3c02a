"""Pools: a limit that several jobs share, counted from live leases: never exceeded, never leaked."""

from __future__ import annotations

import multiprocessing
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dataflow import errors
from dataflow.model.records import ClaimResult, Ending, Run
from dataflow.model.status import RunOutcome
from dataflow.store.opener import open_store
from tests.store.claimants import claim_in_pool
from tests.store.faults import Beside, Pausing
from tests.store.races import race
from tests.store.test_costs import FEW_PAGES, add_runs, pages_of
from tests.store.world import LEASE_SECONDS, PATIENCE_SECONDS, World, make_request, open_postgres, open_sqlite

JOBS = ("load", "extract", "alone")
CLAIMANTS = ("first", "second")


def prepared(world: World, size: int = 2, chunks: int = 9, **fields: Any) -> None:
    """Two jobs that share a pool, and one beside it."""
    world.pool("warehouse", size)
    world.dataset("raw", grain="sequence")
    for job in JOBS:
        pool = "" if job == "alone" else "warehouse"
        world.job(job, ["raw"], pool=pool, **fields)
    world.ready("raw", *map(str, range(chunks)))


def test_jobs_of_a_pool_share_its_size(world: World) -> None:
    prepared(world)
    runs = [world.take("load"), *world.claim("extract", 5)]
    assert len(runs) == 2
    assert (world.claim("load"), world.claim("extract")) == ((), ())
    assert len(world.claim("alone", 5)) == 5
    world.finish(runs[0])
    assert len(world.claim("extract", 5)) == 1


def test_runs_of_an_earlier_boot_have_no_place(world: World) -> None:
    prepared(world, size=1)
    world.take("load")
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    world.take("extract")


@pytest.mark.parametrize("how", ["finish", "fail", "hand back", "lapse", "die", "revoke"])
def test_a_run_that_has_ended_gives_its_place_back(world: World, how: str) -> None:
    prepared(world, size=1)
    run = world.take("load")
    if how == "lapse":
        world.advance(LEASE_SECONDS)
    elif how == "die":
        world.claim("load", dataid="none", dead=("first",))
    elif how == "revoke":
        world.cancel(run)
        assert not world.claim("extract"), "it may still be ending"
        world.store.acknowledge(run.run_id, run.claimant)
    else:
        outcomes = {"finish": RunOutcome.DONE, "fail": RunOutcome.FAILED, "hand back": RunOutcome.INTERRUPTED}
        world.finish(run, outcomes[how])
    world.take("extract")


def test_a_smaller_pool_ends_no_run_and_a_larger_one_lets_more_start(world: World) -> None:
    prepared(world, size=3)
    runs = world.claim("load", 3)
    assert world.pool("warehouse", 1) == 3
    assert world.renew(*runs) == {run.run_id for run in runs}
    world.finish(runs[0])
    world.finish(runs[1])
    assert not world.claim("extract")
    world.finish(runs[2])
    assert len(world.claim("extract", 4)) == 1
    assert world.pool("warehouse", 3) == 1
    assert len(world.claim("load", 4)) == 2


def test_the_limits_of_the_job_and_of_its_pool_hold_together(world: World) -> None:
    prepared(world, size=3, max_running=2)
    assert len(world.claim("load", 9)) == 2
    assert len(world.claim("extract", 9)) == 1


def test_a_forced_run_does_not_exceed_the_pool(world: World) -> None:
    prepared(world, size=1)
    world.take("load")
    with pytest.raises(errors.Conflict, match="Pool warehouse has room for 1"):
        world.force("extract", "3")


def test_runs_of_a_job_that_joins_a_pool_count(world: World) -> None:
    prepared(world)
    world.claim("alone", 2)
    world.job("alone", ["raw"], pool="warehouse")
    assert not world.claim("load")
    world.job("alone", ["raw"])
    assert len(world.claim("load", 5)) == 2


def test_setting_a_pool_is_journalled_once(world: World) -> None:
    assert (world.pool("warehouse", 4), world.pool("warehouse", 4), world.pool("warehouse", 2)) == (0, 4, 4)
    assert [line["why"] for line in world.journal("pool set")] == [
        "pool warehouse: 4",
        "pool warehouse: 4 → 2",
    ]


def test_a_pool_that_a_job_names_cannot_be_removed(world: World) -> None:
    prepared(world)
    with pytest.raises(errors.Conflict, match="used by extract, load; nothing was changed"):
        world.store.control.remove_pool("warehouse")
    for job in JOBS:
        world.job(job, ["raw"])
    assert world.store.control.remove_pool("warehouse")
    assert not world.store.control.remove_pool("warehouse")
    assert world.journal("pool remove")[0]["why"] == "pool warehouse"
    assert world.store.read.list_pools() == []


def test_the_reads_say_who_uses_a_pool(world: World) -> None:
    prepared(world)
    world.pool("lake", 1)
    world.job("alone", ["raw"], pool="lake")
    load, extract = world.take("load"), world.take("extract")
    world.take("alone")
    uses = [(use.job, use.run_id) for use in world.store.read.list_pool_uses("warehouse")]
    assert uses == [("load", load.run_id), ("extract", extract.run_id)]
    assert world.store.read.list_pool_jobs("warehouse") == ["extract", "load"]
    assert (world.store.read.find_pool_size("warehouse"), world.store.read.find_pool_size("none")) == (
        2,
        None,
    )


def test_two_concurrent_claims_of_two_jobs_of_a_pool_of_one_get_one(postgres_world: World) -> None:
    world = postgres_world
    prepared(world, size=1)
    raced = race(world, lambda w: len(w.claim("load", 3)), lambda w: len(w.claim("extract", 3)))
    assert raced == (1, 0, True)


def test_a_claim_that_waited_for_a_new_size_keeps_it(postgres_world: World) -> None:
    world = postgres_world
    prepared(world, size=5)
    raced = race(world, lambda w: w.pool("warehouse", 1), lambda w: len(w.claim("load", 5)))
    assert raced == (5, 1, True)


def test_a_claim_that_waits_for_a_pool_holds_nothing_that_others_need(postgres_world: World) -> None:
    """Otherwise it would hold the work of the run it has finished, and what that called for: a deadlock."""
    world = postgres_world
    prepared(world, size=5)
    run = world.take("load")
    database = Pausing(world.store.database.separate(PATIENCE_SECONDS))
    first, second = world.beside(database), world.beside()
    one = Beside(database, lambda: first.claim("extract"))
    database.pause.wait()
    plan = world.plan("load")
    ending = Ending(run, RunOutcome.DONE)
    two = Beside(
        second.store.database,
        lambda: second.store.finish_and_claim(plan, (ending,), make_request()),
    )
    assert two.wait_until_blocked()
    held = world.select(
        f"SELECT count(*) FROM pg_locks WHERE pid = {two._pid} AND relation = 'work'::regclass"
    )
    database.pause.go()
    assert (len(one.result()), held) == (1, [(0,)])
    states, result = two.result()
    assert (states, len(result.runs)) == (["DONE"], 1)
    first.close()
    second.close()


def test_concurrent_processes_never_exceed_a_pool(store_url: str) -> None:
    store = open_store(store_url, "op@desk")
    if store.database.dialect == "postgres":
        store.database.upgrade()
    world = World(store, None)
    prepared(world, size=3, chunks=40)
    context = multiprocessing.get_context("spawn")
    counts = context.Queue()
    workers = [
        context.Process(target=claim_in_pool, args=(store_url, JOBS[number % 2], f"p{number}", counts))
        for number in range(4)
    ]
    for worker in workers:
        worker.start()
    most = [counts.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert 1 <= max(most) <= 3
    assert {*world.states("load").values(), *world.states("extract").values()} == {"DONE"}
    world.close()


@pytest.mark.parametrize("outcome", ["DONE", "CANCELLED"])
def test_a_claim_of_a_pooled_job_does_not_read_earlier_runs(world: World, outcome: str) -> None:
    prepared(world, size=3, chunks=30)

    def claim() -> None:
        world.finish(world.take("load"))

    before = pages_of(world, claim)
    add_runs(world, world.plan("extract"), outcome)
    assert pages_of(world, claim) <= before + FEW_PAGES


class Pools(RuleBasedStateMachine):
    """Claims, ends, deaths and changes in any order: each claim gives exactly what there is room for."""

    def __init__(self) -> None:
        super().__init__()
        self.world = self.open_world()
        self.size = 2
        self.pooled = {"load", "extract"}
        self.now = 0.0
        self.runs: dict[int, tuple[Run, float, str]] = {}
        """Runs that may be at work: the run, until when its lease is good, and its outcome."""
        prepared(self.world, self.size, chunks=12)

    def open_world(self) -> World:
        raise NotImplementedError

    def in_pool(self) -> list[Run]:
        """The runs that count, as a list of facts that the store does not keep."""
        return [run for run, until, _ in self.runs.values() if until > self.now and run.job in self.pooled]

    @rule(job=st.sampled_from(JOBS), count=st.integers(1, 4), claimant=st.sampled_from(CLAIMANTS))
    def claim(self, job: str, count: int, claimant: str) -> None:
        before = len(self.in_pool())
        claimable = self.count_claimable(job)
        result: ClaimResult = self.world.ask(job, count, claimant)
        for run in result.runs:
            self.runs[run.run_id] = (run, self.now + LEASE_SECONDS, "RUNNING")
        room = max(0, self.size - before) if job in self.pooled else count
        assert len(result.runs) == min(count, room, claimable)

    def count_claimable(self, job: str) -> int:
        """What a claim without limits would find once it has freed the dead."""
        plan = self.world.plan(job)
        request = make_request(0, "first")
        self.world.store.claim(plan, request)
        return list(self.world.states(job).values()).count("CLAIMABLE")

    @precondition(lambda self: self.runs)
    @rule(pick=st.integers(0, 9), outcome=st.sampled_from(("DONE", "FAILED", "INTERRUPTED", "LOST")))
    def finish(self, pick: int, outcome: str) -> None:
        run_id = sorted(self.runs)[pick % len(self.runs)]
        run, until, state = self.runs[run_id]
        if until > self.now and state == "RUNNING":
            self.world.finish(run, RunOutcome(outcome))
            del self.runs[run_id]

    @precondition(lambda self: self.runs)
    @rule(pick=st.integers(0, 9), acknowledged=st.booleans())
    def cancel(self, pick: int, acknowledged: bool) -> None:
        run_id = sorted(self.runs)[pick % len(self.runs)]
        run, until, state = self.runs[run_id]
        if until <= self.now:
            return
        if state == "RUNNING":
            self.world.cancel(run)
            self.runs[run_id] = (run, until, "CANCELLED")
        if acknowledged:
            self.world.store.acknowledge(run.run_id, run.claimant)
            del self.runs[run_id]

    @rule(job=st.sampled_from(JOBS), claimant=st.sampled_from(CLAIMANTS))
    def die(self, job: str, claimant: str) -> None:
        """A process dies and a claim of the job notices: its runs of that job give their places back."""
        self.world.claim(job, dataid="none", dead=(claimant,))
        self.runs = {
            run_id: kept
            for run_id, kept in self.runs.items()
            if not (kept[0].job == job and kept[0].claimant == claimant and kept[2] == "RUNNING")
        }

    @rule(seconds=st.sampled_from((100.0, LEASE_SECONDS + 1)))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds
        self.world.advance(seconds)

    @rule(size=st.integers(1, 4))
    def set_size(self, size: int) -> None:
        assert self.world.pool("warehouse", size) == self.size
        self.size = size

    @rule(job=st.sampled_from(JOBS), joins=st.booleans())
    def move(self, job: str, joins: bool) -> None:
        self.world.job(job, ["raw"], pool="warehouse" if joins else "")
        self.pooled = self.pooled | {job} if joins else self.pooled - {job}

    @invariant()
    def the_store_counts_what_is_at_work(self) -> None:
        uses = {use.run_id for use in self.world.store.read.list_pool_uses("warehouse")}
        assert uses == {run.run_id for run in self.in_pool()}

    def teardown(self) -> None:
        self.world.close()


CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("sequences", [30, pytest.param(150, marks=pytest.mark.full)])
def test_no_sequence_of_verbs_exceeds_or_leaks_a_pool_on_sqlite(sequences: int) -> None:
    class OnSqlite(Pools):
        def open_world(self) -> World:
            return open_sqlite(":memory:")

    run_state_machine_as_test(
        OnSqlite, settings=settings(CALM, max_examples=sequences, stateful_step_count=40)
    )


@pytest.mark.parametrize("sequences", [3, pytest.param(12, marks=pytest.mark.full)])
def test_no_sequence_of_verbs_exceeds_or_leaks_a_pool_on_postgresql(
    shared_database_url: str, sequences: int
) -> None:
    class OnPostgres(Pools):
        def open_world(self) -> World:
            return open_postgres(shared_database_url)

    run_state_machine_as_test(
        OnPostgres, settings=settings(CALM, max_examples=sequences, stateful_step_count=40)
    )
