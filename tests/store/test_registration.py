"""Datasets and jobs are added, changed and removed, and a job's work follows its inputs."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow import errors
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.status import RunOutcome, WorkState
from tests.store.world import LEASE_SECONDS, World


def test_a_dataset_is_stored_as_given(world: World) -> None:
    options = (("delimiter", ";"), ("header", "true"))
    record = Dataset(
        "orders", "db1", "sales", "public", "orders", "etl", "secret:xyz", "s3://x/{run_id}", "csv", "hourly",
        "Europe/Vienna", "snapshot", options,
    )  # fmt: skip
    world.dataset(**{name: getattr(record, name) for name in record.__match_args__})
    assert world.dataset_record("orders")[1] == record
    assert world.store.read.list_datasets() == [record]
    assert world.store.read.list_names("dataset") == ["orders"]


def test_a_job_is_stored_as_given(world: World) -> None:
    for name in ("left", "right", "both"):
        world.dataset(name, grain="daily")
    fields: dict[str, Any] = {
        "environment": (("LANG", "C"), ("MODE", "a'b\n$c")),
        "schedule": "@daily",
        "start": "2026-08-01",
        "end": "2026-09-01",
        "catchup": True,
        "timezone": "Europe/Vienna",
        "ordered": True,
        "retries": 3,
        "retry_delay_seconds": 5.5,
        "max_running": 4,
        "lease_seconds": 60.0,
        "grace_seconds": 5.0,
        "priority": 7,
        "timeout_seconds": 9.5,
        "pool": "warehouse",
        "order": "newest",
        "retry_backoff": 1.5,
        "retry_max_delay_seconds": 600.0,
        "final_exit_codes": (2, 64),
        "max_crashes": 3,
    }
    plan = world.job("join", ["left", "right:previous"], ["both"], **fields)
    assert plan.job == Job("join", (JobInput("left"), JobInput("right", "previous")), ("both",), **fields)
    assert (plan.grain, [item.dataset.name for item in plan.inputs]) == ("daily", ["left", "right"])
    assert world.store.read.list_plans() == [plan]
    assert world.store.find_plan("other") is None


def test_a_job_registered_after_its_input_was_ready_finds_its_work(world: World) -> None:
    world.dataset("raw")
    world.dataset("clean")
    world.ready("raw", *(str(number) for number in range(1, 12)))
    world.withdraw("raw", "5")
    world.job("to_clean", ["raw"], ["clean"])
    assert world.drain("to_clean") == ["1", "2", "3", "4", "6", "7", "8", "9", "10", "11"]


def test_more_chunks_than_fit_in_one_batch_all_become_work(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dataflow.store.registry.REBUILD_BATCH", 2)
    world.dataset("raw")
    world.ready("raw", "1", "2", "3", "4", "5")
    world.job("count", ["raw"])
    assert world.drain("count") == ["1", "2", "3", "4", "5"]


def test_a_job_that_gets_another_input_waits_for_it(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("rates")
    world.ready("raw", "1", "2", "3")
    world.do("to_clean", "1")
    world.ready("rates", "3", "4")
    world.job("to_clean", ["raw", "rates"], ["clean"])
    assert world.states("to_clean") == {"1": "DONE", "2": "WAITING", "3": "CLAIMABLE", "4": "WAITING"}
    assert [world.work("to_clean", dataid).missing for dataid in "1234"] == [1, 1, 0, 1]
    world.ready("rates", "2")
    assert world.drain("to_clean") == ["2", "3"]


def test_a_job_that_loses_an_input_no_longer_waits_for_it(world: World) -> None:
    for name in ("raw", "rates", "clean"):
        world.dataset(name)
    world.job("join", ["raw", "rates"], ["clean"])
    world.ready("raw", "1")
    world.ready("rates", "2")
    assert not world.claim("join")
    world.job("join", ["raw"], ["clean"])
    assert world.states("join") == {"1": "CLAIMABLE"}


def test_a_job_whose_input_is_replaced_drops_work_that_no_input_calls_for(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("other")
    world.ready("raw", "1", "2")
    world.ready("other", "2", "3")
    world.job("to_clean", ["other"], ["clean"])
    assert world.states("to_clean") == {"2": "CLAIMABLE", "3": "CLAIMABLE"}
    assert world.select("SELECT count(*) FROM work_input") == [(2,)]
    world.ready("raw", "9")
    assert world.state("to_clean", "9") == ""


def test_work_whose_input_is_ready_is_kept_when_another_is_added(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("rates")
    world.ready("raw", "1")
    world.hold("to_clean", "1")
    world.job("to_clean", ["raw", "rates"], ["clean"])
    assert world.work("to_clean", "1").hold
    assert world.present("to_clean", "1") == [(1, 1), (1, 0)]


def test_work_that_has_run_is_kept_even_if_no_input_calls_for_it(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("other")
    world.ready("raw", "1")
    world.do("to_clean", outcome=RunOutcome.INTERRUPTED)
    world.job("to_clean", ["other"], ["clean"])
    assert world.states("to_clean") == {"1": "WAITING"}
    assert world.present("to_clean", "1") == [(1, 0)]


def test_work_marked_manually_is_kept_even_if_no_input_calls_for_it(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("other")
    world.ready("raw", "1")
    world.mark("to_clean", "1", WorkState.FAILED)
    world.job("to_clean", ["other"], ["clean"])
    assert world.states("to_clean") == {"1": "FAILED"}
    assert world.present("to_clean", "1") == [(1, 0)]


def test_a_change_of_inputs_keeps_waits_holds_and_running_work(world: World) -> None:
    world.chain("raw", "clean", retries=1, retry_delay_seconds=60)
    world.dataset("rates")
    world.ready("raw", "1", "2", "3")
    world.ready("rates", "1", "2", "3")
    world.do("to_clean", "1", RunOutcome.FAILED)
    running = world.take("to_clean", "2")
    world.hold("to_clean", "3")
    world.job("to_clean", ["raw", "rates"], ["clean"], retries=1, retry_delay_seconds=60)
    assert not world.claim("to_clean")
    assert world.renew(running) == {running.run_id}
    assert world.finish(running) is WorkState.CLAIMABLE, "it has not read the rates"
    world.do("to_clean", "2")
    world.release("to_clean", "3")
    world.take("to_clean", "3")
    world.advance(72)
    world.take("to_clean", "1")


def test_existing_work_gets_the_new_priority_and_order_of_its_job(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    world.job("to_clean", ["raw"], ["clean"], ordered=True, priority=3)
    assert world.select("SELECT DISTINCT priority FROM work") == [(3,)]
    assert len(world.claim("to_clean", 2)) == 1


def test_registering_the_same_again_does_not_change_the_work(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2", "3")
    world.do("to_clean", "1")
    world.do("to_clean", "2", RunOutcome.FAILED)
    before = (world.states("to_clean"), [world.present("to_clean", dataid) for dataid in "123"])
    world.job("to_clean", ["raw"], ["clean"])
    assert (world.states("to_clean"), [world.present("to_clean", dataid) for dataid in "123"]) == before


def test_a_dataset_has_one_producer(world: World) -> None:
    world.chain("raw", "clean")
    with pytest.raises(errors.Conflict, match="Dataset clean is already produced by job to_clean"):
        world.job("other", ["raw"], ["clean"])
    assert world.store.find_plan("other") is None


def test_a_job_over_an_unknown_dataset_is_refused(world: World) -> None:
    world.dataset("raw")
    with pytest.raises(errors.UnknownName, match="No dataset clean"):
        world.job("to_clean", ["raw"], ["clean"])
    assert world.store.find_plan("to_clean") is None


def test_removing_a_job_removes_its_work_and_keeps_its_history(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    run = world.do("to_clean", "1")
    world.remove_job("to_clean")
    assert world.store.find_plan("to_clean") is None
    assert world.select("SELECT count(*) FROM work") == [(0,)]
    assert world.select("SELECT count(*) FROM work_input") == [(0,)]
    assert world.outcome(run) == "DONE"
    assert (world.status("clean", "1"), world.version("clean", "1")) == ("READY", 1)
    assert world.ready("raw", "3") == 1


def test_a_job_with_running_work_is_not_removed(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    run = world.take("to_clean")
    with pytest.raises(
        errors.Conflict,
        match=f"cannot be removed now: run {run.run_id} is running.* dataflow cancel {run.run_id}$",
    ):
        world.remove_job("to_clean")
    assert world.state("to_clean", "1") == "RUNNING"


def test_a_dataset_in_use_is_not_removed(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1", "2")
    for name in ("raw", "clean"):
        with pytest.raises(errors.Conflict, match=f"Dataset {name} is used by to_clean"):
            world.remove_dataset(name)
    world.remove_job("to_clean")
    assert world.remove_dataset("raw") == 2
    assert world.store.find_dataset("raw") is None


def test_a_changed_dataset_makes_its_jobs_reload_their_plan(world: World) -> None:
    world.chain("raw", "clean")
    before = world.plan("to_clean").revision
    world.dataset("clean", hostname="elsewhere")
    assert world.plan("to_clean").revision > before


@pytest.mark.parametrize("outputs", [["other"], ["clean", "other"], []])
def test_outputs_do_not_change_under_a_live_run(world: World, outputs: list[str]) -> None:
    world.chain("raw", "clean")
    world.dataset("other")
    world.ready("raw", "1")
    run = world.take("to_clean")
    with pytest.raises(
        errors.Conflict, match=rf"outputs of job to_clean cannot change now: run {run.run_id} is running"
    ):
        world.job("to_clean", ["raw"], outputs)
    world.job("to_clean", ["raw"], ["clean"], retries=3)
    world.finish(run)
    assert world.version("clean", "1") == 1
    world.job("to_clean", ["raw"], outputs)
    assert [output.dataset.name for output in world.plan("to_clean").outputs] == outputs


def test_outputs_can_change_after_the_lease_of_a_run_has_lapsed(world: World) -> None:
    world.chain("raw", "clean")
    world.dataset("other")
    world.ready("raw", "1")
    world.take("to_clean")
    world.advance(LEASE_SECONDS)
    world.job("to_clean", ["raw"], ["other"])
    world.remove_dataset("clean")
    world.do("to_clean", "1")
    assert world.version("other", "1") == 1


def test_a_hold_outlasts_a_withdrawal_and_a_new_publish(world: World) -> None:
    world.chain("raw", "clean")
    world.ready("raw", "1")
    world.hold("to_clean", "1")
    world.withdraw("raw", "1")
    world.job("to_clean", ["raw"], ["clean"], priority=5)
    world.ready("raw", "1")
    assert not world.claim("to_clean")
    assert world.present("to_clean", "1") == [(1, 1)]
    world.release("to_clean", "1")
    world.take("to_clean", "1")
