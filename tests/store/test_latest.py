"""Inputs mapped `latest`: work waits until the newest chunk covers it, and reads that one."""

from __future__ import annotations

import random

import pytest

from dataflow.actions.oracle import list_discrepancies
from dataflow.model.dataid import dataid_range
from dataflow.model.grain import Grain
from dataflow.model.record import replace
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store import consumers
from dataflow.store.sqlite import SqliteDatabase
from tests.store.world import World


def make_view(world: World) -> World:
    """months (monthly), the latest of snap (daily) → view."""
    world.dataset("months", grain="monthly")
    world.dataset("snap", grain="daily")
    world.dataset("view", grain="monthly")
    world.job("to_view", ["months", "snap:latest"], ["view"])
    return world


@pytest.fixture
def view(world: World) -> World:
    return make_view(world)


def check(world: World) -> None:
    """The stored state must follow from what is published."""
    for plan in world.store.read.list_plans():
        assert list_discrepancies(world.store, plan) == []


def latest_of(world: World, dataid: str | None = None) -> tuple[str, int]:
    """Claim a run of the view and return the snapshot that it reads."""
    run = world.take("to_view", dataid)
    (pin,) = [pin for pin in run.pins if pin.position == 1]
    return pin.dataid, pin.version


def test_work_waits_until_a_chunk_covers_it_and_then_reads_the_newest(view: World) -> None:
    view.ready("months", "2017-11")
    assert view.present("to_view", "2017-11") == [(1, 1), (1, 0)]
    view.ready("snap", "2017-11-28", "2017-11-29")
    assert not view.claim("to_view")
    view.ready("snap", "2017-11-30")
    assert view.present("to_view", "2017-11") == [(1, 1), (1, 1)]
    view.ready("snap", "2017-12-02")
    view.ready("snap", "2017-12-01")
    check(view)
    assert latest_of(view, "2017-11") == ("2017-12-02", 1)


def test_work_created_after_the_chunk_is_covered_at_once(view: World) -> None:
    view.ready("snap", "2017-11-30")
    view.ready("months", "2017-11")
    assert view.state("to_view", "2017-11") == "CLAIMABLE"
    check(view)


def test_work_created_after_a_chunk_that_does_not_cover_it_waits(view: World) -> None:
    view.ready("snap", "2017-11-29")
    view.ready("months", "2017-10", "2017-11")
    assert view.states("to_view") == {"2017-10": "CLAIMABLE", "2017-11": "WAITING"}
    check(view)


def test_a_chunk_of_a_latest_input_creates_no_work(view: World) -> None:
    view.ready("snap", "2017-11-30", "2017-12-31")
    assert view.states("to_view") == {}
    check(view)


