"""Workers in the store: what there is to do for them, who is alive, and who hears of new work."""

from __future__ import annotations

import select
from collections.abc import Callable

import pytest

from dataflow.actions.workers import dismiss_lost, enlist, list_live, listen
from dataflow.model.record import replace
from dataflow.model.status import RunOutcome
from dataflow.model.worker_rows import JobOutlook, WorkerEntry
from tests.store.races import race
from tests.store.world import World, make_request

ENTRY = WorkerEntry("00aa11bb22cc33dd", "etl1", "boot-1", 4711, "etl", "dev", "0.1.0", 4, 3)


def outlook(world: World, job: str) -> JobOutlook | None:
    found = world.store.list_outlooks([world.plan(job).job_id])
    return found[0] if found else None


def get_outlook(world: World, job: str) -> JobOutlook:
    found = outlook(world, job)
    assert found is not None
    return found


def test_the_first_claimable_work_is_that_of_the_next_claim(world: World) -> None:
    world.chain("raw", "clean")
    assert get_outlook(world, "to_clean").work_id is None
    world.ready("raw", "2", "10", "1")
    first = get_outlook(world, "to_clean").work_id
    run = world.claim("to_clean")[0]
    assert (first, run.dataid) == (run.work_id, "1")


def test_the_first_claimable_work_of_a_job_that_takes_the_newest_is_the_newest_of_the_highest_priority(
    world: World,
) -> None:
    world.chain("raw", "clean", grain="sequence", order="newest")
    world.ready("raw", "1", "2", "3", "10")
    world.poke("UPDATE work SET priority = 1 WHERE dataid IN ('1', '2')")
    for dataid in ("2", "1", "10", "3"):
        first = get_outlook(world, "to_clean").work_id
        run = world.claim("to_clean")[0]
        assert (first, run.dataid) == (run.work_id, dataid)


def test_the_first_claimable_work_of_an_ordered_job_is_its_first_unfinished_one(world: World) -> None:
    world.dataset("raw", grain="sequence")
    world.job("load", ["raw"], ordered=True)
    world.ready("raw", "1", "2")
    assert get_outlook(world, "load").work_id is not None
    world.claim("load")
    assert get_outlook(world, "load").work_id is None


