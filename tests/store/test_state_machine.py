"""Verbs in any order, on a store and on the oracle: after each step both must agree on everything."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
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
from dataflow.model.records import Run
from dataflow.model.status import FOLLOWING, MOVES, RunOutcome, WorkState
from tests.store.oracle import (
    LEASE_SECONDS,
    RETRY_DELAY_SECONDS,
    RETURN_DELAY_SECONDS,
    JobRule,
    Oracle,
    Refused,
)
from tests.store.world import World, open_postgres, open_sqlite

DATAIDS = ("8", "9", "10")
CLAIMANTS = ("first", "second")
SOURCES = ("raw", "rates")
JOBS = ("to_clean", "to_report", "to_total", "to_log", "to_view")
Inputs = list[tuple[str, int | None]]
OTHER_INPUTS: dict[str, list[Inputs]] = {
    "to_clean": [[("raw", 0)], [("rates", 0)], [("raw", 0), ("rates", 0)], [("rates", 0), ("raw", 0)]],
    "to_view": [[("rates", 0), ("clean", None)], [("rates", 0)], [("clean", None), ("raw", 0)]],
}
# Any wait is shorter than this or a multiple of it, so that the time a real database takes changes nothing.
TICK_SECONDS = 1000

dataids = st.sampled_from(DATAIDS)
jobs = st.sampled_from(JOBS)
claimants = st.sampled_from(CLAIMANTS)
picks = st.integers(0, 7)


class Handoff(RuleBasedStateMachine):
    """raw, rates → clean (in place) → report; clean, the total before → total; rates → log in order.

    rates, the latest of clean → view.
    """

    def __init__(self) -> None:
        super().__init__()
        self.world = self.open_world()
        rules = {
            "to_clean": JobRule([("raw", 0)], "clean", retries=1),
            "to_report": JobRule([("clean", 0)], "report"),
            "to_total": JobRule([("clean", 0), ("total", 1)], "total", first=DATAIDS[0]),
            "to_log": JobRule([("rates", 0)], "log", ordered=True),
            "to_view": JobRule([("rates", 0), ("clean", None)], "view"),
        }
        self.oracle = Oracle(rules, in_place={"clean"})
        self.runs: list[Run] = []
        self.versions: dict[tuple[str, str], int] = {}
        for name in (*SOURCES, "clean", "report", "total", "log", "view"):
            self.world.dataset(name, grain="sequence", **{"location": ""} if name == "clean" else {})
        for job in JOBS:
            self._register(job)

    def open_world(self) -> World:
        """An empty store."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.world.close()

    @rule(dataset=st.sampled_from(SOURCES), chosen=st.sets(dataids, min_size=1), again=st.booleans())
    def ready(self, dataset: str, chosen: set[str], again: bool) -> None:
        expected = [self.oracle.ready(dataset, dataid, again) for dataid in sorted(chosen, key=int)]
        assert self.world.ready(dataset, *sorted(chosen, key=int), again=again) == sum(expected)

    @rule(dataset=st.sampled_from((*SOURCES, "clean")), dataid=dataids)
    def withdraw(self, dataset: str, dataid: str) -> None:
        expected = self.oracle.withdraw(dataset, dataid)
        assert self.world.withdraw(dataset, dataid) == expected

    @rule(change=st.sampled_from([(job, inputs) for job, known in OTHER_INPUTS.items() for inputs in known]))
    def change_inputs(self, change: tuple[str, Inputs]) -> None:
        job, inputs = change
        self.oracle.register(job, inputs)
        self._register(job)

    @rule(
        job=jobs,
        count=st.integers(1, 2),
        claimant=claimants,
        dead=st.sampled_from(((), ("first",), ("second",))),
    )
    def claim(self, job: str, count: int, claimant: str, dead: tuple[str, ...]) -> None:
        dead = tuple(name for name in dead if name != claimant)
        given = list(self.world.claim(job, count, claimant, lease_seconds=LEASE_SECONDS, dead=dead))
        self.oracle.tidy(job, dead)
        for number in range(1 if self.oracle.jobs[job].ordered else count):
            expected = self.oracle.next_dataid(job)
            got = given[number].dataid if number < len(given) else None
            assert got == expected, f"{job} gave {got}, {expected} was first in order"
            if expected is None:
                break
            self._given(given[number], claimant)

    @rule(job=jobs, dataid=dataids, claimant=claimants)
    def force(self, job: str, dataid: str, claimant: str) -> None:
        where = {"dataid": dataid, "force": True, "lease_seconds": LEASE_SECONDS}
        before = copy.deepcopy(self.oracle)
        self.oracle.tidy(job, ())
        if self.oracle.may_force(job, dataid):
            (run,) = self.world.claim(job, 1, claimant, **where)
            self._given(run, claimant)
        else:
            self.oracle = before
            with pytest.raises(errors.Conflict):
                self.world.claim(job, 1, claimant, **where)

    @precondition(lambda self: self.runs)
    @rule(pick=picks, claimant=claimants)
    def renew(self, pick: int, claimant: str) -> None:
        run = self._pick(pick)
        expected = {run.run_id} if self.oracle.renew(run.run_id, claimant) else set()
        assert self.world.renew(run, claimant=claimant) == expected

    @precondition(lambda self: self.runs)
    @rule(
        pick=picks,
        outcome=st.sampled_from(("DONE", "DONE", "DONE", "FAILED", "INVALID", "RETURNED", "INTERRUPTED")),
        untouched=st.booleans(),
    )
    def finish(self, pick: int, outcome: str, untouched: bool) -> None:
        run = self._pick(pick)
        delay = RETURN_DELAY_SECONDS if outcome == "RETURNED" else 0
        how = {"delay_seconds": float(delay), "untouched": untouched and outcome != "DONE"}
        self._both(
            lambda: self.oracle.finish(run.run_id, outcome, delay, untouched),
            lambda: self.world.finish(run, RunOutcome(outcome), **how),
        )
        if outcome == "FAILED":
            self._take_over_the_jitter(run)

    @rule(job=jobs)
    def do_all(self, job: str) -> None:
        """What RunJob --drain does; without it few sequences reach the end of the chain."""
        before = -1
        while before != len(self.runs):
            before = len(self.runs)
            self.claim(job, 1, "first", ())
            if before != len(self.runs):
                self.finish(0, "DONE", False)

    @rule(ticks=st.integers(1, 3))
    def pass_time(self, ticks: int) -> None:
        self.oracle.now += ticks * TICK_SECONDS
        self.world.advance(ticks * TICK_SECONDS)

    @rule(job=jobs, chosen=st.sets(dataids, min_size=1, max_size=2))
    def resubmit(self, job: str, chosen: set[str]) -> None:
        ordered = sorted(chosen, key=int)
        self._both(
            lambda: self.oracle.resubmit(job, ordered),
            lambda: self.world.resubmit(job, *ordered) and None,
        )

    @rule(job=jobs, on=st.booleans())
    def hold_job(self, job: str, on: bool) -> None:
        changes = self.oracle.jobs[job].hold != on
        self.oracle.jobs[job].hold = on
        assert (self.world.hold(job) if on else self.world.release(job)) == changes

    @rule(job=jobs, dataid=dataids, on=st.booleans())
    def hold_work(self, job: str, dataid: str, on: bool) -> None:
        work = self.oracle.works.get((job, dataid))
        if work is not None:
            changes, work.hold = work.hold != on, on
            assert (self.world.hold if on else self.world.release)(job, dataid) == changes

    @rule(job=jobs, dataid=dataids, state=st.sampled_from(("DONE", "FAILED", "INVALID")))
    def mark(self, job: str, dataid: str, state: str) -> None:
        self._both(
            lambda: self.oracle.mark(job, dataid, state),
            lambda: self.world.mark(job, dataid, WorkState(state)),
        )

    @precondition(lambda self: self.runs)
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        run = self._pick(pick)
        self._both(lambda: self.oracle.cancel(run.run_id), lambda: self.world.cancel(run) and None)

    @precondition(lambda self: self.runs)
    @rule(pick=picks, claimant=claimants)
    def acknowledge(self, pick: int, claimant: str) -> None:
        run = self._pick(pick)
        self.oracle.acknowledge(run.run_id, claimant)
        self.world.store.acknowledge(run.run_id, claimant)

    @invariant()
    def store_and_oracle_agree(self) -> None:
        self._the_work_is_as_the_oracle_says()
        self._what_is_published_is_as_the_oracle_says_and_versions_only_grow()
        self._present_is_what_is_there()
        self._a_work_has_at_most_one_live_run_and_it_is_the_latest()
        self._the_seeds_rule_gives_the_same_claimable_work()
        self._every_line_of_the_journal_is_a_legal_move()
        self._work_in_trouble_has_one_open_incident_of_its_kind()
        self._each_incident_has_one_notification_when_it_opens_and_one_when_it_recovers()

    def _work_in_trouble_has_one_open_incident_of_its_kind(self) -> None:
        wrong = self.world.select(
            """SELECT w.job_id, w.dataid, w.state, i.kind, i.closed_at FROM work w
            LEFT JOIN incident i ON i.incident_id = w.incident_id
            LEFT JOIN job j ON j.job_id = w.job_id
            WHERE w.state = 'DONE' AND w.incident_id IS NOT NULL
               OR w.incident_id IS NOT NULL AND (i.kind IS NULL OR i.closed_at IS NOT NULL OR i.job <> j.name)
               OR w.state = 'INVALID' AND coalesce(i.kind, '') <> 'invalid'
               OR w.state = 'FAILED' AND coalesce(i.kind, '') NOT IN ('failed', 'quarantine')"""
        )
        assert wrong == []
        self.world.store.watching.look_at_clocks()  # registration deletes work that nobody calls for
        empty = self.world.select(
            """SELECT i.incident_id FROM incident i WHERE i.closed_at IS NULL
            AND NOT EXISTS (SELECT 1 FROM work w WHERE w.incident_id = i.incident_id)"""
        )
        assert empty == []

    def _each_incident_has_one_notification_when_it_opens_and_one_when_it_recovers(self) -> None:
        told = Counter(self.world.select("SELECT incident_id, event FROM notification"))
        for number, recovered in self.world.select("SELECT incident_id, recovered FROM incident"):
            assert (told[number, "opened"], told[number, "recovered"]) == (1, int(bool(recovered)))

    def _the_work_is_as_the_oracle_says(self) -> None:
        kept = self.world.select(
            "SELECT j.name, w.dataid, w.state, w.missing, w.hold, w.resubmitted, w.attempts, w.losses, "
            "w.run_id FROM work w JOIN job j ON j.job_id = w.job_id"
        )
        works = {(row[0], row[1]): (row[2], row[3], *map(bool, row[4:6]), *row[6:]) for row in kept}
        assert works == {key: self._expected(*key) for key in self.oracle.works}

    def _what_is_published_is_as_the_oracle_says_and_versions_only_grow(self) -> None:
        kept = self.world.select(
            "SELECT d.name, c.dataid, c.version, c.withdrawn, c.stale, c.dirty_run_id "
            "FROM chunk c JOIN dataset d ON d.dataset_id = c.dataset_id"
        )
        chunks = {(row[0], row[1]): (row[2], bool(row[3]), bool(row[4]), row[5]) for row in kept}
        expected = {
            key: (chunk.version, chunk.withdrawn, chunk.stale, chunk.dirty)
            for key, chunk in self.oracle.chunks.items()
        }
        assert chunks == expected
        for key, (version, *_) in chunks.items():
            assert version >= self.versions.get(key, 0)
            self.versions[key] = version

    def _present_is_what_is_there(self) -> None:
        kept = self.world.select(
            "SELECT j.name, w.dataid, i.position, i.present FROM work_input i "
            "JOIN work w ON w.work_id = i.work_id JOIN job j ON j.job_id = w.job_id"
        )
        expected = {
            (job, dataid, position, int(there))
            for job, dataid in self.oracle.works
            for position, there in enumerate(self.oracle.present(job, dataid))
        }
        assert set(kept) == expected

    def _a_work_has_at_most_one_live_run_and_it_is_the_latest(self) -> None:
        live = self.world.select("SELECT work_id, run_id FROM run WHERE ended_at IS NULL")
        running = self.world.select("SELECT work_id, run_id FROM work WHERE state = 'RUNNING'")
        assert sorted(live) == sorted(running)
        newest = self.world.select("SELECT max(run_id) FROM run")[0][0] or 0
        assert newest == max(self.oracle.runs, default=0)

    def _the_seeds_rule_gives_the_same_claimable_work(self) -> None:
        """All inputs READY, output absent or RESUBMIT or STALE, no lock, nothing to wait for."""
        seen = self.world.select("SELECT datasetid, dataid, status FROM datastatus WHERE locktype = 'OUT'")
        status = {(row[0], row[1]): row[2] for row in seen}
        by_rule = set()
        for (job, dataid), work in self.oracle.works.items():
            if work.wait_until is not None or self._is_output_withdrawn(job, dataid):
                continue
            inputs = [need for need in self.oracle.needs(job, dataid) if need is not None]
            output = status[self.oracle.jobs[job].output, dataid]
            if all(self.oracle.is_ready(*need) for need in inputs) and output in (
                "PENDING",
                "RESUBMIT",
                "STALE",
            ):
                by_rule.add((job, dataid))
        kept = self.world.select(
            "SELECT j.name, w.dataid FROM work w JOIN job j ON j.job_id = w.job_id "
            "WHERE w.state = 'CLAIMABLE' AND NOT w.hold AND NOT j.hold"
        )
        assert {key for key in kept if not self._is_output_withdrawn(*key)} == by_rule

    def _every_line_of_the_journal_is_a_legal_move(self) -> None:
        rows = self.world.select("SELECT DISTINCT action, from_state, to_state, items FROM journal")
        for action, before, after, items in rows:
            if action in MOVES and items == 1:
                assert action not in FOLLOWING
                assert before in MOVES[action][0], (action, before)
                assert after in MOVES[action][1], (action, after)

    def _is_output_withdrawn(self, job: str, dataid: str) -> bool:
        """Withdrawn manually: by the rule it would be made again, but the store waits for a resubmit."""
        output = self.oracle.chunks.get((self.oracle.jobs[job].output, dataid))
        return output is not None and output.withdrawn

    def _register(self, job: str) -> None:
        rule = self.oracle.jobs[job]
        mappings = {0: "same", 1: "previous", None: "latest"}
        inputs = [f"{dataset}:{mappings[lag]}" for dataset, lag in rule.inputs]
        settings = {"retries": rule.retries, "retry_delay_seconds": RETRY_DELAY_SECONDS}
        self.world.job(job, inputs, [rule.output], ordered=rule.ordered, start=rule.first, **settings)

    def _take_over_the_jitter(self, run: Run) -> None:
        """The wait before a retry is random within bounds: the oracle waits as long as the store."""
        work = self.oracle.works[run.job, run.dataid]
        if work.wait_until is not None and work.runs and work.runs[-1].run_id == run.run_id:
            seconds = self.world.work(run.job, run.dataid).wait_seconds
            assert seconds == pytest.approx(RETRY_DELAY_SECONDS * 2 ** (work.attempts - 1), rel=0.21)
            work.wait_until = self.oracle.now + (seconds or 0)

    def _given(self, run: Run, claimant: str) -> None:
        assert run.run_id > max(self.oracle.runs, default=0)
        work = self.oracle.works.get((run.job, run.dataid))
        assert run.attempt == (work.attempts + work.losses + 1 if work else 1)
        self.oracle.give(run.run_id, run.job, run.dataid, claimant)
        pins = self.oracle.runs[run.run_id].pins
        expected = sorted((dataid, version) for (_, dataid), version in pins.items())
        assert sorted((pin.dataid, pin.version) for pin in run.pins) == expected
        self.runs.append(run)

    def _pick(self, pick: int) -> Run:
        return self.runs[-1 - pick % len(self.runs)]

    def _expected(self, job: str, dataid: str) -> tuple[Any, ...]:
        work = self.oracle.works[job, dataid]
        last = work.runs[-1].run_id if work.runs else 0
        counted = (work.hold, work.resubmitted, work.attempts, work.losses, last)
        return (self.oracle.state(job, dataid), self.oracle.missing(job, dataid), *counted)

    def _both(self, ask_oracle: Callable[[], Any], ask_store: Callable[[], Any]) -> None:
        """Both return the same, or both refuse."""
        try:
            expected = ask_oracle()
        except Refused:
            expected = Refused
        try:
            got = ask_store()
        except (errors.Conflict, errors.UnknownName):
            got = Refused
        assert got == expected, f"the store gave {got}, the oracle {expected}"


