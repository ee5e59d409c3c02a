"""History outlives its jobs and datasets: ids are never reused, and a run keeps the name of its job."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dataflow.model.status import RunOutcome
from dataflow.store.store import BULK_BATCH
from tests.store.faults import Delegate, Pause, PausingTransaction
from tests.store.world import World

if TYPE_CHECKING:
    from dataflow.store.database import Database, Result, Transaction


def test_the_runs_of_a_removed_job_keep_its_name(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.do("to_clean")
    world.remove_job("to_clean")
    found = world.store.read.find_run(run.run_id)
    assert found is not None
    assert found.job == "to_clean"
    assert [row.run_id for row in world.store.read.list_runs(job="to_clean")] == [run.run_id]
    world.job("to_clean_again", ["raw"], ["clean"])
    assert [row.job for row in world.store.read.list_runs()] == ["to_clean"]


def test_ids_of_removed_datasets_and_jobs_are_not_reused(world: World) -> None:
    ids = []
    for _ in range(2):
        world.chain("raw", "clean")
        world.ready("raw", "1")
        run = world.do("to_clean")
        ids.append((run.job_id, run.work_id, run.pins[0].chunk_id, world.dataset_record("clean")[0]))
        world.remove_job("to_clean")
        world.remove_dataset("raw")
        world.remove_dataset("clean")
    for first, second in zip(*ids, strict=True):
        assert second > first


def test_a_new_job_does_not_inherit_the_last_done_of_a_removed_one(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    world.remove_job("to_clean")
    plan = world.job("other", ["raw"], ["clean"])
    assert world.store.read.find_last_done(plan.job_id) is None


def test_the_age_of_work_counts_from_when_it_was_created(world: World) -> None:
    world.chain("raw", "clean", retries=5, retry_delay_seconds=60)
    world.ready("raw", "1")

    def called_at() -> object:
        return world.select("SELECT called_at FROM work")[0][0]

    first = called_at()
    for _ in range(3):
        world.do("to_clean", outcome=RunOutcome.FAILED)
        world.advance(300)
        assert not world.claim("to_clean", dataid="none")
    world.withdraw("raw", "1")
    assert called_at() == first
    world.resubmit("to_clean", "1")
    again = called_at()
    assert again != first
    world.advance(5)
    world.ready("raw", "1")
    assert called_at() == again
    world.do("to_clean")
    world.advance(5)
    world.ready("raw", "1", again=True)
    assert called_at() != again


def test_purging_reads_each_run_once(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    columns = "work_id, job_id, job, dataid, attempt, claimant, host, boot_id, pid, user_name, environment"
    more = "started_at, lease_seconds, grace_seconds, lease_until, clock_id, ended_at, outcome, token"
    for _ in range(13):  # to more than two batches
        world.poke(f"INSERT INTO run ({columns}, {more}) SELECT {columns}, {more} FROM run ORDER BY run_id")
    count = world.select("SELECT count(*) FROM run")[0][0]
    assert count > 2 * BULK_BATCH
    watching = Watching(world.store.database)
    assert world.beside(watching).store.purge("2999-01-01T00:00:00Z") > count - 10
    assert len(world.store.read.list_runs()) == 1
    ends = [last for _, last in watching.looked_at]
    assert len(ends) > 2
    assert watching.looked_at == list(zip([0, *ends], ends, strict=False))


class Watching(Delegate):
    """Records which range of runs each purge has read."""

    def __init__(self, inner: Database) -> None:
        super().__init__(inner)
        self.looked_at: list[tuple[int, int]] = []

    def write(self, verb: Callable[[Transaction], Result]) -> Result:
        return self.inner.write(lambda tx: verb(WatchedTransaction(tx, Pause(), self)))


class WatchedTransaction(PausingTransaction):
    """A transaction that records its purges."""

    def __init__(self, inner: Transaction, pause: Pause, watching: Watching) -> None:
        super().__init__(inner, pause, after="")
        self._watching = watching

    def run(self, name: str, /, **parameters: Any) -> int:
        if name == "operate.purge_runs":
            self._watching.looked_at.append((parameters["after"], parameters["last"]))
        return super().run(name, **parameters)
