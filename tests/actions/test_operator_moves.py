"""Resubmit, hold, release, mark and cancel."""

from __future__ import annotations

import pytest

from dataflow.actions import selection as module
from dataflow.actions.interventions import cancel, hold, mark, parse_run_id, release, resubmit
from dataflow.actions.register import add_dataset, add_job
from dataflow.actions.selection import Selection, count_selected
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import STAGED, World


@pytest.fixture
def bob(world: World) -> World:
    """Ten chunks of a job, none done yet."""
    for name in ("bobin", "bobout"):
        add_dataset(world.store, Dataset(name, location=STAGED))
    add_job(world.store, Job("loadbob", (JobInput("bobin"),), ("bobout",)))
    world.ready("bobin", *map(str, range(1, 11)))
    return world


def chosen(*dataids: str) -> Selection:
    return Selection(dataids=dataids)


def test_resubmitted_done_work_runs_again(bob: World) -> None:
    bob.drain("loadbob")
    assert resubmit(bob.store, bob.plan("loadbob"), chosen("2", "2", "10"), "bad day") == 2
    assert bob.drain("loadbob") == ["2", "10"]
    assert bob.journal("resubmit")[0]["why"] == "bad day"


def test_all_failed_or_invalid_work_is_resubmitted_in_bounded_batches(
    bob: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BULK_BATCH", 2)
    for number in range(1, 11):
        bob.do("loadbob", str(number), RunOutcome.FAILED if number < 8 else RunOutcome.INVALID)
    plan = bob.plan("loadbob")
    assert count_selected(bob.store, plan, Selection(state=WorkState.FAILED)) == 7
    assert resubmit(bob.store, plan, Selection(state=WorkState.FAILED)) == 7
    assert count_selected(bob.store, plan, Selection(state=WorkState.FAILED)) == 0
    assert bob.drain("loadbob") == [str(number) for number in range(1, 8)]
    assert resubmit(bob.store, plan, Selection(state=WorkState.INVALID)) == 3


def test_a_range_follows_the_order_of_the_grain(bob: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BULK_BATCH", 2)
    bob.drain("loadbob")
    plan = bob.plan("loadbob")
    assert count_selected(bob.store, plan, Selection(first="2", last="10")) == 9
    assert resubmit(bob.store, plan, Selection(first="9", last="11")) == 2
    assert bob.drain("loadbob") == ["9", "10"]
    with pytest.raises(BadInput, match="before --from"):
        resubmit(bob.store, plan, Selection(first="10", last="9"))


def test_running_work_is_refused_and_nothing_is_resubmitted(bob: World) -> None:
    run = bob.take("loadbob", "1")
    bob.drain("loadbob")
    plan = bob.plan("loadbob")
    for selection in (chosen("2", "1"), Selection(first="1", last="3")):
        with pytest.raises(Conflict, match=rf"loadbob/1 is RUNNING under run {run.run_id}.*dataflow cancel"):
            resubmit(bob.store, plan, selection)
    assert bob.claim("loadbob") == ()
    assert resubmit(bob.store, plan, chosen("2")) == 1


def test_unknown_work_is_refused_and_nothing_is_resubmitted(
    bob: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BULK_BATCH", 2)
    bob.drain("loadbob")
    with pytest.raises(
        UnknownName, match=r"no work 77 and 1 others; nothing was changed.*dataflow why loadbob 77"
    ):
        resubmit(bob.store, bob.plan("loadbob"), chosen("1", "2", "77", "78"))
    with pytest.raises(BadInput, match="is not valid"):
        resubmit(bob.store, bob.plan("loadbob"), chosen("1", "a/b"))
    assert bob.claim("loadbob") == ()


def test_held_work_is_skipped_until_released(bob: World) -> None:
    plan = bob.plan("loadbob")
    assert hold(bob.store, plan, chosen("1", "3"), "ask first") == 2
    assert hold(bob.store, plan, chosen("1")) == 0
    assert bob.status("bobout", "1") == "HOLD"
    assert "1" not in bob.drain("loadbob")
    assert release(bob.store, plan, Selection(first="1", last="2")) == 1
    assert bob.drain("loadbob") == ["1"]


def test_a_held_job_cannot_be_claimed(bob: World) -> None:
    plan = bob.plan("loadbob")
    assert hold(bob.store, plan) == 1
    assert hold(bob.store, plan) == 0
    assert bob.claim("loadbob") == ()
    assert release(bob.store, plan) == 1
    assert len(bob.drain("loadbob")) == 10


def test_marks_set_the_state_of_work(bob: World) -> None:
    plan = bob.plan("loadbob")
    assert mark(bob.store, plan, "1", "ready", "checked by hand") == "CLAIMABLE"
    assert (bob.state("loadbob", "1"), bob.status("bobout", "1")) == ("DONE", "READY")
    mark(bob.store, plan, "1", "INVALID")
    assert (bob.state("loadbob", "1"), bob.status("bobout", "1")) == ("INVALID", "INVALID")
    assert mark(bob.store, plan, "1", "RESUBMIT") == "INVALID"
    assert bob.state("loadbob", "1") == "CLAIMABLE"
    mark(bob.store, plan, "1", "FAILED")
    assert bob.state("loadbob", "1") == "FAILED"
    assert mark(bob.store, plan, "2", "HOLD") == "CLAIMABLE"
    assert bob.work("loadbob", "2").hold
    assert "checked by hand" in bob.journal("mark")[0]["why"]


def test_marking_running_work_takes_it_from_its_run(bob: World) -> None:
    run = bob.take("loadbob", "1")
    assert mark(bob.store, bob.plan("loadbob"), "1", "FAILED") == "RUNNING"
    assert bob.outcome(run) == "CANCELLED"
    assert bob.renew(run) == set()


@pytest.mark.parametrize("status", ["PENDING", "RUNNING", "STALE", "REDY", ""])
def test_other_marks_are_refused_with_the_known_ones(bob: World, status: str) -> None:
    with pytest.raises(BadInput, match="Known: READY, FAILED, INVALID, RESUBMIT, HOLD"):
        mark(bob.store, bob.plan("loadbob"), "1", status)
    assert bob.state("loadbob", "1") == "CLAIMABLE"


def test_unknown_work_is_not_marked(bob: World) -> None:
    for status in ("READY", "HOLD", "RESUBMIT"):
        with pytest.raises(UnknownName, match="no work 77"):
            mark(bob.store, bob.plan("loadbob"), "77", status)


def test_a_cancelled_run_can_do_nothing_more(bob: World) -> None:
    run = bob.take("loadbob", "1")
    told = cancel(bob.store, run.run_id, "wrong server")
    assert (told.job, told.dataid, told.host) == ("loadbob", "1", "etl1")
    assert bob.renew(run) == set()
    assert bob.state("loadbob", "1") == "FAILED"
    with pytest.raises(Conflict, match="already ended as CANCELLED"):
        cancel(bob.store, run.run_id)
    with pytest.raises(UnknownName, match="No run 4711"):
        cancel(bob.store, 4711)


@pytest.mark.parametrize("text", ["", "x", "-1", "1.0", "٣", "9" * 30])
def test_a_run_id_must_be_a_number(text: str) -> None:
    with pytest.raises(BadInput, match="dataflow runs"):
        parse_run_id(text)