CALM = settings(deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("sequences", [30, pytest.param(150, marks=pytest.mark.full)])
def test_any_sequence_of_verbs_on_sqlite_agrees_with_the_oracle(sequences: int) -> None:
    class OnSqlite(Handoff):
        def open_world(self) -> World:
            world = open_sqlite(":memory:")
            world.poke("CREATE TEMP TABLE moved (before, after)")
            world.poke(
                "CREATE TEMP TRIGGER move AFTER UPDATE OF state ON work WHEN OLD.state <> NEW.state "
                "BEGIN INSERT INTO moved VALUES (OLD.state, NEW.state); END"
            )
            return world

        @invariant()
        def every_start_and_end_of_a_run_has_a_line_of_its_own(self) -> None:
            moved = Counter(self.world.select("SELECT before, after FROM moved"))
            journal = self.world.select("SELECT action, from_state, to_state FROM journal")
            lines = Counter((before, after) for action, before, after in journal if action in MOVES)
            for move in (*moved, *lines):
                if WorkState.RUNNING in move:
                    assert moved[move] == lines[move], move

    profile = settings(CALM, max_examples=sequences, stateful_step_count=40)
    run_state_machine_as_test(OnSqlite, settings=profile)


@pytest.mark.parametrize("sequences", [3, pytest.param(10, marks=pytest.mark.full)])
def test_any_sequence_of_verbs_on_postgresql_agrees_with_the_oracle(
    shared_database_url: str, sequences: int
) -> None:
    class OnPostgres(Handoff):
        def open_world(self) -> World:
            return open_postgres(shared_database_url)

    profile = settings(CALM, max_examples=sequences, stateful_step_count=40)
    run_state_machine_as_test(OnPostgres, settings=profile)
