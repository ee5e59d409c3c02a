"""The table of legal moves."""

from __future__ import annotations

from dataflow.model.status import FINAL, FOLLOWING, MOVES, UNFINISHED, RunOutcome, Status, WorkState


def test_every_state_can_be_reached_and_left() -> None:
    left = {state for before, _ in MOVES.values() for state in before}
    reached = {state for _, after in MOVES.values() for state in after}
    assert left == reached == set(WorkState)


def test_only_a_claim_or_a_force_makes_work_running() -> None:
    assert {name for name, (_, after) in MOVES.items() if WorkState.RUNNING in after} == {"claim", "force"}


def test_running_work_is_left_only_by_its_run_its_death_or_an_operator() -> None:
    leaving = {name for name, (before, _) in MOVES.items() if WorkState.RUNNING in before}
    assert leaving == {"finish", "free", "cancel", "mark"}


def test_a_move_that_only_follows_never_starts_ends_or_takes_a_run() -> None:
    for name in FOLLOWING:
        before, after = MOVES[name]
        assert WorkState.RUNNING not in before | after
        assert after <= UNFINISHED


def test_states_are_running_final_or_unfinished_and_never_two_of_them() -> None:
    assert FINAL | UNFINISHED | {WorkState.RUNNING} == set(WorkState)
    assert not FINAL & UNFINISHED


def test_a_final_state_is_an_outcome_and_a_status_of_the_same_name() -> None:
    for state in FINAL:
        assert RunOutcome(state)
    assert Status(WorkState.FAILED) is Status.FAILED
    assert Status(WorkState.INVALID) is Status.INVALID
