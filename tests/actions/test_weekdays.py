"""A schedule of some days, such as weekdays: daily dataids beside daily datasets, moments elsewhere."""

from __future__ import annotations

import pytest

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.oracle import list_discrepancies
from dataflow.actions.register import add_dataset, add_job
from dataflow.actions.status import get_status
from dataflow.actions.why import why
from dataflow.config.settings import load_config
from dataflow.errors import Conflict
from dataflow.model.answers import Why
from dataflow.model.record import replace
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.model.status import RunOutcome
from tests.store.world import World

WEEKDAYS = "0 6 * * 1-5"
# Thursday, Friday, Saturday, Sunday, Monday, Tuesday
DAYS = ["2026-08-20", "2026-08-21", "2026-08-22", "2026-08-23", "2026-08-24", "2026-08-25"]
REPORT = Job(
    "report",
    (JobInput("orders"),),
    ("reports",),
    schedule=WEEKDAYS,
    start=DAYS[0],
    end=DAYS[-1],
    catchup=True,
)
MOMENTS = ["2026-08-20T06:00+00:00", "2026-08-21T06:00+00:00", "2026-08-24T06:00+00:00"]


def add_report(world: World, **changes: object) -> None:
    for name in ("orders", "reports"):
        add_dataset(world.store, Dataset(name, grain="daily", location=f"/data/{name}/{{dataid}}/{{run_id}}"))
    add_job(world.store, replace(REPORT, **changes))


def add_intervals(world: World) -> None:
    add_due_intervals(world.store, world.plan("report"))


def works(world: World) -> list[str]:
    rows = world.store.read.list_readiness(world.plan("report").job_id)
    return sorted(row.dataid for row in rows)


def explain(world: World, dataid: str) -> Why:
    config = load_config("/", {"DATAFLOW_PROJECT": "/"})
    return why(world.store, config, world.plan("report"), dataid)


def check(world: World) -> None:
    assert list_discrepancies(world.store, world.plan("report")) == []


def test_weekdays_need_the_daily_chunk_of_their_own_day(world: World) -> None:
    add_report(world)
    assert world.plan("report").grain == "daily"
    world.ready("orders", *DAYS)
    add_intervals(world)
    weekdays = [DAYS[0], DAYS[1], DAYS[4]]
    assert [chunk.dataid for chunk in world.chunks("report.calendar")] == weekdays
    assert world.drain("report") == weekdays
    assert [chunk.dataid for chunk in world.chunks("reports") if chunk.status == "READY"] == weekdays
    check(world)


@pytest.mark.parametrize("orders_first", [True, False])
def test_work_exists_for_weekdays_only_and_waits_for_both(world: World, orders_first: bool) -> None:
    add_report(world)
    if orders_first:
        world.ready("orders", *DAYS[:4])
        check(world)
        assert works(world) == DAYS[:2]
        assert world.ask("report").again == "calendar"
        add_intervals(world)
    else:
        add_intervals(world)
        assert world.claim("report") == ()
        world.ready("orders", *DAYS[:4])
    check(world)
    assert world.drain("report") == DAYS[:2]
    assert world.state("report", DAYS[4]) == "WAITING"


def test_an_interval_is_ready_when_it_has_ended(sqlite_world: World) -> None:
    world = sqlite_world
    assert world.clock is not None
    world.clock.seconds = 1_787_378_400.0  # Saturday 2026-08-22 06:00 UTC
    add_report(world)
    world.ready("orders", *DAYS)
    add_intervals(world)
    assert world.drain("report") == [DAYS[0]]
    friday = explain(world, DAYS[1])
    assert (
        "report.calendar/2026-08-21 is not ready: its interval ends at 2026-08-24T06:00:00Z" in friday.verdict
    )
    world.clock.seconds += 2 * 86400 - 1
    assert world.ask("report").again == ""
    world.clock.seconds += 1
    add_intervals(world)
    assert world.drain("report") == [DAYS[1]]


def test_a_day_that_the_schedule_leaves_out_says_so_and_can_be_forced(world: World) -> None:
    add_report(world)
    world.ready("orders", *DAYS)
    add_intervals(world)
    saturday = explain(world, DAYS[2])
    assert "calendar report.calendar has no interval 2026-08-22" in saturday.verdict
    assert saturday.next.startswith("dataflow force report 2026-08-22")
    run = world.force("report", DAYS[2])
    check(world)
    world.finish(run)
    check(world)
    world.withdraw("orders", DAYS[2])
    check(world)
    world.ready("orders", DAYS[2])
    check(world)
    assert world.state("report", DAYS[2]) == "WAITING"


