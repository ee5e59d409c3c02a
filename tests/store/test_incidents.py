"""Incidents: one per kind and job or dataset, written with the change of state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from benchmarks.statements import RecordingDatabase
from dataflow.errors import UnknownName
from dataflow.model.incident import Incident
from dataflow.model.records import Ending, Job, Run
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store.incidents import close_left_behind
from tests.store.races import race
from tests.store.world import World, make_request

MAX_CRASHES = Job("any").max_crashes


def incidents(world: World, closed: bool = False) -> list[Incident]:
    return world.store.watching.list_incidents(closed, 100)


def kinds(world: World, closed: bool = False) -> list[tuple[str, str, int]]:
    return [(one.kind, one.job or one.dataset, one.items) for one in incidents(world, closed)]


def events(world: World) -> list[tuple[int, str]]:
    return [
        (int(a), b)
        for a, b in world.select("SELECT incident_id, event FROM notification ORDER BY notification_id")
    ]


def failing(world: World, *dataids: str) -> None:
    world.chain("orders", "totals")
    world.ready("orders", *dataids)
    for dataid in dataids:
        world.do("to_totals", dataid, RunOutcome.FAILED, reason=f"exit code 1 of {dataid}", final=True)


def test_the_first_chunk_opens_an_incident_and_the_others_are_counted(world: World) -> None:
    failing(world, "a", "b", "c")
    (found,) = incidents(world)
    assert (found.kind, found.job, found.items) == ("failed", "to_totals", 3)
    assert (found.dataid, found.reason) == ("a", "exit code 1 of a")
    assert [event for _, event in events(world)] == ["opened"]


def test_an_incident_closes_when_its_last_chunk_is_done_and_not_when_it_is_resubmitted(world: World) -> None:
    failing(world, "a", "b")
    world.resubmit("to_totals", "a", "b")
    assert kinds(world) == [("failed", "to_totals", 2)]
    world.do("to_totals", "a")
    assert kinds(world) == [("failed", "to_totals", 2)]
    world.do("to_totals", "b")
    assert kinds(world) == []
    (closed,) = incidents(world, closed=True)
    assert closed.recovered
    assert [event for _, event in events(world)] == ["opened", "recovered"]


def test_a_chunk_that_fails_again_is_counted_once(world: World) -> None:
    failing(world, "a")
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a", RunOutcome.FAILED, final=True)
    assert kinds(world) == [("failed", "to_totals", 1)]
    assert [event for _, event in events(world)] == ["opened"]


def test_an_attempt_that_will_be_retried_opens_nothing(world: World) -> None:
    world.chain("orders", "totals", retries=1)
    world.ready("orders", "a")
    world.do("to_totals", "a", RunOutcome.FAILED)
    assert kinds(world) == []


def test_work_that_becomes_invalid_moves_to_the_other_incident_without_a_recovery(world: World) -> None:
    failing(world, "a")
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a", RunOutcome.INVALID)
    assert kinds(world) == [("invalid", "to_totals", 1)]
    assert [event for _, event in events(world)] == ["opened", "opened"]


def test_jobs_have_incidents_of_their_own(world: World) -> None:
    world.chain("orders", "totals", "report")
    world.ready("orders", "a")
    world.ready("totals", "b")
    world.do("to_totals", "a", RunOutcome.FAILED, final=True)
    world.do("to_report", "b", RunOutcome.FAILED, final=True)
    assert sorted(kinds(world)) == [("failed", "to_report", 1), ("failed", "to_totals", 1)]


def test_a_new_failure_after_the_recovery_opens_a_new_incident(world: World) -> None:
    failing(world, "a")
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a")
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a", RunOutcome.FAILED, final=True)
    assert len(incidents(world, closed=True)) == 2
    assert len(incidents(world)) == 1


def test_work_whose_runs_keep_dying_is_in_quarantine(world: World) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a")
    for attempt in range(MAX_CRASHES):
        world.advance(1000)
        world.finish(world.take("to_totals", "a"), RunOutcome.LOST, reason="its process died")
        assert kinds(world) == ([] if attempt < MAX_CRASHES - 1 else [("quarantine", "to_totals", 1)])


def test_a_dead_run_found_by_the_next_claim_may_open_the_incident(world: World) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a")
    world.take("to_totals", "a")
    world.poke(f"UPDATE work SET losses = {MAX_CRASHES - 1}")
    world.advance(1000)
    assert world.claim("to_totals") == ()
    assert world.state("to_totals", "a") == "FAILED"
    assert kinds(world) == [("quarantine", "to_totals", 1)]


def test_what_an_operator_marks_and_cancels_counts_too(world: World) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a", "b", "c")
    world.cancel(world.take("to_totals", "a"))
    world.mark("to_totals", "b", WorkState.FAILED)
    world.mark("to_totals", "c", WorkState.INVALID)
    assert sorted(kinds(world)) == [("failed", "to_totals", 2), ("invalid", "to_totals", 1)]
    world.mark("to_totals", "a", WorkState.FAILED)
    world.mark("to_totals", "b", WorkState.DONE)
    assert sorted(kinds(world)) == [("failed", "to_totals", 2), ("invalid", "to_totals", 1)]
    world.advance(1000)
    world.mark("to_totals", "a", WorkState.DONE)
    assert kinds(world) == [("invalid", "to_totals", 1)]


def test_a_transaction_that_is_rolled_back_leaves_no_incident(world: World) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a")
    run = world.take("to_totals", "a")
    plan = world.plan("to_totals")
    world.store.rehearse(lambda store: World(store, world.clock).finish(run, RunOutcome.FAILED, final=True))
    assert plan.job.name == "to_totals"
    assert kinds(world) == []
    assert events(world) == []


def test_removing_a_job_closes_its_incidents_without_a_recovery(world: World) -> None:
    failing(world, "a")
    world.store.watching.fan_out("ops", lambda *_: True)
    world.remove_job("to_totals")
    assert kinds(world) == []
    assert [event for _, event in events(world)] == ["opened"]
    assert world.store.watching.take_delivery("ops", "token", 60) is None


def test_an_incident_whose_work_another_version_finished_is_closed_by_whoever_looks(world: World) -> None:
    failing(world, "a")
    world.poke("UPDATE work SET state = 'DONE'")
    assert kinds(world) == [("failed", "to_totals", 1)]
    world.store.watching.look_at_clocks()
    assert kinds(world) == []
    assert [event for _, event in events(world)] == ["opened", "recovered"]


def test_a_run_that_succeeds_without_an_incident_asks_nothing_about_incidents(world: World) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a", "b")
    world.do("to_totals", "a", RunOutcome.FAILED, final=True)
    run = world.take("to_totals", "b")
    recorder: Any = RecordingDatabase(world.store.database)
    world.beside(recorder).finish(run)
    assert [name for name, _ in recorder.steps if name.startswith(("watch.", "outbox."))] == []


def test_incidents_are_locked_after_everything_that_a_batch_finishes_and_claims(world: World) -> None:
    world.chain("orders", "totals")
    world.ready("orders", "a", "b", "c")
    failed, done = world.claim("to_totals", 2)
    endings = (Ending(failed, RunOutcome.FAILED, final=True), Ending(done, RunOutcome.RETURNED))
    recorder: Any = RecordingDatabase(world.store.database)
    world.beside(recorder).store.finish_and_claim(world.plan("to_totals"), endings, make_request())
    names = [name for name, _ in recorder.steps if name not in ("begin", "commit")]
    first = names.index("watch.incident_of")
    assert first > 0 and all(name.startswith("watch.") for name in names[first:]), names


def test_the_last_two_chunks_done_at_once_close_the_incident_once(postgres_world: World) -> None:
    world = postgres_world
    failing(world, "a", "b")
    world.resubmit("to_totals", "a", "b")
    first, second = world.take("to_totals", "a"), world.take("to_totals", "b")
    raced = race(world, lambda w: w.finish(first), lambda w: w.finish(second))
    assert raced.waited
    assert kinds(world) == []
    assert [event for _, event in events(world)] == ["opened", "recovered"]


def test_a_chunk_that_fails_while_the_last_other_is_done_keeps_an_incident_open(
    postgres_world: World,
) -> None:
    world = postgres_world
    failing(world, "a")
    world.resubmit("to_totals", "a")
    world.ready("orders", "b")
    first, second = world.take("to_totals", "a"), world.take("to_totals", "b")
    race(world, lambda w: w.finish(first), lambda w: w.finish(second, RunOutcome.FAILED, final=True))
    (found,) = incidents(world)
    assert (found.dataid, found.items) == ("b", 1)
    assert [event for _, event in events(world)] == ["opened", "recovered", "opened"]


def test_the_last_chunk_done_while_another_fails_leaves_the_incident_open(postgres_world: World) -> None:
    world = postgres_world
    failing(world, "a")
    world.resubmit("to_totals", "a")
    world.ready("orders", "b")
    first, second = world.take("to_totals", "a"), world.take("to_totals", "b")
    raced = race(world, lambda w: w.finish(second, RunOutcome.FAILED, final=True), lambda w: w.finish(first))
    assert raced.waited
    (found,) = incidents(world)
    assert (found.dataid, found.items) == ("a", 2)
    assert [event for _, event in events(world)] == ["opened"]


def test_chunks_that_fail_at_once_share_an_incident(postgres_world: World) -> None:
    world = postgres_world
    world.chain("orders", "totals")
    world.ready("orders", "a", "b")
    first, second = world.claim("to_totals", 2)

    def fail(run: Run) -> Callable[[World], object]:
        return lambda one: one.finish(run, RunOutcome.FAILED, final=True)

    race(world, fail(first), fail(second))
    assert kinds(world) == [("failed", "to_totals", 2)]
    assert [event for _, event in events(world)] == ["opened"]


def test_an_acknowledged_incident_says_by_whom_and_why(world: World) -> None:
    failing(world, "a")
    (found,) = incidents(world)
    world.store.watching.acknowledge(found.incident_id, "I am on it")
    (found,) = incidents(world)
    assert (found.acknowledged_by, found.acknowledged_why) == ("op@desk", "I am on it")
    (line,) = world.journal("ack")
    assert line["why"] == f"incident {found.incident_id} (failed): I am on it"


def test_only_an_open_incident_can_be_acknowledged(world: World) -> None:
    failing(world, "a")
    (found,) = incidents(world)
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a")
    for number in (found.incident_id, 4711):
        with pytest.raises(UnknownName, match=f"No open incident {number}"):
            world.store.watching.acknowledge(number, "")


def test_purge_deletes_closed_incidents_and_keeps_open_ones(world: World) -> None:
    failing(world, "a", "b")
    world.store.watching.fan_out("ops", lambda *_: True)
    world.resubmit("to_totals", "a", "b")
    world.drain("to_totals")
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a", RunOutcome.FAILED, final=True)
    world.store.purge("2999-01-01T00:00:00Z")
    assert len(incidents(world, closed=True)) == 1
    assert [event for _, event in events(world)] == ["opened"]
    assert world.select("SELECT * FROM delivery") == []


def test_purge_keeps_the_deliveries_of_open_incidents(world: World) -> None:
    failing(world, "a")
    world.store.watching.fan_out("ops", lambda *_: True)
    world.store.purge("2999-01-01T00:00:00Z")
    assert len(world.select("SELECT * FROM delivery")) == 1


def test_removing_a_job_leaves_what_was_sent_as_it_is(world: World) -> None:
    failing(world, "a")
    world.store.watching.fan_out("ops", lambda *_: True)
    taken = world.store.watching.take_delivery("ops", "token", 60)
    assert taken is not None
    world.store.watching.record_sent(taken.notification_id, "ops", "token")
    world.remove_job("to_totals")
    assert world.select("SELECT state FROM delivery") == [("sent",)]


def test_removing_a_job_does_not_silence_an_earlier_recovery(world: World) -> None:
    failing(world, "a")
    world.store.watching.fan_out("ops", lambda *_: True)
    world.resubmit("to_totals", "a")
    world.do("to_totals", "a")
    world.store.watching.fan_out("ops", lambda *_: True)
    world.mark("to_totals", "a", WorkState.FAILED)
    world.remove_job("to_totals")
    assert world.select("SELECT state FROM delivery") == [("due",), ("due",)]


def test_an_incident_of_a_removed_job_is_told_to_nobody(world: World) -> None:
    failing(world, "a")
    world.store.watching.fan_out("ops", lambda *_: False)
    world.mark("to_totals", "a", WorkState.DONE)
    world.mark("to_totals", "a", WorkState.FAILED)
    world.remove_job("to_totals")
    assert world.store.watching.fan_out("ops", lambda *_: True) == 0


def test_looking_does_not_close_an_incident_whose_work_is_unfinished(world: World) -> None:
    failing(world, "a", "b")
    (found,) = incidents(world)
    world.poke("UPDATE work SET state = 'DONE' WHERE dataid = 'a'")
    database = world.store.database
    database.write(lambda tx: close_left_behind(tx, found.incident_id))
    assert kinds(world) == [("failed", "to_totals", 2)]


def test_a_stale_result_that_asks_is_an_incident_until_somebody_decides(world: World) -> None:
    world.chain("orders", "totals", on_change="ask")
    world.ready("orders", "a", "b")
    world.drain("to_totals")
    world.ready("orders", "a", "b", again=True)
    assert kinds(world) == []
    for _ in range(2):
        world.store.watching.look_at_clocks()
        assert kinds(world) == [("asking", "to_totals", 2)]
    world.accept("to_totals", "a")
    world.store.watching.look_at_clocks()
    assert kinds(world) == [("asking", "to_totals", 2)]
    world.resubmit("to_totals", "b")
    world.store.watching.look_at_clocks()
    assert kinds(world) == []
    assert [event for _, event in events(world)] == ["opened", "recovered"]
