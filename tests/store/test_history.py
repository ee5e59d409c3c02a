"""History outlives what it is about: ids are never given again, and a run keeps the name of its job."""

from __future__ import annotations

from dataflow.model.status import RunOutcome
from dataflow.store.store import BULK_BATCH
from tests.store.world import World


def test_the_runs_of_a_removed_job_keep_its_name(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.do("to_clean")
    world.remove_job("to_clean")
    found = world.store.find_run(run.run_id)
    assert found is not None
    assert found.job == "to_clean"
    assert [row.run_id for row in world.store.list_runs(job="to_clean")] == [run.run_id]
    world.job("to_clean_again", ["raw"], ["clean"])
    assert [row.job for row in world.store.list_runs()] == ["to_clean"]


def test_ids_of_what_was_removed_are_not_given_again(world: World) -> None:
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


def test_the_last_done_of_a_removed_job_is_not_that_of_another(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    world.remove_job("to_clean")
    plan = world.job("other", ["raw"], ["clean"])
    assert world.store.find("explain.last_done", job_id=plan.job_id) is None


def test_the_age_of_work_counts_from_when_it_was_called_for(world: World) -> None:
    world.chain("raw", "clean", retries=5, retry_delay_seconds=60)
    world.ready("raw", "1")

    def called_at() -> object:
        return world.select("SELECT called_at FROM work")[0][0]

    first = called_at()
    for _ in range(3):
        world.do("to_clean", outcome=RunOutcome.FAILED)
        world.advance(60)
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


def test_purging_looks_at_each_run_once(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    columns = "work_id, job_id, job, dataid, attempt, claimant, host, boot_id, pid, user_name, environment"
    more = "started_at, lease_seconds, grace_seconds, lease_until, clock_id, ended_at, outcome"
    for _ in range(13):  # to more than two batches
        world.poke(
            f"INSERT INTO run ({columns}, {more}, token) SELECT {columns}, {more}, token FROM run ORDER BY run_id"
        )
    count = world.select("SELECT count(*) FROM run")[0][0]
    assert count > 2 * BULK_BATCH
    seen = Seen(world)
    assert seen.world.store.purge("2999-01-01T00:00:00Z") > count - 10
    assert len(world.store.list_runs()) == 1
    assert len(seen.places) == len(set(seen.places)) > 2


class Seen:
    """A world that remembers from which run on each purge has looked."""

    def __init__(self, world: World) -> None:
        self.places: list[int] = []
        self.world = world
        real = world.store.database.write

        def write(verb):  # type: ignore[no-untyped-def]
            return real(verb)

        del write
