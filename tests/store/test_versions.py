"""Versions of a chunk: what is recorded, rollback, moving, and deleting old ones."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.errors import Conflict
from dataflow.model.record import names_of
from dataflow.model.records import PlanOutput, Publication, Run
from dataflow.model.wording import utc_text
from dataflow.store.version_moves import Place
from tests.store.races import Doing, check, race
from tests.store.world import World

DAY = 86400.0


@pytest.fixture
def bob(world: World) -> World:
    return make_bob(world)


def make_bob(world: World) -> World:
    """raw → orders → report, all of 1.0 done once."""
    world.chain("raw", "orders", "report")
    world.ready("raw", "1.0")
    world.do("to_orders", "1.0", publications=(Publication("orders", "/lake/1", 10, 100, "checked"),))
    world.do("to_report", "1.0")
    return world


def versions(world: World, dataset: str = "orders") -> list[tuple[Any, ...]]:
    found = world.store.read.list_versions(world.dataset_record(dataset)[0], "1.0")
    return [tuple(getattr(one, name) for name in names_of(one)) for one in found]


def again(world: World, location: str) -> Run:
    """Publishes the next version of orders."""
    world.resubmit("to_orders", "1.0")
    return world.do("to_orders", "1.0", publications=(Publication("orders", location, 20, 200),))


def place(world: World, version: int, location: str) -> Place:
    return Place(world.dataset_record("orders")[0], "orders", "1.0", version, location)


def go_back(world: World, version: int, location: str) -> int:
    output = PlanOutput(*world.dataset_record("orders"))
    return world.store.go_back(world.plan("to_orders"), output, place(world, version, location), "bad")


def make_old(world: World, days: int = 100) -> None:
    """Make everything published so far some days older."""
    if world.clock is not None:
        world.advance(days * DAY)
    else:
        world.poke(f"UPDATE chunk_version SET published_at = published_at - interval '{days} days'")


def forget(world: World, days: int = 90) -> list[str]:
    """Delete versions replaced at least this many days ago."""
    now = world.store.read.get_now()
    dataset_id = world.dataset_record("orders")[0]
    return list(world.store.forget_versions(dataset_id, utc_text(now - days * DAY)))


def test_each_publish_is_recorded_with_its_location_run_and_rows(bob: World) -> None:
    run = again(bob, "/lake/2")
    found = versions(bob)
    assert [row[:2] for row in found] == [(1, "/lake/1"), (2, "/lake/2")]
    assert [(row[3], row[4], bool(row[6])) for row in found] == [(10, 100, False), (20, 200, True)]
    assert found[1][2] == run.run_id
    assert found[0][5] <= found[1][5]


def test_a_chunk_marked_ready_or_written_in_place_adds_no_version_row(world: World) -> None:
    world.dataset("outside", location="/data/{dataid}")
    world.dataset("copy", location="/copy/{dataid}")
    world.job("copying", ["outside"], ["copy"])
    world.ready("outside", "1.0", "2.0")
    world.do("copying", "1.0", publications=(Publication("copy", "/copy/1.0"),))
    assert world.select("SELECT count(*) FROM chunk_version") == [(0,)]


def test_a_rollback_is_a_new_version_that_consumers_see(bob: World) -> None:
    again(bob, "/lake/2")
    bob.do("to_report", "1.0")
    assert go_back(bob, 1, "/lake/1") == 3
    (chunk,) = bob.chunks("orders")
    assert (chunk.status, chunk.version, chunk.location) == ("READY", 3, "/lake/1")
    assert bob.state("to_orders", "1.0") == "DONE"
    assert bob.state("to_report", "1.0") == "CLAIMABLE"
    assert bob.status("report", "1.0") == "STALE"
    assert bob.select("SELECT row_count, checked FROM chunk WHERE location = '/lake/1'") == [(10, "checked")]
    (line,) = bob.journal("rollback")
    assert (line["dataset"], line["dataid"], line["job"]) == ("orders", "1.0", "to_orders")
    assert "version 1 published again as version 3 by op@desk: bad" in line["why"]


def test_a_rollback_makes_a_withdrawn_chunk_readable_again(bob: World) -> None:
    again(bob, "/lake/2")
    bob.withdraw("orders", "1.0")
    go_back(bob, 1, "/lake/1")
    assert bob.status("orders", "1.0") == "READY"


def test_no_rollback_while_the_work_is_running(bob: World) -> None:
    again(bob, "/lake/2")
    bob.resubmit("to_orders", "1.0")
    run = bob.take("to_orders", "1.0")
    with pytest.raises(Conflict, match=f"RUNNING under run {run.run_id}"):
        go_back(bob, 1, "/lake/1")
    assert bob.version("orders", "1.0") == 2


def test_no_rollback_under_a_newer_input(bob: World) -> None:
    again(bob, "/lake/2")
    bob.ready("raw", "1.0", again=True)
    with pytest.raises(Conflict, match="is STALE"):
        go_back(bob, 1, "/lake/1")


def test_no_rollback_to_a_version_purged_meanwhile(bob: World) -> None:
    again(bob, "/lake/2")
    make_old(bob)
    assert forget(bob) == ["/lake/1"]
    with pytest.raises(Conflict, match="has been purged"):
        go_back(bob, 1, "/lake/1")


def test_no_rollback_to_a_purged_location(bob: World) -> None:
    bob.store.move_version(place(bob, 1, "/lake/1"), "/lake/1-small", 60, "")
    make_old(bob)
    again(bob, "/lake/2")
    assert forget(bob) == ["/lake/1"]
    with pytest.raises(Conflict, match="has been purged"):
        go_back(bob, 1, "/lake/1")
    assert go_back(bob, 1, "/lake/1-small") == 3


def test_the_current_location_is_kept_even_if_both_have_the_same_time(bob: World) -> None:
    bob.store.move_version(place(bob, 1, "/lake/1"), "/lake/0", 60, "")
    make_old(bob)
    assert "/lake/0" not in forget(bob)


def test_a_moved_version_is_the_same_version_and_wakes_no_consumer(bob: World) -> None:
    reader_before = bob.work("to_report", "1.0")
    bob.store.move_version(place(bob, 1, "/lake/1"), "/lake/1-small", 60, "")
    (chunk,) = bob.chunks("orders")
    assert (chunk.status, chunk.version, chunk.location) == ("READY", 1, "/lake/1-small")
    assert bob.work("to_report", "1.0") == reader_before
    assert bob.status("report", "1.0") == "READY"
    places = {(row[0], row[1]): bool(row[6]) for row in versions(bob)}
    assert places == {(1, "/lake/1"): False, (1, "/lake/1-small"): True}
    assert [line["action"] for line in bob.journal("compact")] == ["compact"]


def test_a_run_whose_input_is_moved_while_it_reads_succeeds(bob: World) -> None:
    bob.resubmit("to_report", "1.0")
    run = bob.take("to_report", "1.0")
    bob.store.move_version(place(bob, 1, "/lake/1"), "/lake/1-small", 60, "")
    bob.finish(run)
    assert (bob.state("to_report", "1.0"), bob.status("report", "1.0")) == ("DONE", "READY")


def test_a_version_that_changed_meanwhile_is_not_moved(bob: World) -> None:
    again(bob, "/lake/2")
    with pytest.raises(Conflict, match="changed while version 1 was compacted"):
        bob.store.move_version(place(bob, 1, "/lake/1"), "/lake/1-small", 60, "")
    assert bob.chunks("orders")[0].location == "/lake/2"


def test_a_version_replaced_long_ago_is_deleted(bob: World) -> None:
    make_old(bob)
    again(bob, "/lake/2")
    assert forget(bob) == []  # published long ago, but replaced just now
    make_old(bob)
    assert forget(bob) == ["/lake/1"]
    assert forget(bob) == []
    assert [row[1] for row in versions(bob)] == ["/lake/2"]


def test_a_version_that_is_current_again_is_kept(bob: World) -> None:
    again(bob, "/lake/2")
    go_back(bob, 1, "/lake/1")
    make_old(bob)
    assert forget(bob) == ["/lake/2"]
    assert bob.chunks("orders")[0].location == "/lake/1"


def test_a_version_that_a_live_run_reads_is_kept_until_it_has_ended(bob: World) -> None:
    bob.resubmit("to_report", "1.0")
    reader = bob.take("to_report", "1.0", lease_seconds=1000 * DAY)
    bob.store.move_version(place(bob, 1, "/lake/1"), "/lake/1-small", 60, "")
    again(bob, "/lake/2")
    make_old(bob)
    assert forget(bob) == []
    bob.finish(reader)
    assert sorted(forget(bob)) == ["/lake/1", "/lake/1-small"]


def test_a_revoked_run_that_may_still_be_reading_keeps_its_version(bob: World) -> None:
    bob.resubmit("to_report", "1.0")
    reader = bob.take("to_report", "1.0", lease_seconds=1000 * DAY)
    again(bob, "/lake/2")
    make_old(bob)
    bob.cancel(reader)
    assert forget(bob) == []
    bob.store.acknowledge(reader.run_id, "first")
    assert forget(bob) == ["/lake/1"]


def test_removing_a_dataset_removes_its_versions(bob: World) -> None:
    bob.remove_job("to_report")
    bob.remove_job("to_orders")
    bob.remove_dataset("orders")
    left = bob.select("SELECT count(*) FROM chunk_version v JOIN chunk c ON c.chunk_id = v.chunk_id")
    assert bob.select("SELECT count(*) FROM chunk_version") == left


@pytest.mark.parametrize("first", [0, 1], ids=["back_first", "forget_first"])
def test_a_rollback_during_a_purge_succeeds_or_is_refused(postgres_world: World, first: int) -> None:
    bob = make_bob(postgres_world)
    again(bob, "/lake/2")
    make_old(bob)
    back: Doing = lambda w: go_back(w, 1, "/lake/1")  # noqa: E731
    raced = race(bob, back, forget) if first == 0 else race(bob, forget, back)
    check(bob)
    assert raced.waited
    if first == 0:
        assert (raced.first, raced.second) == (3, [])
    else:
        assert raced.first == ["/lake/1"]
        assert isinstance(raced.second, Conflict)


def test_no_rollback_during_a_claim_of_the_work(postgres_world: World) -> None:
    bob = make_bob(postgres_world)
    again(bob, "/lake/2")
    bob.resubmit("to_orders", "1.0")
    raced = race(bob, lambda w: w.claim("to_orders"), lambda w: go_back(w, 1, "/lake/1"))
    assert raced.waited
    assert isinstance(raced.second, Conflict)
    assert bob.version("orders", "1.0") == 2
