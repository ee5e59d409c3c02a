"""The mapping `latest` as users see it: registration, why, the doctor, and what a run knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.actions.apply import export_declarations, plan_changes
from dataflow.actions.doctor import repair
from dataflow.actions.oracle import list_discrepancies
from dataflow.actions.prepare import prepare
from dataflow.actions.register import add_dataset, add_job
from dataflow.config.declarations import read_declarations
from dataflow.errors import BadInput, Conflict
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.runjob.environment import describe
from tests.actions.test_why import answers, ask, evidence
from tests.store.world import World

LATEST = JobInput("snap", "latest")


def add_view(world: World, timezone: str = "UTC") -> None:
    """A monthly view of daily snapshots, from November to December of 2017."""
    add_dataset(
        world.store, Dataset("snap", grain="daily", location="/data/snap/{dataid}.csv", timezone=timezone)
    )
    add_dataset(world.store, Dataset("months", grain="monthly"))
    add_dataset(world.store, Dataset("views", grain="monthly"))
    add_job(world.store, Job("view", (JobInput("months"), LATEST), ("views",)))


def check(world: World) -> None:
    assert list_discrepancies(world.store, world.plan("view")) == []


def test_the_grain_of_a_job_is_that_of_its_other_inputs(world: World) -> None:
    add_view(world)
    add_job(world.store, Job("view", (LATEST, JobInput("months")), ("views",)))
    assert world.plan("view").grain == "monthly"
    assert [str(item) for item in world.plan("view").job.inputs] == ["snap:latest", "months"]


def test_a_schedule_calls_for_work_beside_a_latest_input(world: World) -> None:
    add_view(world)
    add_job(world.store, Job("by_month", (LATEST,), schedule="@monthly", start="2017-11", catchup=True))
    assert world.plan("by_month").grain == "monthly"


def test_a_job_that_reads_only_the_latest_is_refused_with_what_to_do(world: World) -> None:
    add_view(world)
    with pytest.raises(BadInput, match=r"only snap:latest, which creates no work.*--schedule @monthly"):
        add_job(world.store, Job("alone", (LATEST,)))


def test_other_inputs_still_share_one_grain(world: World) -> None:
    add_view(world)
    with pytest.raises(BadInput, match="have one grain, except those mapped latest"):
        add_job(world.store, Job("mixed", (JobInput("months"), JobInput("snap"))))


def test_a_schedule_of_two_times_a_day_beside_a_daily_input_is_refused_with_what_to_do(world: World) -> None:
    add_dataset(world.store, Dataset("days", grain="daily"))
    advice = (
        "Leave the schedule out, and each chunk of days starts the job; or keep it and read what is newest"
    )
    with pytest.raises(BadInput, match=f"{advice} at that time: days:latest"):
        add_job(world.store, Job("report", (JobInput("days"),), schedule="0 6,18 * * *"))
    add_job(world.store, Job("report", (JobInput("days", "latest"),), schedule="0 6,18 * * *"))
    add_job(world.store, Job("each", (JobInput("days"),)))


def test_hours_of_another_time_zone_can_be_read_as_the_latest(world: World) -> None:
    add_dataset(world.store, Dataset("here", grain="hourly", timezone="Europe/Vienna"))
    add_dataset(world.store, Dataset("there", grain="hourly", timezone="America/New_York"))
    add_job(world.store, Job("compare", (JobInput("here"), JobInput("there", "latest"))))
    world.ready("here", "2026-01-01T12+01:00")
    world.ready("there", "2026-01-01T06-05:00")
    assert len(world.take("compare").pins) == 2


def test_a_job_may_not_read_the_latest_of_what_waits_for_it(world: World) -> None:
    add_view(world)
    with pytest.raises(Conflict, match="wait for each other forever: view → view"):
        add_job(world.store, Job("view", (JobInput("months"), JobInput("views", "latest")), ("views",)))


def test_another_time_zone_of_the_snapshots_covers_other_work(world: World) -> None:
    add_view(world)
    world.ready("months", "2017-11")
    world.ready("snap", "2017-11-30")
    assert world.state("view", "2017-11") == "CLAIMABLE"
    add_dataset(world.store, Dataset("snap", grain="daily", timezone="Europe/Vienna"))
    assert world.state("view", "2017-11") == "WAITING"
    check(world)
    world.ready("snap", "2017-12-01")
    assert world.state("view", "2017-11") == "CLAIMABLE"
    check(world)


def test_an_export_of_latest_inputs_reads_back_unchanged(world: World, tmp_path: Path) -> None:
    add_view(world)
    text = export_declarations(world.store)
    assert 'in = ["months", "snap:latest"]' in text
    (tmp_path / "flow.toml").write_text(text)
    declared = read_declarations([str(tmp_path / "flow.toml")])
    assert {change.what for change in plan_changes(world.store, declared)} == {"unchanged"}


def test_why_says_what_the_work_waits_for_and_how_far_the_dataset_is(world: World) -> None:
    add_view(world)
    world.ready("months", "2017-11")
    found = ask(world, "view", "2017-11")
    assert found.verdict == (
        "PENDING: waits for snap to cover 2017-11 (needs a chunk ending at or after 2017-12-01; "
        "none is ready)"
    )
    assert found.next == "dataflow ready snap 2017-11-30"
    world.ready("snap", "2017-11-15")
    found = ask(world, "view")
    assert found.verdict == (
        "PENDING: waits for snap to cover 2017-11 (needs a chunk ending at or after 2017-12-01; "
        "the newest ready is 2017-11-15)"
    )
    assert answers(found)["ready"] == "no"
    assert "to cover 2017-11" in evidence(found, "ready")


def test_why_names_the_moment_unless_it_is_midnight(world: World) -> None:
    add_view(world, timezone="America/New_York")
    world.ready("months", "2017-11")
    assert "ending at or after 2017-11-30T19:00-05:00; none is ready" in ask(world, "view").verdict


def test_why_names_the_chunk_that_would_be_read(world: World) -> None:
    add_view(world)
    world.ready("months", "2017-11")
    world.ready("snap", "2017-11-30", "2017-12-01")
    found = ask(world, "view", "2017-11")
    assert "nothing blocks it" in found.verdict
    assert evidence(found, "ready") == "months/2017-11 version 1; snap/2017-12-01 version 1"


def test_why_of_missing_work_names_the_input_that_creates_it_first(world: World) -> None:
    add_view(world)
    add_job(world.store, Job("view", (LATEST, JobInput("months")), ("views",)))
    found = ask(world, "view", "2017-11")
    assert found.verdict.startswith("PENDING: there is no work view/2017-11 yet; input months/2017-11")
    assert found.next == "dataflow ready months 2017-11"
    assert ask(world, "view").verdict == "PENDING: job view has no work: no chunk of months is ready"


def test_why_names_the_producer_of_the_snapshots(world: World) -> None:
    add_view(world)
    add_dataset(world.store, Dataset("raw", grain="daily"))
    add_job(world.store, Job("to_snap", (JobInput("raw"),), ("snap",)))
    world.ready("months", "2017-11")
    assert ask(world, "view").next == "dataflow why to_snap 2017-11-30"


def test_why_of_a_latest_calendar_names_the_command(world: World) -> None:
    add_view(world)
    add_job(world.store, Job("view", (JobInput("months"), JobInput("today", "latest")), ("views",)))
    world.ready("months", "2999-12")
    assert ask(world, "view").next.startswith("RunJob")


def test_why_of_a_latest_input_without_time_says_that_there_is_none(world: World) -> None:
    add_view(world)
    add_dataset(world.store, Dataset("names"))
    add_job(world.store, Job("view", (JobInput("months"), JobInput("names", "latest")), ("views",)))
    world.ready("months", "2017-11")
    found = ask(world, "view")
    assert found.verdict == "PENDING: waits for a chunk of names: none is ready"
    assert found.next == "dataflow ready names DATAID"


def test_why_of_numbers_names_the_number(world: World) -> None:
    for name in ("numbers", "state"):
        add_dataset(world.store, Dataset(name, grain="sequence"))
    add_job(world.store, Job("fold", (JobInput("numbers"), JobInput("state", "latest"))))
    world.ready("numbers", "9")
    world.ready("state", "8")
    assert "(needs chunk 9 or a later one; the newest ready is 8)" in ask(world, "fold").verdict


def test_the_doctor_finds_and_repairs_wrong_counts_of_a_latest_input(world: World) -> None:
    add_view(world)
    world.ready("months", "2017-11", "2017-12")
    world.ready("snap", "2017-11-30")
    world.poke("UPDATE work SET missing = 0, state = 'CLAIMABLE' WHERE dataid = '2017-12'")
    found = list_discrepancies(world.store, world.plan("view"))
    assert [(item.dataid, item.text) for item in found] == [
        ("2017-12", "counts 0 missing inputs, 1 are missing")
    ]
    assert repair(world.store) == ["view"]
    assert world.states("view") == {"2017-11": "CLAIMABLE", "2017-12": "WAITING"}
    check(world)


def test_the_doctor_finds_and_repairs_a_wrong_newest_chunk(world: World) -> None:
    add_view(world)
    world.ready("months", "2017-11")
    world.ready("snap", "2017-11-30", "2017-12-01")
    world.poke("UPDATE job_input SET newest = '2017-11-30' WHERE mapping = 'latest'")
    (found,) = list_discrepancies(world.store, world.plan("view"))
    assert found.text == "does not use snap/2017-12-01 as the latest"
    assert repair(world.store) == ["view"]
    assert [pin.dataid for pin in world.take("view").pins] == ["2017-11", "2017-12-01"]
    check(world)


def test_a_run_knows_which_chunk_is_the_latest(world: World, tmp_path: Path) -> None:
    add_view(world)
    world.ready("months", "2017-11")
    world.ready("snap", "2017-12-01")
    prepared = prepare(world.store, world.plan("view"), world.take("view"), str(tmp_path), "dev")
    told = describe(prepared)
    assert told["dataid"] == "2017-11"
    names = ("dataid", "location", "version")
    assert [told[f"snap_latest_{name}"] for name in names] == ["2017-12-01", "/data/snap/2017-12-01.csv", "1"]


def test_a_forced_run_without_a_covering_chunk_is_refused(world: World, tmp_path: Path) -> None:
    add_view(world)
    world.ready("months", "2017-11")
    world.ready("snap", "2017-11-15")
    run = world.force("view", "2017-11")
    prepared = prepare(world.store, world.plan("view"), run, str(tmp_path), "dev")
    assert prepared.refusal is not None
    assert "snap:latest is not ready" in prepared.refusal.evidence
