"""Verbs in any order: what is stale follows, from scratch, from the versions that the runs read."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from dataflow import errors
from dataflow.model.records import Run
from dataflow.model.status import RunOutcome
from tests.store.world import World, open_postgres, open_sqlite

DATAIDS = ("8", "9")
SOURCES = ("raw", "rates")
JOBS = {
    "to_clean": (["raw"], ["clean"], "rerun"),
    "to_joined": (["clean", "rates"], ["joined", "rejected"], "rerun"),
    "to_total": (["joined", "total:previous"], ["total"], "rerun"),
    "to_view": (["rates", "clean:latest"], ["view"], "rerun"),
    "to_asked": (["clean"], ["asked"], "ask"),
    "to_after": (["asked", "view"], ["after"], "rerun"),
    "to_kept": (["clean", "rates"], ["kept"], "ignore"),
    "to_end": (["kept"], ["end"], "rerun"),
}
Chunk = tuple[str, str]

dataids = st.sampled_from(DATAIDS)
jobs = st.sampled_from(sorted(JOBS))
picks = st.integers(0, 7)


class Change(RuleBasedStateMachine):
    """raw → clean → joined (with rates) → total of totals; a view of the latest; one asks, one ignores."""

    def __init__(self) -> None:
        super().__init__()
        self.world = self.open_world()
        self.runs: list[Run] = []
        self.born: set[int] = set()  # runs whose input was withdrawn when they finished
        self.accepted: dict[int, dict[Chunk, int]] = {}  # by run: each input and its version then
        self.wrong: dict[Chunk, int] = {}  # the last version that was found to be wrong
        self.spoilt: dict[Chunk, int] = {}  # the last version that was made from wrong data
        self.tainted: set[int] = set()  # runs of jobs that ignore changes, which have read wrong data
        datasets = [*SOURCES, *(name for _, outputs, _ in JOBS.values() for name in outputs)]
        for name in datasets:
            self.world.dataset(name, grain="sequence")
        for job, (inputs, outputs, on_change) in JOBS.items():
            start = {"start": DATAIDS[0]} if job == "to_total" else {}
            self.world.job(job, inputs, outputs, on_change=on_change, **start)

    def open_world(self) -> World:
        """An empty store."""
        raise NotImplementedError

    def teardown(self) -> None:
        self.world.close()

    @initialize(filled=st.sampled_from((True, True, False)))
    def fill(self, filled: bool) -> None:
        """Most sequences start with everything done."""
        if filled:
            for name in SOURCES:
                self.world.ready(name, *DATAIDS)
            self.do_all()

    @rule(dataset=st.sampled_from(SOURCES), chosen=st.sets(dataids, min_size=1), again=st.booleans())
    def ready(self, dataset: str, chosen: set[str], again: bool) -> None:
        self.world.ready(dataset, *sorted(chosen), again=again)

    @rule(dataset=st.sampled_from((*SOURCES, "clean", "asked")), dataid=dataids)
    def withdraw(self, dataset: str, dataid: str) -> None:
        self.world.withdraw(dataset, dataid)

    @rule(job=jobs)
    def claim(self, job: str) -> None:
        self.runs += self.world.claim(job)

    @precondition(lambda self: self.runs)
    @rule(pick=picks, outcome=st.sampled_from(("DONE", "DONE", "FAILED", "INVALID", "RETURNED")))
    def finish(self, pick: int, outcome: str) -> None:
        run = self.runs.pop(pick % len(self.runs))
        if outcome == "DONE":
            self._read(run)
        self.world.finish(run, RunOutcome(outcome))

    @rule()
    def do_all(self) -> None:
        """What RunJob --drain does for each job; without it few sequences reach the end of a chain."""
        for job in JOBS:
            while runs := self.world.claim(job):
                self.world.finish(runs[0])

    @rule(job=jobs, dataid=dataids)
    def resubmit(self, job: str, dataid: str) -> None:
        self._try(lambda: self.world.resubmit(job, dataid))

    @rule(job=jobs, dataid=dataids)
    def accept(self, job: str, dataid: str) -> None:
        found = {
            self.chunks()[name, dataid].run_id for name in JOBS[job][1] if (name, dataid) in self.chunks()
        }
        if self._try(lambda: self.world.accept(job, dataid)):
            (run_id,) = found
            assert run_id is not None
            self.accepted[run_id] = {key: self.chunks()[key].version for key in self.pins()[run_id]}
            self.born.discard(run_id)
            self.tainted.discard(run_id)
            stale = self.stale_from_scratch()
            self.spoilt = {key: version for key, version in self.spoilt.items() if key in stale}

    @rule(dataset=st.sampled_from((*SOURCES, "clean")), dataid=dataids)
    def invalidate(self, dataset: str, dataid: str) -> None:
        key = dataset, dataid
        if key not in self.chunks() or self._try(lambda: self.world.invalidate(dataset, dataid)) is None:
            return
        for versions in self.accepted.values():
            versions.pop(key, None)
        for found in self.made_from(key):
            chunk = self.chunks()[found]
            (self.wrong if found == key else self.spoilt)[found] = chunk.version
            if chunk.run_id and found != key and ON_CHANGE[found[0]] == "ignore":
                self.tainted.add(chunk.run_id)

    @invariant()
    def what_is_stale_follows_from_what_the_runs_read(self) -> None:
        kept = {key for key, chunk in self.chunks().items() if chunk.stale}
        assert kept == self.stale_from_scratch()

    def stale_from_scratch(self) -> set[Chunk]:
        """Made from an older version, from wrong data, or from what is stale; and not accepted since."""
        chunks, pins = self.chunks(), self.pins()

        @cache
        def is_stale(key: Chunk) -> bool:
            run_id = chunks[key].run_id
            if run_id is None:
                return False
            if run_id in self.tainted:
                return True
            if ON_CHANGE[key[0]] == "ignore":
                return False
            accepted = self.accepted.get(run_id, {})
            return run_id in self.born or any(
                accepted.get(read, version) < chunks[read].version
                or (read not in accepted and version <= self.wrong.get(read, 0))
                or is_stale(read)
                for read, version in pins[run_id].items()
            )

        return {key for key in chunks if is_stale(key)}

    def made_from(self, key: Chunk) -> set[Chunk]:
        """The published results that were made from a chunk in any version, down the line."""
        chunks, pins = self.chunks(), self.pins()
        found, size = {key}, 0
        while size != len(found):
            size = len(found)
            found |= {
                other for other, chunk in chunks.items() if chunk.run_id and found & pins[chunk.run_id].keys()
            }
        return found

    @invariant()
    def a_stale_result_is_redone_unless_its_job_asks(self) -> None:
        works = self.world.select(
            "SELECT j.name, w.dataid, w.state, w.missing FROM work w JOIN job j ON j.job_id = w.job_id"
        )
        chunks = self.chunks()
        for job, dataid, state, missing in works:
            assert (state == "CLAIMABLE") <= (missing == 0)
            chunk = chunks.get((JOBS[job][1][0], dataid))
            if chunk is not None and chunk.stale and JOBS[job][2] == "rerun":
                assert state != "DONE", (job, dataid)

    def chunks(self) -> dict[Chunk, Facts]:
        rows = self.world.select(
            "SELECT d.name, c.dataid, c.version, c.run_id, c.stale, c.withdrawn "
            "FROM chunk c JOIN dataset d ON d.dataset_id = c.dataset_id WHERE c.version > 0"
        )
        return {(row[0], row[1]): Facts(row[2], row[3], bool(row[4]), bool(row[5])) for row in rows}

    def pins(self) -> dict[int, dict[Chunk, int]]:
        """What each run has read."""
        found: dict[int, dict[Chunk, int]] = {
            row[0]: {} for row in self.world.select("SELECT run_id FROM run")
        }
        for run_id, dataset, dataid, version in self.world.select(
            "SELECT i.run_id, d.name, c.dataid, i.version FROM run_input i JOIN chunk c "
            "ON c.chunk_id = i.chunk_id JOIN dataset d ON d.dataset_id = c.dataset_id"
        ):
            found[run_id][dataset, dataid] = version
        return found

    def _read(self, run: Run) -> None:
        """What a run that is about to finish well has read by now."""
        pins, chunks = self.pins()[run.run_id], self.chunks()
        if any(chunks[key].withdrawn for key in pins):
            self.born.add(run.run_id)
        if JOBS[run.job][2] == "ignore" and any(
            version <= max(self.wrong.get(key, 0), self.spoilt.get(key, 0)) for key, version in pins.items()
        ):
            self.tainted.add(run.run_id)

    def _try(self, verb: Any) -> Any:
        """What the verb returns; None if it refuses."""
        try:
            return verb()
        except (errors.Conflict, errors.UnknownName):
            return None


class Facts:
    """What is published of a chunk."""

    def __init__(self, version: int, run_id: int | None, stale: bool, withdrawn: bool) -> None:
        self.version, self.run_id, self.stale, self.withdrawn = version, run_id, stale, withdrawn


ON_CHANGE = {name: on_change for _, outputs, on_change in JOBS.values() for name in outputs}
CALM = settings(deadline=None, suppress_health_check=list(HealthCheck), stateful_step_count=30)


@pytest.mark.parametrize("sequences", [30, pytest.param(300, marks=pytest.mark.full)])
def test_after_any_sequence_on_sqlite_exactly_what_was_made_from_old_versions_is_stale(
    sequences: int,
) -> None:
    class OnSqlite(Change):
        def open_world(self) -> World:
            return open_sqlite(":memory:")

    run_state_machine_as_test(OnSqlite, settings=settings(CALM, max_examples=sequences))


@pytest.mark.parametrize("sequences", [3, pytest.param(20, marks=pytest.mark.full)])
def test_after_any_sequence_on_postgresql_exactly_what_was_made_from_old_versions_is_stale(
    shared_database_url: str, sequences: int
) -> None:
    class OnPostgres(Change):
        def open_world(self) -> World:
            return open_postgres(shared_database_url)

    run_state_machine_as_test(OnPostgres, settings=settings(CALM, max_examples=sequences))