def test_a_forced_day_counts_the_chunk_that_comes_later(world: World) -> None:
    add_report(world)
    run = world.force("report", DAYS[2])
    world.finish(run, RunOutcome.FAILED)
    world.ready("orders", *DAYS)
    check(world)


def test_an_ordered_job_goes_from_friday_to_monday(world: World) -> None:
    add_report(world, ordered=True)
    world.ready("orders", DAYS[0], DAYS[2], DAYS[4])
    add_intervals(world)
    assert world.drain("report") == [DAYS[0]]
    monday = explain(world, DAYS[4])
    assert "2026-08-21, which is WAITING, comes first" in monday.verdict
    world.ready("orders", DAYS[1])
    assert world.drain("report") == [DAYS[1], DAYS[4]]


def test_an_ordered_job_does_not_overtake_a_friday_without_work(world: World) -> None:
    add_report(world, ordered=True)
    add_intervals(world)
    world.ready("orders", DAYS[0], DAYS[4])
    world.drain("report")
    work_id = world.work("report", DAYS[1]).work_id
    world.poke(f"DELETE FROM work_input WHERE work_id = {work_id}")
    world.poke(f"DELETE FROM work WHERE work_id = {work_id}")
    assert world.claim("report") == ()
    assert "2026-08-21, which comes first, has no work yet" in explain(world, DAYS[4]).verdict


def test_another_schedule_gives_work_to_other_days(world: World) -> None:
    add_report(world)
    world.ready("orders", *DAYS)
    assert works(world) == [DAYS[0], DAYS[1], DAYS[4], DAYS[5]]
    add_job(world.store, replace(REPORT, schedule="0 6 * * *"))
    assert works(world) == DAYS
    check(world)
    add_job(world.store, replace(REPORT, schedule="0 6 * * 6"))
    assert works(world) == [DAYS[2]]
    check(world)


def test_without_a_daily_dataset_the_dataids_stay_moments(world: World) -> None:
    add_dataset(world.store, Dataset("orders", grain="daily"))
    add_dataset(world.store, Dataset("reports"))
    add_job(world.store, replace(REPORT, inputs=(JobInput("orders", "latest"),)))
    assert world.plan("report").grain == "text"
    world.ready("orders", *DAYS)
    add_intervals(world)
    assert world.drain("report") == MOMENTS
    check(world)


def test_a_daily_output_is_enough(world: World) -> None:
    add_dataset(world.store, Dataset("reports", grain="daily"))
    add_job(world.store, replace(REPORT, inputs=()))
    add_intervals(world)
    assert world.drain("report") == [DAYS[0], DAYS[1], DAYS[4]]


def test_a_job_with_moments_keeps_them(world: World) -> None:
    add_dataset(world.store, Dataset("orders", grain="daily"))
    add_dataset(world.store, Dataset("reports"))
    add_job(world.store, replace(REPORT, inputs=()))
    add_intervals(world)
    with pytest.raises(
        Conflict, match=r"report\.calendar has chunks whose dataids were written for grain text"
    ):
        add_job(world.store, REPORT)
    with pytest.raises(
        Conflict, match=r"report\.calendar has chunks|has work whose dataids are of grain text"
    ):
        add_dataset(world.store, Dataset("reports", grain="daily"))
    assert world.drain("report") == MOMENTS


def test_a_job_that_has_not_run_follows_its_datasets(world: World) -> None:
    add_dataset(world.store, Dataset("reports"))
    add_job(world.store, replace(REPORT, inputs=()))
    add_dataset(world.store, Dataset("reports", grain="daily"))
    assert world.plan("report").grain == "daily"
    add_intervals(world)
    assert world.drain("report") == [DAYS[0], DAYS[1], DAYS[4]]


def test_the_start_is_the_first_day_of_the_schedule(world: World) -> None:
    add_report(world, start=DAYS[2])
    assert world.plan("report").job.start == DAYS[4]
    add_intervals(world)
    assert [chunk.dataid for chunk in world.chunks("report.calendar")] == [DAYS[4]]


def test_the_days_between_are_no_gaps(world: World) -> None:
    add_report(world)
    world.ready("orders", *DAYS)
    add_intervals(world)
    world.drain("report")
    gaps = {one.dataset: one.gaps for one in get_status(world.store).datasets}
    assert gaps == {"orders": 0, "reports": None, "report.calendar": None}
