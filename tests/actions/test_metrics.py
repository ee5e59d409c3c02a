"""Metrics: counters only grow, also when runs are purged, and count each run once."""

from __future__ import annotations

import pytest

from dataflow.actions.metrics import list_metrics
from dataflow.model.status import RunOutcome
from dataflow.store import operator_moves, run_tally
from tests.store.world import World

OLD = "2020-01-01T00:00:00.000Z"
FUTURE = "2100-01-01T00:00:00.000Z"


def values(world: World, name: str) -> dict[str, float]:
    """The samples of a metric, by their labels."""
    metric = next(one for one in list_metrics(world.store) if one.name == name)
    return {" ".join(value for _, value in sample.labels): sample.value for sample in metric.samples}


def outcomes(world: World) -> dict[str, float]:
    return values(world, "dataflow_outcomes_total")


def purge(world: World) -> int:
    return world.store.database.write(lambda tx: operator_moves.purge_runs(tx, FUTURE, 0, 1000))[0]


def test_outcomes_claims_and_losses_are_counted_by_job(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1", "2", "3", "4", "5")
    world.do("to_clean")
    world.do("to_clean", outcome=RunOutcome.FAILED)
    world.do("to_clean", outcome=RunOutcome.INVALID)
    world.do("to_clean", outcome=RunOutcome.LOST)
    world.take("to_clean")
    assert outcomes(world) == {
        "to_clean DONE": 1,
        "to_clean FAILED": 1,
        "to_clean INVALID": 1,
        "to_clean LOST": 1,
    }
    assert values(world, "dataflow_claims_total") == {"to_clean": 5}
    assert values(world, "dataflow_refused_publishes_total") == {"to_clean": 1}
    assert values(world, "dataflow_lease_losses_total") == {"to_clean": 1}
    assert list(values(world, "dataflow_last_success_timestamp_seconds")) == ["clean"]


def test_a_run_is_counted_once_however_often_and_whenever_it_is_tallied(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tally, "BATCH", 2)
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", *[str(number) for number in range(9)])
    first = world.take("to_clean")
    for _ in range(5):
        world.do("to_clean")
    world.poke(f"UPDATE run SET started_at = '{OLD}'")
    assert outcomes(world) == {"to_clean DONE": 5}
    assert world.select("SELECT run_id FROM run_untallied") == [(first.run_id,)]
    world.finish(first)
    world.do("to_clean")  # too new to be tallied
    assert outcomes(world) == {"to_clean DONE": 7}
    assert outcomes(world) == {"to_clean DONE": 7}
    assert values(world, "dataflow_claims_total") == {"to_clean": 7}
    assert world.select("SELECT runs FROM run_tally") == [(5,)]


def test_a_read_counts_whole_batches_and_not_too_many_into_the_table(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_tally, "BATCH", 2)
    monkeypatch.setattr(run_tally, "MOST_BATCHES", 2)
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", *[str(number) for number in range(7)])
    for _ in range(7):
        world.do("to_clean")
    world.poke(f"UPDATE run SET started_at = '{OLD}'")
    for tallied in (4, 6, 6):  # the last run is not a whole batch
        assert outcomes(world) == {"to_clean DONE": 7}
        assert world.select("SELECT runs FROM run_tally") == [(tallied,)]


def test_purged_runs_stay_counted(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.ready("raw", "1", "2")
    for _ in range(3):
        world.do("to_clean", "1")
        world.resubmit("to_clean", "1")
    running = world.take("to_clean", "1")
    assert purge(world) == 2
    assert outcomes(world) == {"to_clean DONE": 3}
    world.finish(running)
    purge(world)
    assert outcomes(world) == {"to_clean DONE": 4}
    assert values(world, "dataflow_claims_total") == {"to_clean": 4}


def test_queues_and_the_oldest_claimable_work_are_by_job(world: World) -> None:
    world.chain("raw", "clean", grain="sequence")
    world.chain("other", "copy", grain="sequence")
    world.ready("raw", "1", "2", "3", "4")
    world.hold("to_clean", "4")
    world.take("to_clean")
    if world.clock:
        world.clock.seconds += 50
        assert values(world, "dataflow_oldest_claimable_seconds") == {"to_clean": 50, "to_copy": 0}
    assert values(world, "dataflow_work") == {
        "to_clean CLAIMABLE": 2,
        "to_clean HOLD": 1,
        "to_clean RUNNING": 1,
    }
    labels = {
        name for one in list_metrics(world.store) for sample in one.samples for name, _ in sample.labels
    }
    assert labels <= {"job", "state", "outcome", "dataset"}
