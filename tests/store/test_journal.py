"""Every move leaves an entry: who, what, from which state to which, and why."""

from __future__ import annotations

import pytest

from dataflow.model.status import FOLLOWING, MOVES, RunOutcome, WorkState
from tests.store.world import LEASE_SECONDS, World


def moves_of(world: World) -> list[tuple[str, str, str]]:
    return [
        (row["action"], row["from_state"], row["to_state"])
        for row in world.journal()
        if row["action"] in MOVES
    ]


def test_the_journal_shows_the_whole_life_of_a_work(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.INTERRUPTED)
    world.take("to_clean")
    world.advance(LEASE_SECONDS)
    world.cancel(world.take("to_clean"))
    world.resubmit("to_clean", "1")
    world.advance(LEASE_SECONDS)
    world.take("to_clean")
    world.mark("to_clean", "1", WorkState.INVALID)
    world.advance(LEASE_SECONDS)
    world.finish(world.force("to_clean", "1"))
    assert moves_of(world) == [
        ("claim", "CLAIMABLE", "RUNNING"),
        ("finish", "RUNNING", "CLAIMABLE"),
        ("claim", "CLAIMABLE", "RUNNING"),
        ("free", "RUNNING", "CLAIMABLE"),
        ("claim", "CLAIMABLE", "RUNNING"),
        ("cancel", "RUNNING", "FAILED"),
        ("resubmit", "FAILED", "WAITING"),
        ("claim", "CLAIMABLE", "RUNNING"),
        ("mark", "RUNNING", "INVALID"),
        ("force", "INVALID", "RUNNING"),
        ("finish", "RUNNING", "DONE"),
    ]
    assert {(row["job"], row["dataid"]) for row in world.journal() if row["action"] in MOVES} == {
        ("to_clean", "1")
    }


def test_every_entry_has_a_person_and_a_time(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    world.cancel(run)
    ready, claim, cancel = world.journal()
    assert (ready["actor"], claim["actor"], cancel["actor"]) == ("op@desk", "etl@etl1", "op@desk")
    assert (claim["run_id"], cancel["run_id"]) == (run.run_id, run.run_id)
    assert cancel["why"] == "cancelled by op@desk: stop"
    assert all(row["at"] for row in (ready, claim, cancel))


def test_a_bulk_batch_is_one_entry(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    world.drain("to_clean")
    world.resubmit("to_clean", "1", "2")
    world.hold("to_clean", "1", "2")
    world.withdraw("raw", "1", "2")
    lines = [row for row in world.journal() if row["action"] not in ("claim", "finish")]
    assert [(row["action"], row["items"], row["dataid"]) for row in lines] == [
        ("ready", 3, ""),
        ("resubmit", 2, ""),
        ("hold", 2, ""),
        ("withdraw", 2, ""),
    ]


def test_a_verb_that_changes_nothing_leaves_no_entry(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    before = len(world.journal())
    world.ready("raw", "1")
    world.release("to_clean")
    world.release("to_clean", "1")
    world.withdraw("raw", "9")
    assert not world.claim("to_clean", dataid="9")
    assert len(world.journal()) == before


def test_a_refused_move_leaves_no_entry(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    before = len(world.journal())
    for refused in (lambda: world.resubmit("to_clean", "1"), lambda: world.store.cancel(run.run_id + 1, "")):
        with pytest.raises(Exception, match=r"Wait for it|No run"):
            refused()
    assert len(world.journal()) == before


def test_holding_and_releasing_a_job_is_journalled(world: World) -> None:
    world.chain("raw", "clean")
    world.hold("to_clean")
    world.release("to_clean")
    assert [(row["action"], row["job"], row["why"]) for row in world.journal()] == [
        ("hold", "to_clean", "wait"),
        ("release", "to_clean", "go"),
    ]


def test_moves_that_follow_from_others_have_no_entries(world: World) -> None:
    world.chain("raw", "clean", "report")
    world.ready("raw", "1")
    world.do("to_clean")
    world.do("to_report")
    world.ready("raw", "1", again=True)
    assert [row["action"] for row in world.journal()] == [
        "ready",
        "claim",
        "finish",
        "claim",
        "finish",
        "ready",
    ]
    assert not {row["action"] for row in world.journal()} & FOLLOWING
