"""Jobs downstream of a schedule of some days: they follow the days that their inputs have."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.statements import RecordingDatabase
from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.doctor import OK, PROBLEM, examine, repair, upgrade_schema
from dataflow.actions.oracle import list_discrepancies
from dataflow.actions.register import add_dataset, add_job, register, remove_job
from dataflow.actions.registry_draft import Registry
from dataflow.actions.status import get_status
from dataflow.actions.why import why
from dataflow.config.settings import load_config
from dataflow.errors import BadInput
from dataflow.model.record import replace
from dataflow.model.records import Dataset, Job, JobInput
from tests.store.world import World

THURSDAY, FRIDAY, SATURDAY, SUNDAY, MONDAY, TUESDAY = [f"2026-08-{day}" for day in range(20, 26)]
WEEK = [THURSDAY, FRIDAY, SATURDAY, SUNDAY, MONDAY, TUESDAY]
WEEKDAYS = "* * 1-5"
SCHEDULED = Job("report", (), ("reports",), schedule="0 6 * * 1-5", start=THURSDAY, end=TUESDAY, catchup=True)


def daily(world: World, *names: str) -> None:
    for name in names:
        add_dataset(world.store, Dataset(name, grain="daily", location=f"/data/{name}/{{dataid}}/{{run_id}}"))


def add(world: World, name: str, *inputs: str, out: str = "", **fields: object) -> None:
    """Adds a job; its output dataset is made, too."""
    if out:
        daily(world, out)
    parts = tuple(JobInput(*item.split(":")) for item in inputs)
    add_job(world.store, replace(Job(name, parts, (out,) if out else ()), **fields))


@pytest.fixture
def reports(world: World) -> World:
    """The reports of weekdays, and the orders of every day."""
    daily(world, "orders", "reports")
    add_job(world.store, SCHEDULED)
    return world


def do_reports(world: World) -> None:
    add_due_intervals(world.store, world.plan("report"))
    assert world.drain("report") == [THURSDAY, FRIDAY, MONDAY]


def check(world: World, *jobs: str) -> None:
    for job in jobs:
        assert list_discrepancies(world.store, world.plan(job)) == []


def explain(world: World, job: str, dataid: str) -> str:
    config = load_config("/", {"DATAFLOW_PROJECT": "/"})
    return why(world.store, config, world.plan(job), dataid).verdict


def test_an_ordered_job_downstream_goes_from_friday_to_monday(reports: World) -> None:
    add(reports, "publish", "reports", ordered=True)
    do_reports(reports)
    assert reports.drain("publish") == [THURSDAY, FRIDAY, MONDAY]


def test_an_ordered_job_downstream_does_not_overtake_friday(reports: World) -> None:
    add(reports, "publish", "reports", ordered=True)
    add_due_intervals(reports.store, reports.plan("report"))
    runs = {day: reports.take("report", day) for day in (THURSDAY, FRIDAY, MONDAY)}
    for day in (THURSDAY, MONDAY):
        reports.finish(runs[day])
    assert reports.drain("publish") == [THURSDAY]
    assert "2026-08-21, which comes first, has no work yet" in explain(reports, "publish", MONDAY)
    reports.finish(runs[FRIDAY])
    assert reports.drain("publish") == [FRIDAY, MONDAY]


def test_the_days_pass_through_several_jobs(reports: World) -> None:
    add(reports, "shorten", "reports", out="abstracts")
    add(reports, "send", "abstracts", "orders", ordered=True)
    assert reports.plan("send").days == WEEKDAYS
    do_reports(reports)
    reports.ready("orders", *WEEK)
    reports.drain("shorten")
    assert reports.drain("send") == [THURSDAY, FRIDAY, MONDAY]
    check(reports, "shorten", "send")


@pytest.mark.parametrize("orders_first", [True, False])
def test_an_input_of_every_day_calls_for_no_work_on_days_left_out(reports: World, orders_first: bool) -> None:
    add(reports, "join", "orders", "reports", ordered=True)
    if orders_first:
        reports.ready("orders", *WEEK)
        assert sorted(reports.states("join")) == [THURSDAY, FRIDAY, MONDAY, TUESDAY]
    do_reports(reports)
    reports.ready("orders", *WEEK)
    assert reports.drain("join") == [THURSDAY, FRIDAY, MONDAY]
    check(reports, "join")
    assert "calendar report.calendar has no interval 2026-08-22" in explain(reports, "join", SATURDAY)


def test_the_previous_chunk_is_that_of_friday(reports: World) -> None:
    add(reports, "compare", "reports", "reports:previous", start=THURSDAY)
    do_reports(reports)
    runs = [reports.take("compare", day) for day in (THURSDAY, FRIDAY, MONDAY)]
    assert [[pin.dataid for pin in run.pins] for run in runs] == [
        [THURSDAY],
        [FRIDAY, THURSDAY],
        [MONDAY, FRIDAY],
    ]
    check(reports, "compare")


def test_a_job_of_every_day_reads_friday_until_monday(reports: World) -> None:
    add(reports, "dashboard", "orders", "reports:previous")
    assert reports.plan("dashboard").days == ""
    do_reports(reports)
    reports.ready("orders", *WEEK)
    found = {day: reports.take("dashboard", day).pins[1].dataid for day in WEEK[1:]}
    assert found == {
        FRIDAY: THURSDAY,
        SATURDAY: FRIDAY,
        SUNDAY: FRIDAY,
        MONDAY: FRIDAY,
        TUESDAY: MONDAY,
    }
    check(reports, "dashboard")


def test_a_job_that_only_reads_the_previous_chunk_has_its_days(reports: World) -> None:
    add(reports, "archive", "reports:previous", ordered=True)
    do_reports(reports)
    assert reports.drain("archive") == [FRIDAY, MONDAY, TUESDAY]
    check(reports, "archive")


def test_a_chain_of_weekdays_reads_its_own_output_of_friday(reports: World) -> None:
    add(reports, "total", "reports", "totals:previous", out="totals", start=THURSDAY)
    do_reports(reports)
    assert reports.drain("total") == [THURSDAY, FRIDAY, MONDAY]
    check(reports, "total")


def test_a_job_with_a_schedule_of_weekdays_reads_its_own_output_of_friday(world: World) -> None:
    daily(world, "orders", "reports")
    inputs = (JobInput("orders"), JobInput("reports", "previous"))
    add_job(world.store, replace(SCHEDULED, inputs=inputs))
    world.ready("orders", *WEEK)
    do_reports(world)
    check(world, "report")


def test_a_chunk_that_was_forced_on_a_day_left_out_is_processed_downstream(reports: World) -> None:
    add(reports, "join", "orders", "reports", out="joined", ordered=True)
    add(reports, "send", "joined")
    reports.ready("orders", *WEEK)
    do_reports(reports)
    reports.finish(reports.force("report", SATURDAY))
    check(reports, "join")
    assert reports.drain("join") == [THURSDAY, FRIDAY, SATURDAY, MONDAY]
    assert reports.drain("send") == [THURSDAY, FRIDAY, SATURDAY, MONDAY]
    reports.withdraw("orders", SATURDAY)
    check(reports, "join", "send")
    add(reports, "join", "orders", "reports", out="joined", priority=1)
    check(reports, "join")


def test_a_chunk_that_was_forced_before_the_job_existed_is_processed(reports: World) -> None:
    reports.ready("orders", *WEEK)
    reports.finish(reports.force("report", SATURDAY))
    add(reports, "join", "orders", "reports")
    check(reports, "join")
    assert reports.drain("join") == [SATURDAY]


def test_two_schedules_have_the_days_in_common(reports: World) -> None:
    daily(reports, "summaries")
    add_job(reports.store, replace(SCHEDULED, name="summary", outputs=("summaries",), schedule="0 7 * * 1,6"))
    add(reports, "join", "reports", "summaries", "orders")
    assert reports.plan("join").days == "* * 1,6;* * 1-5"
    reports.ready("orders", *WEEK)
    do_reports(reports)
    add_due_intervals(reports.store, reports.plan("summary"))
    assert reports.drain("summary") == [SATURDAY, MONDAY]
    assert reports.drain("join") == [MONDAY]
    reports.finish(reports.force("summary", FRIDAY))
    assert reports.drain("join") == [FRIDAY]
    add(reports, "join", "reports", "summaries", "orders", priority=1)
    check(reports, "join")


def test_inputs_without_a_common_day_are_refused(reports: World) -> None:
    daily(reports, "summaries")
    add_job(reports.store, replace(SCHEDULED, name="summary", outputs=("summaries",), schedule="0 7 * * 6"))
    with pytest.raises(BadInput, match=r"no day in common \(reports has \* \* 1-5, summaries has \* \* 6\)"):
        add(reports, "join", "reports", "summaries")


def test_jobs_downstream_follow_another_schedule_of_the_producer(reports: World) -> None:
    add(reports, "shorten", "reports", out="abstracts")
    add(reports, "send", "abstracts", "orders", "abstracts:previous", start=THURSDAY)
    reports.ready("orders", *WEEK)
    assert sorted(reports.states("send")) == [THURSDAY, FRIDAY, MONDAY, TUESDAY]
    add_job(reports.store, replace(SCHEDULED, schedule="0 6 * * *"))
    assert [reports.plan(job).days for job in ("report", "shorten", "send")] == ["", "", ""]
    assert sorted(reports.states("send")) == WEEK
    add_job(reports.store, replace(SCHEDULED, schedule="0 6 * * 5,6"))
    assert sorted(reports.states("send")) == [FRIDAY, SATURDAY]
    assert [source.days for source in reports.plan("send").inputs] == ["* * 5,6", "", "* * 5,6"]
    check(reports, "send")


@pytest.mark.parametrize("how", ["removed", "another output"])
def test_without_its_producer_a_dataset_has_every_day(reports: World, how: str) -> None:
    add(reports, "publish", "orders", "reports")
    if how == "removed":
        remove_job(reports.store, "report")
    else:
        daily(reports, "others")
        add_job(reports.store, replace(SCHEDULED, outputs=("others",)))
    assert reports.plan("publish").days == ""
    reports.ready("orders", *WEEK)
    assert sorted(reports.states("publish")) == WEEK


@pytest.mark.parametrize("reverse", [True, False])
def test_jobs_may_be_declared_in_any_order(world: World, reverse: bool) -> None:
    datasets = [Dataset(name, grain="daily") for name in ("orders", "reports", "abstracts")]
    jobs = [
        SCHEDULED,
        Job("shorten", (JobInput("reports"),), ("abstracts",)),
        Job("send", (JobInput("abstracts"), JobInput("orders"))),
        Job("beside", (JobInput("report.calendar"), JobInput("orders"))),
    ]
    declare(world, datasets, jobs[::-1] if reverse else jobs)
    assert {world.plan(job.name).days for job in jobs} == {WEEKDAYS}
    revisions = [world.plan(job.name).revision for job in jobs]
    declare(world, datasets, jobs)
    assert [world.plan(job.name).revision for job in jobs] == revisions


def declare(world: World, datasets: list[Dataset], jobs: list[Job]) -> None:
    register(world.store, lambda registry: registry.draft(datasets, jobs))


def test_days_left_out_downstream_are_no_gaps(reports: World) -> None:
    add(reports, "shorten", "reports", out="abstracts")
    do_reports(reports)
    reports.drain("shorten")
    gaps = {one.dataset: one.gaps for one in get_status(reports.store).datasets}
    assert gaps["abstracts"] is None


def test_a_job_of_every_day_follows_another_schedule_of_its_previous_input(reports: World) -> None:
    add(reports, "dashboard", "orders", "reports:previous")
    do_reports(reports)
    reports.ready("orders", SATURDAY, SUNDAY)
    assert reports.states("dashboard")[SUNDAY] == "CLAIMABLE"
    add_job(reports.store, replace(SCHEDULED, schedule="0 6 * * *"))
    assert reports.states("dashboard")[SUNDAY] == "WAITING"
    check(reports, "dashboard")


def test_days_do_not_circulate_among_jobs_that_read_each_other(world: World) -> None:
    daily(world, "raw", "orders", "a", "b", "c", "d")
    add(world, "A", "raw:previous", out="a", schedule="0 6 * * 1-5", start=THURSDAY)
    add(world, "B", "raw:previous", "a:previous", out="b")
    add(world, "C", "orders", out="c")
    add(world, "D", "raw:previous", "c:previous", out="d")
    assert [world.plan(job).days for job in "ABCD"] == [WEEKDAYS, WEEKDAYS, "", ""]
    ring = {"D": "c", "C": "b", "B": "a", "A": "d"}
    jobs = [
        Job(name, (JobInput("raw", "previous"), JobInput(source, "previous")), (name.lower(),))
        for name, source in ring.items()
    ]
    declare(world, [], jobs)
    assert {world.plan(job).days for job in "ABCD"} == {""}


def test_days_do_not_depend_on_former_schedules(world: World) -> None:
    daily(world, "raw", "a", "b")
    for schedule, days in (("", ""), ("0 6 * * 1-5", WEEKDAYS), ("", "")):
        add(world, "A", "raw:previous", "b:previous", out="a", schedule=schedule)
        add(world, "B", "a:previous", out="b")
        assert [world.plan(job).days for job in "AB"] == [days, days]


def forget_days(world: World, job: str) -> None:
    """As migration 0010 or a worker of the version before leaves a job downstream."""
    world.poke(f"UPDATE job_input SET days = '' WHERE job_id = {world.plan(job).job_id}")
    world.poke(f"UPDATE job SET days = '', revision = revision + 1 WHERE name = '{job}'")


def test_jobs_that_read_different_days_of_a_dataset_are_counted_apart(reports: World) -> None:
    add(reports, "old", "orders", "reports:previous", start=THURSDAY)
    forget_days(reports, "old")
    add(reports, "new", "orders", "reports:previous", start=THURSDAY)
    forget_days(reports, "old")
    reports.ready("orders", *WEEK)
    do_reports(reports)
    assert reports.states("new") == dict.fromkeys(WEEK, "CLAIMABLE")
    check(reports, "old", "new")


@pytest.mark.parametrize("how", ["upgrade", "repair"])
def test_jobs_of_an_older_version_get_the_days_of_their_inputs(reports: World, how: str) -> None:
    add(reports, "shorten", "reports", out="abstracts")
    add(reports, "send", "abstracts", "orders")
    reports.ready("orders", *WEEK)
    config = load_config("/", {"DATAFLOW_PROJECT": "/"})
    for job in ("shorten", "send"):
        forget_days(reports, job)
    found = [one for one in examine(reports.store, config, lambda _: False) if one.check == "days"]
    assert [(one.level, one.next) for one in found] == [(PROBLEM, "dataflow doctor --repair")] * 2
    assert found[0].text == ("job send does not have the days of its inputs: days: every day → * * 1-5")
    if how == "upgrade":
        upgrade_schema(reports.store)
    else:
        assert repair(reports.store) == ["send", "shorten"]
    assert [reports.plan(job).days for job in ("shorten", "send")] == [WEEKDAYS, WEEKDAYS]
    assert [one.level for one in examine(reports.store, config, lambda _: False) if one.check == "days"] == [
        OK
    ]
    check(reports, "shorten", "send")


def test_the_journal_and_the_changes_name_the_jobs_that_follow(reports: World) -> None:
    add(reports, "mid", "orders", out="mids")
    add(reports, "low", "mids", "orders")
    reports.ready("orders", *WEEK)
    mid = replace(SCHEDULED, name="mid", inputs=(JobInput("orders"),), outputs=("mids",))
    planned = reports.store.database.read(lambda tx: Registry(tx).draft([], [mid]).changes)
    assert [str(change) for change in planned] == ["job mid changed", "job low changed"]
    change = add_job(reports.store, mid)
    assert [str(item) for item in change.followers] == ["job low changed"]
    assert str(change.followers[0].differences[0]) == "days: every day → * * 1-5"
    assert follow_line(reports).endswith("; 2 dataids removed")
    (follower,) = remove_job(reports.store, "mid")
    assert str(follower.differences[0]) == "days: * * 1-5 → every day"
    assert follow_line(reports).endswith("; 2 dataids added")


def follow_line(world: World) -> str:
    lines = world.select(
        "SELECT why FROM journal WHERE action = 'job follow' AND job = 'low' ORDER BY journal_id DESC"
    )
    return str(lines[0][0])


def test_a_job_is_removed_with_all_datasets_locked_before_any_row_is_written(reports: World) -> None:
    add(reports, "join", "orders", "reports", out="joined")
    recorder: Any = RecordingDatabase(reports.store.database)
    remove_job(reports.beside(recorder).store, "report")
    locks = [
        set(step[1]["dataset_ids"]) for step in recorder.steps if step[0] == "registration.lock_datasets"
    ]
    names = [step[0] for step in recorder.steps]
    assert names.index("registration.lock_datasets") < names.index("registration.delete_work_inputs")
    assert all(later <= locks[0] for later in locks[1:])
    assert len(locks[0]) == 4


def test_an_input_mapped_latest_leaves_no_day_out(reports: World) -> None:
    add(reports, "dashboard", "orders", "reports:latest")
    add_job(reports.store, replace(SCHEDULED, schedule="0 6 * * 5,6"))
    assert [source.days for source in reports.plan("dashboard").inputs] == ["", ""]
    assert repair(reports.store) == []


def test_jobs_that_follow_through_a_removed_ring_have_every_day(world: World) -> None:
    daily(world, "orders", "a", "b")
    add(world, "A", "b:previous", out="a", schedule="0 6 * * 1-5", start=THURSDAY)
    add(world, "B", "a:previous", out="b")
    remove_job(world.store, "A")
    assert world.plan("B").days == ""
