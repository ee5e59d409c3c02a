"""What needs attention: one item for each job and reason, with since when and the next command."""

from __future__ import annotations

import time

from dataflow.actions.attention import AttentionItem, get_attention
from dataflow.model.record import as_tree
from dataflow.model.status import RunOutcome
from dataflow.model.wording import utc_text
from dataflow.model.worker_rows import WorkerEntry
from tests.store.world import World

DAY = 86_400


def items(world: World) -> list[AttentionItem]:
    return list(get_attention(world.store).items)


def kinds(world: World) -> list[tuple[str, str, int]]:
    return [(item.kind, item.dataid, item.count) for item in items(world)]


def age(world: World, table: str, seconds: float, where: str = "1 = 1") -> None:
    """Makes rows older."""
    now = world.clock.now() if world.clock else time.time()
    world.poke(f"UPDATE {table} SET modified_at = '{utc_text(now - seconds)}' WHERE {where}")


def test_a_store_without_trouble_is_well(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1")
    world.do("to_clean")
    found = get_attention(world.store)
    assert found.is_well
    assert [(one.job, one.outcome, one.count) for one in found.ran] == [("to_clean", "DONE", 1)]


def test_failures_are_grouped_by_job_and_reason_oldest_first(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1", "2", "3", "4")
    for number in (1, 2):
        world.do("to_clean", outcome=RunOutcome.FAILED, reason=f"exit code 1: no file {number}.csv")
    world.do("to_clean", outcome=RunOutcome.INVALID, reason="no rows")
    age(world, "work", 60, "dataid = '3'")
    world.do("to_clean", outcome=RunOutcome.FAILED, reason="disk full")
    assert kinds(world) == [("invalid", "3", 1), ("failed", "1", 2), ("failed", "4", 1)]
    invalid, failed, _ = items(world)
    assert failed.reason == "exit code 1: no file 1.csv"
    assert failed.next == "dataflow resubmit to_clean --failed"
    assert invalid.next == "dataflow resubmit to_clean 3"
    assert failed.since_at > invalid.since_at


def test_an_acknowledged_incident_says_who_knows(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    incident_id = items(world)[0].incident_id
    assert incident_id is not None
    world.store.watching.acknowledge(incident_id, "on it")
    assert items(world)[0].acknowledged_by == "op@desk"


def test_work_that_asks_what_to_do_is_one_item(world: World) -> None:
    world.chain("raw", "clean", grain="sequence", on_change="ask")
    world.ready("raw", "1", "2")
    world.drain("to_clean")
    world.ready("raw", "1", "2", again=True)
    assert kinds(world) == [("asking", "1", 2)]
    assert items(world)[0].next == "dataflow why to_clean 1"


def test_work_that_runs_hand_back_is_blocked(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1", "2")
    for _ in range(2):
        world.do(
            "to_clean", outcome=RunOutcome.RETURNED, delay_seconds=60, reason="located? no: /data is gone"
        )
    assert kinds(world) == [("blocked", "1", 2)]
    assert items(world)[0].reason == "located? no: /data is gone"


def test_a_hold_needs_attention_after_a_day(world: World) -> None:
    world.chain("raw", "clean", "report", grain="sequence")
    world.ready("raw", "1", "2")
    world.hold("to_clean", "1", "2")
    world.hold("to_report")
    assert items(world) == []
    age(world, "work", 2 * DAY)
    age(world, "job", 3 * DAY, "name = 'to_report'")
    assert [(item.job, item.dataid, item.count) for item in items(world)] == [
        ("to_report", "", 1),
        ("to_clean", "1", 2),
    ]
    assert items(world)[0].reason.startswith("on hold for 3d")
    assert "op@desk (wait)" in items(world)[0].reason
    assert items(world)[0].next == "dataflow release to_report"


def test_lost_runs_and_workers_need_attention(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1")
    world.store.workers.enlist(WorkerEntry("w1", "etl1", "boot-1", 7, "etl", "dev", "1", 2))
    run = world.take("to_clean")
    assert items(world) == []
    world.advance(100_000)
    world.poke("UPDATE worker SET alive_until = 0")
    found = {item.kind: item for item in items(world)}
    assert sorted(found) == ["lost", "worker"]
    assert f"run {run.run_id} on etl1" in found["lost"].reason
    assert "process 7 on etl1" in found["worker"].reason


def test_late_datasets_and_the_next_intervals_are_listed(world: World) -> None:
    world.dataset("raw", grain="daily", fresh_within_seconds=60.0)
    world.ready("raw", "2020-01-01")
    found = get_attention(world.store)
    assert [(item.kind, item.dataset) for item in found.items] == [("stale", "raw")]
    assert as_tree(found)["items"][0]["next"] == "dataflow chunks raw"


def test_runs_of_the_last_day_are_counted_among_older_ones(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", *[str(number) for number in range(9)])
    world.drain("to_clean")
    old = "2020-01-01T00:00:00.000Z"
    world.poke(f"UPDATE run SET started_at = '{old}' WHERE run_id <= (SELECT max(run_id) - 3 FROM run)")
    assert [one.count for one in get_attention(world.store).ran] == [3]
