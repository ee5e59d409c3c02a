"""Guards behind another guard: only the bare statement shows that they hold.

Each function gives a statement a chance it must not take; the verbs above would not even ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from dataflow.model.records import Run
from dataflow.model.status import RunOutcome
from tests.store.world import LEASE_SECONDS, World

if TYPE_CHECKING:
    from dataflow.store.database import Transaction

Answer = TypeVar("Answer")

ENDINGS: dict[str, dict[str, Any]] = {
    "finish.work_done": {},
    "finish.work_outdated": {},
    "finish.work_failed": {"reason": "", "retries": 0, "retry_delay_seconds": 0.0},
    "finish.work_ended": {"reason": "", "state": "FAILED"},
    "finish.work_returned": {"reason": "", "delay_seconds": 0.0},
    "claim.free_work": {"reason": "", "max_crashes": 10, "delay_seconds": 5.0},
    "operate.revoke_work": {"reason": "", "state": "FAILED"},
}
"""The statements that take work from a run, with their other parameters."""


def run_of(world: World) -> Run:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    return world.take("to_clean")


def bare(world: World, statement: Callable[[Transaction], Answer]) -> Answer:
    return world.store.database.write(statement)


def ending_of_work_that_another_run_holds(query: str) -> Callable[[World], None]:
    def scenario(world: World) -> None:
        old = run_of(world)
        world.advance(LEASE_SECONDS)
        world.take("to_clean", claimant="second")
        where = {"work_id": old.work_id, "run_id": old.run_id}
        assert bare(world, lambda tx: tx.find(query, **where, **ENDINGS[query])) is None
        assert world.state("to_clean", "1") == "RUNNING"

    return scenario


def ending_of_work_that_is_not_running(query: str) -> Callable[[World], None]:
    def scenario(world: World) -> None:
        run = run_of(world)
        world.finish(run, RunOutcome.INVALID)
        where = {"work_id": run.work_id, "run_id": run.run_id}
        assert bare(world, lambda tx: tx.find(query, **where, **ENDINGS[query])) is None
        assert world.state("to_clean", "1") == "INVALID"

    return scenario


def remembering_another_script(world: World) -> None:
    job_id = run_of(world).job_id

    def remember(path: str) -> int:
        return bare(world, lambda tx: tx.run("claim.set_script_path", job_id=job_id, script_path=path))

    assert (remember("/etl/clean.sh"), remember("/elsewhere/clean.sh")) == (1, 0)


def taking_work_that_is_not_as_it_was_found(world: World) -> None:
    run = run_of(world)
    world.finish(run, RunOutcome.INTERRUPTED)
    where = {"work_id": run.work_id, "run_id": run.run_id + 1, "state": "WAITING"}
    assert bare(world, lambda tx: tx.find("claim.take", **where)) is None


def taking_work_for_a_run_older_than_its_last(world: World) -> None:
    run = run_of(world)
    world.finish(run, RunOutcome.INTERRUPTED)
    where = {"work_id": run.work_id, "run_id": run.run_id, "state": "CLAIMABLE"}
    assert bare(world, lambda tx: tx.find("claim.take", **where)) is None


def freeing_a_live_run(world: World) -> None:
    run = run_of(world)
    assert _freed(world, run, []) is None
    assert world.renew(run) == {run.run_id}


def freeing_an_ended_run(world: World) -> None:
    run = run_of(world)
    world.finish(run)
    assert _freed(world, run, ["first"]) is None
    assert world.outcome(run) == "DONE"


def freeing_a_run_of_the_boot_before(world: World) -> None:
    run = run_of(world)
    world.poke("UPDATE run SET clock_id = 'the boot before'")
    assert _freed(world, run, []) is not None


def freeing_a_run_of_a_dead_claimant(world: World) -> None:
    assert _freed(world, run_of(world), ["first"]) is not None


def listing_live_runs_as_lapsed(world: World) -> None:
    run = run_of(world)
    assert world.store.list_lapsed(run.job_id, ()) == []


def listing_ended_runs_as_lapsed(world: World) -> None:
    run = run_of(world)
    world.finish(run)
    world.advance(LEASE_SECONDS)
    assert world.store.list_lapsed(run.job_id, ()) == []


def resubmitting_running_work(world: World) -> None:
    run = run_of(world)

    def statement(tx: Transaction) -> list[Any]:
        calls = tx.calls([(run.job_id, 0, "1", "", 0)])
        return tx.rows("publish.do_again", reason="", resubmitted=True, **calls)

    assert bare(world, statement) == []
    assert world.state("to_clean", "1") == "RUNNING"


def acknowledging_for_a_later_run(world: World) -> None:
    run = run_of(world)
    world.advance(LEASE_SECONDS)
    world.finish(world.take("to_clean"), RunOutcome.RETURNED, delay_seconds=30)
    where = {"work_id": run.work_id, "run_id": run.run_id}
    assert bare(world, lambda tx: tx.run("operate.acknowledge_work", **where)) == 0


def marking_work_that_is_not_as_it_was_found(world: World) -> None:
    run = run_of(world)
    where = {"work_id": run.work_id, "from_state": "CLAIMABLE", "state": "FAILED", "reason": ""}
    assert bare(world, lambda tx: tx.run("operate.mark", **where)) == 0


def moving_a_calendar_that_somebody_moved(world: World) -> None:
    dataset_id = world.dataset("days", grain="daily")
    world.poke(f"INSERT INTO calendar (dataset_id, expression, due_at) VALUES ({dataset_id}, '@daily', 200)")
    where = {"dataset_id": dataset_id, "cursor_at": 0.0, "due_at": 300.0, "was_due_at": 100.0}
    assert bare(world, lambda tx: tx.run("registration.move_calendar", **where)) == 0


def _freed(world: World, run: Run, dead: list[str]) -> Any:
    return bare(world, lambda tx: tx.find("claim.free_run", run_id=run.run_id, reason="", **tx.names(dead)))


def renewing_open_work(world: World) -> None:
    run = run_of(world)
    world.finish(run, RunOutcome.RETURNED)
    calls = [(run.job_id, 0, "1", "", 0)]
    where = {"reason": "", "resubmitted": False}
    assert bare(world, lambda tx: tx.rows("publish.do_again", **where, **tx.calls(calls))) == []


def accepted(world: World, flag: str) -> list[Any]:
    """Bare: what making a chunk current says about it, in a state that no operator gets to accept."""
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean")
    world.poke(f"UPDATE chunk SET {flag} WHERE location <> ''")
    (chunk_id,) = world.select("SELECT chunk_id FROM chunk WHERE location <> ''")[0]
    rows = bare(world, lambda tx: tx.rows("change.make_current", **tx.ids([chunk_id])))
    return [bool(row[4]) for row in rows]


def accepting_a_withdrawn_chunk(world: World) -> None:
    assert accepted(world, "stale = TRUE, withdrawn = TRUE") == [False]


def accepting_a_chunk_that_is_overwritten(world: World) -> None:
    assert accepted(world, "stale = TRUE, dirty_run_id = 7") == [False]


def accepting_a_current_chunk(world: World) -> None:
    assert accepted(world, "stale = FALSE") == []


def settling_running_work(world: World) -> None:
    run = run_of(world)
    calls = [(run.job_id, 0, "1", "", 0)]
    bare(world, lambda tx: tx.run("change.settle", reason="", **tx.calls(calls)))
    assert world.state("to_clean", "1") == "RUNNING"
