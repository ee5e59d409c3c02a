"""A verb repeated after a lost answer returns the first answer and changes nothing."""

from __future__ import annotations

import pytest

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.records import Ending
from dataflow.model.status import RunOutcome, WorkState
from tests.store.faults import LateCommit, LostAnswer
from tests.store.world import LEASE_SECONDS, World, make_request


def test_repeating_a_claim_whose_answer_was_lost_returns_the_same_runs(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    world.do("to_clean", "1")
    world.resubmit("to_clean", "1")
    deaf = world.beside(LostAnswer(world.store.database))
    runs = deaf.claim("to_clean", 2)
    assert [run.dataid for run in runs] == ["1", "2"]
    assert [row.run_id for row in world.store.read.list_runs(outcome="RUNNING")] == [
        run.run_id for run in reversed(runs)
    ]
    assert [[pin.dataid for pin in run.pins] for run in runs] == [["1"], ["2"]]
    assert [chunk.dataset for chunk in runs[0].replaces] == ["clean"]
    assert world.states("to_clean") == {"1": "RUNNING", "2": "RUNNING", "3": "CLAIMABLE"}
    assert [world.finish(run) for run in runs] == [WorkState.DONE, WorkState.DONE]


def test_repeating_a_claim_that_returned_nothing_can_return_a_run(world: World) -> None:
    world.chain("raw", "clean")
    deaf = world.beside(LostAnswer(world.store.database, meanwhile=lambda: world.ready("raw", "1")))
    assert [run.dataid for run in deaf.claim("to_clean")] == ["1"]


def test_a_repeated_claim_does_not_return_a_run_cancelled_meanwhile(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")

    def cancel() -> None:
        world.store.cancel(world.store.read.list_runs()[0].run_id, "")

    deaf = world.beside(LostAnswer(world.store.database, meanwhile=cancel))
    assert deaf.claim("to_clean") == ()
    assert world.states("to_clean") == {"1": "FAILED", "2": "CLAIMABLE"}


def test_repeating_a_finish_whose_answer_was_lost_is_accepted_once(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1", "2")
    run = world.take("to_clean")
    deaf = world.beside(LostAnswer(world.store.database))
    assert deaf.finish(run) is None
    assert (world.version("clean", "1"), world.present("to_report", "1")) == (1, [(1, 1)])
    assert len(world.journal("finish")) == 1


@pytest.mark.parametrize("how", ["cancelled", "lost", "of another claimant"])
def test_repeating_a_finish_does_not_accept_an_outcome_that_the_run_did_not_report(
    world: World, how: str
) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    if how == "cancelled":
        world.cancel(run)
    elif how == "lost":
        world.advance(LEASE_SECONDS)
        world.take("to_clean", claimant="second")
    else:  # the store was restored from a backup, and gave the same id to another run
        world.finish(run)
        run = replace(run, claimant="second")
    (state,), _ = world.store.finish_and_claim(
        world.plan("to_clean"), [Ending(run, RunOutcome.DONE)], None, repeat=True
    )
    assert isinstance(state, errors.LeaseLost)
    assert world.version("clean", "1") == (1 if how == "of another claimant" else 0)


def test_repeating_a_finish_and_claim_whose_answer_was_lost_happens_once(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    run = world.take("to_clean")
    deaf = world.beside(LostAnswer(world.store.database))
    states, result = deaf.store.finish_and_claim(
        world.plan("to_clean"), [Ending(run, RunOutcome.DONE)], make_request()
    )
    assert (states, [run.dataid for run in result.runs]) == ([None], ["2"])
    assert world.states("to_clean") == {"1": "DONE", "2": "RUNNING", "3": "CLAIMABLE"}


def test_a_repeated_failure_uses_one_attempt(world: World) -> None:
    world.chain("raw", "clean", retries=3)
    world.ready("raw", "1")
    run = world.take("to_clean")
    world.beside(LostAnswer(world.store.database)).finish(run, RunOutcome.FAILED)
    assert world.work("to_clean", "1").attempts == 1


def test_repeating_an_operator_verb_whose_answer_was_lost_returns_the_first_answer(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    run = world.take("to_clean")
    deaf = world.beside(LostAnswer(world.store.database))
    assert deaf.cancel(run)["dataid"] == "1"
    assert deaf.resubmit("to_clean", "1", "2") == 2
    assert deaf.hold("to_clean") == 1
    assert deaf.release("to_clean") == 1
    assert deaf.mark("to_clean", "2", WorkState.DONE) == "CLAIMABLE"
    assert world.version("clean", "2") == 1
    actions = [row["action"] for row in world.journal()]
    assert actions == ["ready", "claim", "cancel", "resubmit", "hold", "release", "mark"]


def test_repeating_ready_and_withdraw_whose_answers_were_lost_happens_once(world: World) -> None:
    world.chain("raw", "clean")
    deaf = world.beside(LostAnswer(world.store.database))
    assert deaf.ready("raw", "1", "2") == 2
    assert deaf.withdraw("raw", "2") == 1
    assert [(chunk.status, chunk.version) for chunk in world.chunks("raw")] == [("READY", 1), ("PENDING", 1)]
    assert [world.present("to_clean", dataid) for dataid in ("1", "2")] == [[(1, 1)], [(1, 0)]]


def test_repeating_a_publish_whose_answer_was_lost_creates_one_version(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    world.drain("to_clean")
    deaf = world.beside(LostAnswer(world.store.database))
    assert deaf.ready("raw", "1", "2", again=True) == 2
    assert [chunk.version for chunk in world.chunks("raw")] == [2, 2]
    assert [row["items"] for row in world.journal("ready")] == [2, 2]


def test_repeating_a_registration_whose_answer_was_lost_returns_the_first_answer(world: World) -> None:
    deaf = world.beside(LostAnswer(world.store.database))
    deaf.chain("raw", "clean")
    assert deaf.plan("to_clean").revision == 1
    deaf.ready("raw", "1")
    deaf.remove_job("to_clean")
    assert world.store.find_plan("to_clean") is None
    assert deaf.remove_dataset("raw") == 1


def test_purge_deletes_old_tokens_and_keeps_new_ones(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    count = "SELECT count(*) FROM verb_token WHERE action = 'ready'"
    world.store.purge("1999-01-01T00:00:00Z")
    assert world.select(count) == [(1,)]
    world.store.purge("2999-01-01T00:00:00Z")
    assert world.select(count) == [(0,)]


def test_repeating_a_renewal_is_harmless(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    assert world.beside(LostAnswer(world.store.database)).renew(run) == {run.run_id}


def test_repeating_verbs_that_are_still_committing_returns_the_first_answers(postgres_world: World) -> None:
    world = postgres_world
    late = world.beside(LateCommit(world.beside().store.database))
    late.chain("raw", "clean")
    assert late.ready("raw", "1", "2") == 2
    assert late.ready("raw", "2", again=True) == 1
    run = world.take("to_clean", "1")
    assert late.cancel(run)["dataid"] == "1"
    assert late.resubmit("to_clean", "1") == 1
    assert late.hold("to_clean") == 1
    assert late.release("to_clean") == 1
    assert late.mark("to_clean", "2", WorkState.FAILED) == "CLAIMABLE"
    assert late.withdraw("raw", "2") == 1
    actions = [row["action"] for row in world.journal()]
    assert [actions.count(action) for action in ("ready", "cancel", "resubmit", "mark")] == [2, 1, 1, 1]
    late.close()


def test_repeating_a_finish_and_claim_that_is_still_committing_is_accepted_once(
    postgres_world: World,
) -> None:
    world = postgres_world
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    late = world.beside(LateCommit(world.beside().store.database))
    (run,) = late.claim("to_clean")
    assert late.finish(run) is None
    assert (world.version("clean", "1"), len(world.journal("finish"))) == (1, 1)
    second = world.take("to_clean", "2")
    states, result = late.store.finish_and_claim(
        world.plan("to_clean"), [Ending(second, RunOutcome.DONE)], make_request()
    )
    assert (states, [each.dataid for each in result.runs]) == ([None], ["3"])
    assert world.states("to_clean") == {"1": "DONE", "2": "DONE", "3": "RUNNING"}
    late.close()