@pytest.mark.parametrize("batch", [2, 5000])
def test_one_chunk_covers_all_waiting_work_up_to_it_and_nothing_later(
    view: World, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(consumers, "BATCH", batch)
    view.ready("months", *(f"2017-{month:02d}" for month in range(1, 13)))
    view.ready("snap", "2017-03-31")
    assert sorted(dataid for dataid, state in view.states("to_view").items() if state == "CLAIMABLE") == [
        "2017-01",
        "2017-02",
        "2017-03",
    ]
    view.ready("snap", "2017-11-30")
    check(view)
    assert set(view.drain("to_view")) == {f"2017-{month:02d}" for month in range(1, 12)}
    view.withdraw("snap", "2017-03-31", "2017-11-30")
    view.resubmit("to_view", *(f"2017-{month:02d}" for month in range(1, 12)))
    assert set(view.states("to_view").values()) == {"WAITING"}
    check(view)


def test_done_work_is_not_repeated_for_a_newer_chunk(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-30")
    view.do("to_view")
    view.ready("snap", "2017-12-01", "2017-12-02")
    assert (view.state("to_view", "2017-11"), view.status("view", "2017-11")) == ("DONE", "READY")
    check(view)


def test_work_runs_again_when_the_chunk_it_read_has_a_newer_version(view: World) -> None:
    view.ready("months", "2017-10", "2017-11")
    view.ready("snap", "2017-10-31")
    view.do("to_view", "2017-10")
    view.ready("snap", "2017-11-30")
    view.do("to_view", "2017-11")
    view.ready("snap", "2017-10-31", again=True)
    assert view.states("to_view") == {"2017-10": "CLAIMABLE", "2017-11": "DONE"}
    assert [view.status("view", month) for month in ("2017-10", "2017-11")] == ["STALE", "READY"]
    assert view.work("to_view", "2017-10").reason == "an input has a newer version"
    check(view)
    assert latest_of(view, "2017-10") == ("2017-11-30", 1)


def test_failed_work_runs_again_when_the_chunk_it_read_has_a_newer_version(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-30")
    view.do("to_view", outcome=RunOutcome.FAILED)
    view.ready("snap", "2017-12-01")
    assert view.state("to_view", "2017-11") == "FAILED"
    view.ready("snap", "2017-11-30", again=True)
    assert view.state("to_view", "2017-11") == "CLAIMABLE"


def test_an_output_is_stale_when_its_source_is_newer_whatever_ran_since(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-30")
    view.do("to_view")
    view.ready("snap", "2017-12-01")
    view.resubmit("to_view", "2017-11")
    view.do("to_view", outcome=RunOutcome.FAILED)
    view.ready("snap", "2017-11-30", again=True)
    assert (view.state("to_view", "2017-11"), view.chunks("view")[0].status) == ("CLAIMABLE", "STALE")


def test_work_marked_done_manually_depends_on_the_chunk_its_last_run_read(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-30")
    view.do("to_view", outcome=RunOutcome.FAILED)
    view.mark("to_view", "2017-11", WorkState.DONE)
    view.ready("snap", "2017-11-30", again=True)
    assert (view.state("to_view", "2017-11"), view.status("view", "2017-11")) == ("CLAIMABLE", "STALE")


def test_an_output_is_born_stale_when_its_chunk_got_a_newer_version_meanwhile(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-30")
    run = view.take("to_view")
    view.ready("snap", "2017-11-30", again=True)
    assert view.finish(run) is WorkState.CLAIMABLE
    assert view.status("view", "2017-11") == "STALE"
    assert latest_of(view) == ("2017-11-30", 2)


def test_a_run_is_accepted_when_a_newer_chunk_arrived_meanwhile(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-30")
    run = view.take("to_view")
    view.ready("snap", "2017-12-01")
    assert view.finish(run) is WorkState.DONE


def test_work_whose_chunk_is_withdrawn_reads_an_older_one_that_covers_it_or_waits(view: World) -> None:
    view.ready("months", "2017-10", "2017-11")
    view.ready("snap", "2017-11-05", "2017-11-30", "2017-12-01")
    view.withdraw("snap", "2017-12-01")
    assert view.present("to_view", "2017-11") == [(1, 1), (1, 1)]
    view.withdraw("snap", "2017-11-30")
    assert view.states("to_view") == {"2017-10": "CLAIMABLE", "2017-11": "WAITING"}
    check(view)
    assert latest_of(view) == ("2017-11-05", 1)
    assert not view.claim("to_view")
    view.ready("snap", "2017-11-30")
    assert latest_of(view, "2017-11") == ("2017-11-30", 2)
    check(view)


def test_withdrawing_an_older_chunk_changes_nothing(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-30", "2017-12-01")
    view.withdraw("snap", "2017-11-30")
    assert latest_of(view) == ("2017-12-01", 1)
    check(view)


def test_when_the_last_chunk_is_withdrawn_all_work_waits(view: World) -> None:
    view.ready("months", "2017-10", "2017-11")
    view.ready("snap", "2017-11-30")
    view.do("to_view", "2017-10")
    view.withdraw("snap", "2017-11-30")
    assert view.states("to_view") == {"2017-10": "DONE", "2017-11": "WAITING"}
    view.resubmit("to_view", "2017-10")
    assert not view.claim("to_view")
    check(view)


def make_snapshots(world: World) -> World:
    """Two snapshots that a job overwrites in place, and a month that both of them cover."""
    make_view(world)
    world.dataset("raw", grain="daily")
    world.dataset("snap", grain="daily", location="/data/snap/{dataid}")
    world.job("to_snap", ["raw"], ["snap"])
    world.ready("raw", "2017-11-30", "2017-12-01")
    world.drain("to_snap")
    world.ready("months", "2017-11")
    return world


def test_a_chunk_that_is_being_overwritten_is_not_read(world: World) -> None:
    make_snapshots(world)
    world.resubmit("to_snap", "2017-12-01")
    run = world.take("to_snap", "2017-12-01")
    check(world)
    assert latest_of(world) == ("2017-11-30", 1)
    world.finish(run)
    world.resubmit("to_snap", "2017-11-30", "2017-12-01")
    world.claim("to_snap", 2)
    world.ready("months", "2017-10")
    assert world.state("to_view", "2017-10") == "WAITING"
    check(world)


def test_a_closed_or_stale_chunk_is_skipped(world: World) -> None:
    make_snapshots(world)
    world.ready("raw", "2017-11-30", again=True)
    world.resubmit("to_snap", "2017-12-01")
    assert [run.dataid for run in world.claim("to_snap", dataid="2017-12-01")] == ["2017-12-01"]
    assert world.state("to_view", "2017-11") == "WAITING"
    world.ready("snap", "2017-11-29")
    assert not world.claim("to_view")
    check(world)


def test_a_withdrawn_chunk_is_skipped(view: World) -> None:
    view.ready("months", "2017-10")
    view.ready("snap", "2017-11-01", "2017-11-02", "2017-11-03")
    view.withdraw("snap", "2017-11-02")
    view.withdraw("snap", "2017-11-03")
    assert latest_of(view) == ("2017-11-01", 1)


def test_a_stale_chunk_that_is_the_newest_is_not_read(world: World) -> None:
    make_snapshots(world)
    world.ready("raw", "2017-12-01", again=True)
    check(world)
    assert latest_of(world) == ("2017-11-30", 1)


def test_forced_work_reads_the_latest_if_it_covers_it(view: World) -> None:
    view.ready("snap", "2017-11-30")
    run = view.force("to_view", "2017-11")
    assert [pin.dataid for pin in run.pins] == ["2017-11-30"]
    assert view.present("to_view", "2017-11") == [(1, 0), (1, 1)]
    check(view)
    run = view.force("to_view", "2017-12")
    assert run.pins == ()
    assert view.present("to_view", "2017-12") == [(1, 0), (1, 0)]
    check(view)


def test_a_job_registered_after_its_chunks_finds_what_is_covered(world: World) -> None:
    world.dataset("months", grain="monthly")
    world.dataset("snap", grain="daily")
    world.ready("months", "2017-10", "2017-11", "2017-12")
    world.ready("snap", "2017-10-31", "2017-11-30", "2017-12-01")
    world.withdraw("snap", "2017-12-01")
    world.job("to_view", ["snap:latest", "months"])
    assert world.states("to_view") == {"2017-10": "CLAIMABLE", "2017-11": "CLAIMABLE", "2017-12": "WAITING"}
    run = world.take("to_view")
    assert sorted(pin.dataid for pin in run.pins) == ["2017-10", "2017-11-30"]
    check(world)


def test_registering_a_job_again_keeps_its_coverage(view: World) -> None:
    view.ready("snap", "2017-11-30")
    view.job("to_view", ["months", "snap:latest"], ["view"], retries=3)
    view.ready("months", "2017-11")
    assert latest_of(view) == ("2017-11-30", 1)
    check(view)


def test_a_job_that_gets_a_latest_input_waits_for_it_until_it_is_removed(world: World) -> None:
    make_view(world)
    world.job("to_view", ["months"], ["view"])
    world.ready("months", "2017-10", "2017-11")
    world.do("to_view", "2017-10")
    world.ready("snap", "2017-10-31")
    world.job("to_view", ["months", "snap:latest"], ["view"])
    assert world.states("to_view") == {"2017-10": "DONE", "2017-11": "WAITING"}
    check(world)
    world.job("to_view", ["months"], ["view"])
    assert world.state("to_view", "2017-11") == "CLAIMABLE"
    check(world)


def test_work_that_has_run_and_that_no_input_calls_for_counts_what_covers_it(view: World) -> None:
    view.ready("snap", "2017-11-30")
    view.finish(view.force("to_view", "2017-11"), RunOutcome.FAILED)
    view.dataset("other", grain="monthly")
    view.job("to_view", ["other", "snap:latest"], ["view"])
    assert view.work("to_view", "2017-11").missing == 1
    check(view)


def test_a_covering_chunk_does_not_keep_work_that_no_input_calls_for(view: World) -> None:
    view.ready("snap", "2017-11-30")
    view.ready("months", "2017-11")
    view.dataset("other", grain="monthly")
    view.job("to_view", ["other", "snap:latest"], ["view"])
    assert view.states("to_view") == {}
    assert view.select("SELECT count(*) FROM work_input") == [(0,)]
    check(view)


def test_work_that_needs_no_previous_chunk_still_needs_the_latest(world: World) -> None:
    make_view(world)
    world.job("to_view", ["months", "view:previous", "snap:latest"], ["view"], start="2017-10")
    world.ready("months", "2017-10", "2017-11")
    assert not world.claim("to_view")
    world.ready("snap", "2017-11-30")
    assert world.drain("to_view") == ["2017-10", "2017-11"]
    check(world)


def test_work_needs_all_its_latest_inputs(view: World) -> None:
    view.dataset("rates", grain="weekly")
    view.job("to_view", ["months", "snap:latest", "rates:latest"], ["view"])
    view.ready("snap", "2017-11-30")
    view.ready("months", "2017-11")
    view.ready("rates", "2017-11-19")
    assert view.present("to_view", "2017-11") == [(1, 1), (1, 1), (1, 0)]
    view.ready("rates", "2017-11-26")
    run = view.take("to_view")
    assert [pin.dataid for pin in run.pins] == ["2017-11", "2017-11-30", "2017-11-26"]
    check(view)


def test_work_needs_its_other_inputs_too(view: World) -> None:
    view.dataset("other", grain="monthly")
    view.job("to_view", ["months", "other", "snap:latest"], ["view"])
    view.ready("snap", "2017-11-30")
    view.ready("months", "2017-11")
    assert view.present("to_view", "2017-11") == [(1, 1), (1, 0), (1, 1)]
    assert not view.claim("to_view")
    check(view)


@pytest.mark.parametrize("grain", ["text", "sequence"])
def test_a_job_or_dataset_without_a_time_accepts_any_chunk(world: World, grain: str) -> None:
    world.dataset("days", grain="daily")
    world.dataset("shards", grain=grain)
    world.job("by_day", ["days", "shards:latest"])
    world.job("by_shard", ["shards", "days:latest"])
    world.ready("days", "2017-11-30")
    assert not world.claim("by_day")
    world.ready("shards", "9", "10")
    assert world.take("by_day").pins[1].dataid == "10"
    assert world.take("by_shard", "9").pins[1].dataid == "2017-11-30"
    check(world)
    world.withdraw("shards", "9", "10")
    world.ready("days", "2017-12-01")
    assert world.states("by_day") == {"2017-11-30": "RUNNING", "2017-12-01": "WAITING"}
    check(world)


def test_numbers_are_covered_by_their_own_or_a_later_one(world: World) -> None:
    world.dataset("numbers", grain="sequence")
    world.dataset("state", grain="sequence")
    world.job("fold", ["numbers", "state:latest"])
    world.ready("numbers", *(str(number) for number in range(8, 13)))
    world.ready("state", "8")
    world.ready("state", "9")
    world.ready("state", "11")
    assert world.drain("fold") == ["8", "9", "10", "11"]
    assert world.state("fold", "12") == "WAITING"
    check(world)


def test_hours_are_covered_by_their_day(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("snap", grain="daily")
    world.job("by_hour", ["hours", "snap:latest"])
    world.ready("hours", "2017-11-30T23+00:00", "2017-12-01T00+00:00")
    world.ready("snap", "2017-11-30")
    assert world.drain("by_hour") == ["2017-11-30T23+00:00"]
    check(world)


@pytest.mark.parametrize("seed", range(4))
def test_exactly_the_covered_work_can_be_claimed_whatever_is_published_or_withdrawn(
    world: World, seed: int
) -> None:
    chance = random.Random(seed)
    grains = ["hourly", "daily", "weekly", "monthly"]
    world.dataset("work", grain=chance.choice(grains), timezone="Europe/London")
    world.dataset("snap", grain=chance.choice(grains), timezone="America/New_York")
    world.dataset("made", grain=world.dataset_record("work")[1].grain)
    world.job("make", ["work", "snap:latest"], ["made"])
    for _ in range(40):
        name = chance.choice(["work", "snap"])
        kind = world.dataset_record(name)[1]
        span = {"hourly": ("2026-03-28T20+00:00", "2026-03-29T08+01:00"), "monthly": ("2026-01", "2026-06")}
        first, last = span.get(kind.grain, ("2026-03-01", "2026-03-29"))
        dataid = chance.choice(list(dataid_range(first, last, Grain(kind.grain), kind.timezone)))
        move = chance.randrange(5)
        if move < 2:
            world.ready(name, dataid, again=move == 1)
        elif move == 2:
            world.withdraw(name, dataid)
        else:
            for run in world.claim("make"):
                world.finish(run, chance.choice([RunOutcome.DONE, RunOutcome.FAILED]))
        check(world)


def test_the_cost_of_a_claim_does_not_grow_with_chunks_that_stopped_being_ready(sqlite_world: World) -> None:
    world = make_view(sqlite_world)
    database = world.store.database
    assert isinstance(database, SqliteDatabase)
    world.ready("snap", "2016-12-31")
    world.ready("months", *(f"2016-{month:02d}" for month in range(1, 13)))
    world.do("to_view")
    pages = []
    for century in (20, 21):
        days = [f"{century}{year:02d}-05-{day:02d}" for year in range(17, 100) for day in range(1, 32)]
        before = database.count_pages()
        assert latest_of(world) == ("2016-12-31", 1)
        pages.append(database.count_pages() - before)
        world.ready("snap", *days)
        world.withdraw("snap", *days)
    assert pages[1] < 2 * pages[0], "it has read some of the 2,573"
    check(world)


def list_chunks_read(world: World, run_id: int) -> list[str]:
    rows = world.store.database.read(lambda tx: tx.rows("claim.pins_of", run_id=run_id))
    return sorted(row[2] for row in rows if row[0] == 1)


def test_a_run_that_pins_all_ready_chunks_depends_on_each(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-10", "2017-11-20", "2017-11-30", "2017-12-01")
    view.withdraw("snap", "2017-11-20")
    run, plan = view.take("to_view"), view.plan("to_view")
    source = next(item for item in plan.inputs if item.mapping == "latest")
    for _ in range(2):  # a repeat after a lost answer changes nothing
        pins = view.store.pin_ready(plan, run, source)
        assert [pin.dataid for pin in pins] == ["2017-11-10", "2017-11-30", "2017-12-01"]
    view.finish(run)
    check(view)
    view.ready("snap", "2017-11-10", again=True)
    assert view.work("to_view", "2017-11").state == WorkState.CLAIMABLE
    check(view)


def test_another_pinned_chunk_that_changes_meanwhile_makes_the_result_stale(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-10", "2017-11-30")
    run, plan = view.take("to_view"), view.plan("to_view")
    source = next(item for item in plan.inputs if item.mapping == "latest")
    view.store.pin_ready(plan, run, source)
    view.ready("snap", "2017-11-10", again=True)
    view.finish(run)
    assert view.work("to_view", "2017-11").state == WorkState.CLAIMABLE


def test_a_run_that_has_ended_pins_nothing_more(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-10", "2017-11-30")
    run, plan = view.take("to_view"), view.plan("to_view")
    view.finish(run)
    source = next(item for item in plan.inputs if item.mapping == "latest")
    view.store.pin_ready(plan, run, source)
    assert list_chunks_read(view, run.run_id) == ["2017-11-30"]


def test_a_run_of_another_claimant_pins_nothing(view: World) -> None:
    view.ready("months", "2017-11")
    view.ready("snap", "2017-11-10", "2017-11-30")
    run, plan = view.take("to_view"), view.plan("to_view")
    source = next(item for item in plan.inputs if item.mapping == "latest")
    view.store.pin_ready(plan, replace(run, claimant="second"), source)
    assert list_chunks_read(view, run.run_id) == ["2017-11-30"]


@pytest.mark.parametrize("how", ["stale", "being overwritten"])
def test_a_chunk_that_is_not_ready_is_not_pinned_with_the_others(world: World, how: str) -> None:
    pin_beside(world, how)


def pin_beside(world: World, how: str) -> None:
    """A run of the view pins all ready chunks while one is not ready."""
    make_snapshots(world)
    run, plan = world.take("to_view", "2017-11"), world.plan("to_view")
    if how == "stale":
        world.ready("raw", "2017-11-30", again=True)
    else:
        world.resubmit("to_snap", "2017-11-30")
        assert [each.dataid for each in world.claim("to_snap", dataid="2017-11-30")] == ["2017-11-30"]
    source = next(item for item in plan.inputs if item.mapping == "latest")
    world.store.pin_ready(plan, run, source)
    assert "2017-11-30" not in list_chunks_read(world, run.run_id)