def test_a_job_on_hold_has_no_outlook(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.store.hold(world.plan("to_clean"), None, True, "")
    assert outlook(world, "to_clean") is None


def test_no_job_has_an_outlook_while_everything_is_paused(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.pause()
    assert outlook(world, "to_clean") is None
    world.resume()
    assert get_outlook(world, "to_clean").work_id is not None


def test_the_outlook_says_when_inputs_need_not_be_complete_any_more(world: World) -> None:
    world.dataset("hours", grain="hourly")
    world.dataset("days", grain="daily")
    world.job("sum", ["hours:within by 06:00 then partial"], ["days"], grain="daily")
    assert get_outlook(world, "sum").deadline_seconds is None
    world.ready("hours", "2999-01-01T00+00:00")
    assert (get_outlook(world, "sum").deadline_seconds or 0) > 86400
    world.ready("hours", "2020-01-01T00+00:00")
    assert (get_outlook(world, "sum").deadline_seconds or 0) < 0


def test_the_outlook_says_when_a_retry_is_due(world: World) -> None:
    world.chain("raw", "clean", retries=3, retry_delay_seconds=60.0)
    world.ready("raw", "1")
    world.do("to_clean", "1", RunOutcome.FAILED)
    wait = get_outlook(world, "to_clean").wait_seconds
    assert wait is not None and 40 < wait <= 72


def test_the_outlook_says_when_a_lease_lapses(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.claim("to_clean", lease_seconds=30.0)
    lease = get_outlook(world, "to_clean").lease_seconds
    assert lease is not None and 20 < lease <= 30
    world.advance(31)
    lease = get_outlook(world, "to_clean").lease_seconds
    assert lease is not None and lease <= 0


def test_a_worker_is_alive_until_its_heartbeat_lapses(world: World) -> None:
    enlist(world.store, ENTRY)
    enlist(world.store, replace(ENTRY, jobs=5))
    assert [(row.name, row.jobs, row.has_lapsed) for row in world.store.read.list_workers()] == [
        (ENTRY.name, 5, False)
    ]
    world.poke("UPDATE worker SET alive_until = alive_until - 36")
    assert list_live(world.store, lambda row: False) == []
    assert [row.name for row in dismiss_lost(world.store, lambda row: False)] == [ENTRY.name]
    assert dismiss_lost(world.store, lambda row: False) == []
    (line,) = [row for row in world.store.read.list_journal(9) if row.action == "lost worker"]
    assert "on etl1, process 4711: no heartbeat" in line.why


def test_a_heartbeat_enlists_again_a_worker_that_was_taken_for_dead(world: World) -> None:
    enlist(world.store, ENTRY)
    dismiss_lost(world.store, lambda row: True)
    assert world.store.read.list_workers() == []
    enlist(world.store, ENTRY)
    assert len(world.store.read.list_workers()) == 1


def test_a_worker_is_shown_with_its_runs(world: World) -> None:
    enlist(world.store, ENTRY)
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    world.store.claim(world.plan("to_clean"), make_request(claimant=ENTRY.name))
    world.store.claim(world.plan("to_clean"), make_request(claimant=ENTRY.name + "0001"))
    (row,) = world.store.read.list_workers()
    assert [(run.job, run.dataid) for run in row.doing] == [("to_clean", "1"), ("to_clean", "2")]


Move = Callable[[World], object]
MOVES: dict[str, Move] = {
    "ready": lambda world: world.ready("raw", "9"),
    "finish": lambda world: world.do("to_clean", "1"),
    "resubmit": lambda world: world.resubmit("to_clean", "0"),
    "release": lambda world: world.release("to_clean", "1"),
}


def hears(world: World, move: Move) -> bool:
    watch = world.store.database.watch()
    try:
        move(world)
        if (fd := watch.fileno()) is not None:
            select.select([fd], [], [], 5)
        return watch.take()
    finally:
        watch.close()


@pytest.mark.parametrize("move", MOVES)
def test_a_waiting_worker_hears_of(world: World, move: str) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "0", "1")
    world.do("to_clean", "0")
    if move == "release":
        world.hold("to_clean", "1")
    enlist(world.store, ENTRY)
    listen(world.store, ENTRY.name, True)
    assert hears(world, MOVES[move])


def test_nothing_is_heard_while_nothing_happens(world: World) -> None:
    watch = world.store.database.watch()
    assert not watch.take()
    watch.close()


def test_nobody_is_notified_while_no_worker_waits(postgres_world: World) -> None:
    postgres_world.chain("raw", "clean")
    enlist(postgres_world.store, ENTRY)
    watch = postgres_world.store.database.watch()
    postgres_world.ready("raw", "1")
    enlist(postgres_world.store, ENTRY)  # a round trip later than the notification would be
    assert not watch.take()
    watch.close()


BESIDE = replace(ENTRY, name="11aa11bb22cc33dd", pid=4712)
ELSEWHERE = replace(ENTRY, name="22aa11bb22cc33dd", host="etl2")


def lapse(world: World, *names: str) -> None:
    """Let the heartbeats of workers lapse."""
    for name in names:
        world.poke(f"UPDATE worker SET alive_until = alive_until - 36, enlisted = 0 WHERE name = '{name}'")


def lose(world: World, *names: str) -> None:
    """Let workers vanish, and have somebody look."""
    lapse(world, *names)
    dismiss_lost(world.store, lambda row: False)


def list_lost(world: World) -> list[tuple[str, int]]:
    return [
        (one.host, one.items)
        for one in world.store.watching.list_incidents(False, 9)
        if one.kind == "worker_lost"
    ]


def events(world: World) -> list[str]:
    return [event for (event,) in world.select("SELECT event FROM notification ORDER BY notification_id")]


def test_lost_workers_of_a_host_are_one_incident_with_evidence(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", *[str(number) for number in range(5)])
    for entry in (ENTRY, BESIDE, ELSEWHERE):
        enlist(world.store, entry)
    runs = [
        world.store.claim(world.plan("to_clean"), make_request(claimant=ENTRY.name)).runs[0] for _ in range(5)
    ]
    lose(world, ENTRY.name, BESIDE.name)
    assert list_lost(world) == [("etl1", 2)]
    (found,) = world.store.watching.list_incidents(False, 9)
    assert found.what == "host etl1"
    assert f"worker {ENTRY.name}, process 4711, since 2" in found.reason
    assert "no heartbeat for 35 s; it was running to_clean 0 (run" in found.reason
    assert f"(run {runs[2].run_id}) and 2 more" in found.reason
    assert events(world) == ["opened"]
    lose(world, ELSEWHERE.name)
    assert sorted(list_lost(world)) == [("etl1", 2), ("etl2", 1)]


def test_a_worker_that_ends_is_not_lost(world: World) -> None:
    enlist(world.store, ENTRY)
    world.store.workers.dismiss(ENTRY.name)
    dismiss_lost(world.store, lambda row: True)
    assert (list_lost(world), events(world)) == ([], [])


def test_a_host_has_recovered_when_a_worker_starts_there(world: World) -> None:
    enlist(world.store, ENTRY)
    lapse(world, ENTRY.name)
    enlist(world.store, ELSEWHERE)
    dismiss_lost(world.store, lambda row: False)
    enlist(world.store, replace(ELSEWHERE, name="33aa11bb22cc33dd"))
    assert list_lost(world) == [("etl1", 1)]
    enlist(world.store, BESIDE)
    assert list_lost(world) == []
    assert events(world) == ["opened", "recovered"]


def test_a_host_has_recovered_when_a_worker_taken_for_dead_is_heard_of_again(world: World) -> None:
    enlist(world.store, ENTRY)
    lose(world, ENTRY.name)
    enlist(world.store, ENTRY)
    assert (list_lost(world), events(world)) == ([], ["opened", "recovered"])


def test_another_worker_of_the_host_that_was_there_before_is_no_recovery(world: World) -> None:
    enlist(world.store, BESIDE)
    world.poke("UPDATE worker SET enlisted = enlisted - 60")
    enlist(world.store, ENTRY)
    world.poke(f"UPDATE worker SET alive_until = alive_until + 5 WHERE name = '{ENTRY.name}'")
    dismiss_lost(world.store, lambda row: row.name == ENTRY.name)
    enlist(world.store, BESIDE)
    assert (list_lost(world), events(world)) == ([("etl1", 1)], ["opened"])


def test_a_worker_that_was_replaced_before_it_was_missed_is_news_and_no_longer_trouble(world: World) -> None:
    enlist(world.store, ENTRY)
    lapse(world, ENTRY.name)
    enlist(world.store, BESIDE)
    dismiss_lost(world.store, lambda row: False)
    assert (list_lost(world), events(world)) == ([], ["opened", "recovered"])


def test_a_worker_that_started_after_the_machine_did_is_a_successor(world: World) -> None:
    enlist(world.store, ENTRY)
    enlist(world.store, BESIDE)
    world.poke(f"UPDATE worker SET clock_id = 'old', alive_until = 1e12 WHERE name = '{ENTRY.name}'")
    dismiss_lost(world.store, lambda row: False)
    assert (list_lost(world), events(world)) == ([], ["opened", "recovered"])


def test_a_heartbeat_after_the_last_look_keeps_a_worker(world: World) -> None:
    enlist(world.store, ENTRY)
    (row,) = world.store.read.list_workers()
    assert world.store.workers.dismiss_lost([row], []) == []
    assert (len(world.store.read.list_workers()), events(world)) == (1, [])


def test_a_worker_that_starts_while_another_is_found_lost_ends_the_incident(postgres_world: World) -> None:
    world = postgres_world
    enlist(world.store, ENTRY)
    lapse(world, ENTRY.name)
    raced = race(
        world,
        lambda one: dismiss_lost(one.store, lambda row: False),
        lambda one: enlist(one.store, BESIDE),
    )
    assert raced.waited
    assert (list_lost(world), events(world)) == ([], ["opened", "recovered"])


def test_a_worker_found_lost_while_another_starts_has_a_successor(postgres_world: World) -> None:
    world = postgres_world
    enlist(world.store, ENTRY)
    lapse(world, ENTRY.name)
    raced = race(
        world,
        lambda one: enlist(one.store, BESIDE),
        lambda one: dismiss_lost(one.store, lambda row: False),
    )
    assert raced.waited
    assert (list_lost(world), events(world)) == ([], ["opened", "recovered"])


def test_acknowledging_a_lost_worker_closes_its_incident_without_a_recovery(world: World) -> None:
    enlist(world.store, ENTRY)
    lose(world, ENTRY.name)
    (found,) = world.store.watching.list_incidents(False, 9)
    world.store.watching.acknowledge(found.incident_id, "sold")
    assert list_lost(world) == []
    enlist(world.store, ENTRY)
    assert events(world) == ["opened"]
    lose(world, ENTRY.name)
    assert list_lost(world) == [("etl1", 1)]


def test_removing_a_job_leaves_lost_workers_alone(world: World) -> None:
    world.chain("raw", "clean")
    enlist(world.store, ENTRY)
    lose(world, ENTRY.name)
    world.remove_job("to_clean")
    world.store.watching.look_at_clocks()
    assert list_lost(world) == [("etl1", 1)]
