"""Registering jobs: inputs, outputs, grains, calendars and numbers, checked before anything is changed."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dataflow.actions.job_rules import check_lease
from dataflow.actions.register import add_dataset, add_job, remove_dataset, remove_job
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.records import Dataset, Job, JobInput
from tests.store.world import World


def add_datasets(world: World, *names: str, **fields: Any) -> None:
    for name in names:
        add_dataset(world.store, Dataset(name, **fields))


def job(name: str, inputs: str = "", outputs: str = "", **fields: Any) -> Job:
    sources = tuple(JobInput(*text.split(":")) for text in inputs.split())
    return Job(name, sources, tuple(outputs.split()), **fields)


def test_a_job_is_added_then_unchanged_then_changed(world: World) -> None:
    add_datasets(world, "bobin", "bobout")
    assert add_job(world.store, job("loadbob", "bobin", "bobout")).what == "added"
    assert add_job(world.store, job("loadbob", "bobin", "bobout")).what == "unchanged"
    change = add_job(world.store, job("loadbob", retries=3, lease_seconds=60.0), ["retries", "lease_seconds"])
    assert [str(difference) for difference in change.differences] == ["retries: 0 → 3", "lease: 5m → 1m"]
    assert world.plan("loadbob").job == job("loadbob", "bobin", "bobout", retries=3, lease_seconds=60.0)
    assert [line["to_state"] for line in world.journal("job add")] == ["added", "changed"]


def test_chunks_that_were_ready_before_the_job_create_work_for_it(world: World) -> None:
    add_datasets(world, "bobin", "bobout")
    world.ready("bobin", "1.0", "2.0")
    add_job(world.store, job("loadbob", "bobin", "bobout"))
    assert world.drain("loadbob") == ["1.0", "2.0"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": "load/bob"}, "is not a valid name for a job"),
        ({"inputs": ()}, "neither an input nor a schedule"),
        ({"inputs": (JobInput("bobin"), JobInput("bobin"))}, '"bobin" appears twice'),
        (
            {"inputs": (JobInput("bobin", "previous"),)},
            "previous needs an input whose dataids can be counted",
        ),
        ({"inputs": (JobInput("bobin", "windows"),)}, "is not a window"),
        ({"inputs": (JobInput("bobin", "every"),)}, "Known mappings: same, previous"),
        ({"outputs": ("bobout", "bobout")}, '"bobout" appears twice'),
        ({"outputs": ("today",)}, "no job can produce"),
        ({"retries": -1}, "--retries is -1"),
        ({"max_running": -1}, "--max-running is -1"),
        ({"retry_delay_seconds": -1.0}, "--retry-delay is -1"),
        ({"priority": 2**31}, "--priority is 2.*between"),
        ({"retry_max_delay_seconds": -1.0}, "--retry-max-delay is -1"),
        ({"retry_backoff": 0.5}, "--retry-backoff is 0.5; it must be between 1"),
        ({"retry_backoff": 11.0}, "--retry-backoff is 11"),
        ({"max_crashes": 0}, "--max-crashes is 0; it must be between 1"),
        ({"final_exit_codes": (2, 0)}, r"--final-exit-codes has 0 \(0 is success\)"),
        ({"final_exit_codes": (256,)}, "--final-exit-codes has 256;.*between 1 and 255"),
        ({"final_exit_codes": (-1,)}, "--final-exit-codes has -1"),
        ({"order": "latest"}, '--order "latest" is unknown.*Known: oldest, newest'),
        ({"order": "newest", "ordered": True}, "--order newest and --ordered exclude each other"),
        ({"lease_seconds": 15.0, "grace_seconds": 10.0}, "lease 15s is too short for grace 10s.*--lease 19s"),
        ({"timezone": "Mars/Base"}, "is not a time zone"),
        ({"end": "2026-01-01"}, "--end needs a schedule"),
        ({"catchup": True}, "--catchup needs a schedule"),
        ({"environment": (("1x", "y"),)}, "is not a variable name"),
        ({"environment": (("dataid", "y"),)}, "would hide a variable of DataFlow"),
        ({"environment": (("DATAFLOW_RUN_ID", "y"),)}, "would hide a variable of DataFlow"),
        ({"environment": (("bobin_hostname", "y"),)}, "would hide a variable of dataset bobin"),
        ({"environment": (("x", "a\0b"),)}, "contains NUL"),
        ({"environment": (("PATH", "y"),)}, r"--env PATH is refused.*job_path.*\[job.loadbob.environment\]"),
        ({"schedule": "@dayly"}, 'Did you mean "@daily"?'),
        ({"schedule": "61 * * * *"}, 'minute "61" is not within 0-59'),
        ({"schedule": "@daily"}, "If bobin has no chunks yet: dataflow dataset add bobin --grain daily; "),
    ],
)
def test_an_invalid_job_is_refused_with_the_reason(
    sqlite_world: World, fields: dict[str, Any], reason: str
) -> None:
    add_datasets(sqlite_world, "bobin", "bobout")
    given = {"name": "loadbob", "inputs": (JobInput("bobin"),), "outputs": ("bobout",)} | fields
    with pytest.raises(BadInput, match=reason):
        add_job(sqlite_world.store, Job(**given))
    assert sqlite_world.store.read.list_plans() == []
    assert sqlite_world.store.read.list_names("dataset") == ["bobin", "bobout"]


def test_the_error_for_an_unknown_dataset_suggests_the_nearest_one(world: World) -> None:
    add_datasets(world, "orders")
    with pytest.raises(
        UnknownName, match=r'no dataset "ordrs" for --in. Did you mean "orders"\?.*dataset add ordrs'
    ):
        add_job(world.store, job("load", "ordrs"))
    with pytest.raises(UnknownName, match=r"for --out"):
        add_job(world.store, job("load", "orders", "nowhere"))


def test_a_dataset_has_one_producer(world: World) -> None:
    add_datasets(world, "a", "b", "c")
    add_job(world.store, job("first", "a", "c"))
    with pytest.raises(Conflict, match=r"c is already produced by job first.*Give second another output"):
        add_job(world.store, job("second", "b", "c"))
    assert world.store.read.list_names("job") == ["first"]


def test_a_cycle_is_shown_and_a_lag_is_not_a_cycle(world: World) -> None:
    add_datasets(world, "a", "b", "c", grain="daily")
    add_job(world.store, job("one", "a", "b"))
    add_job(world.store, job("two", "b", "c"))
    with pytest.raises(Conflict, match="three → one → two → three"):
        add_job(world.store, job("three", "c", "a"))
    with pytest.raises(Conflict, match="self → self"):
        add_job(world.store, job("self", "a", "a"))
    add_job(world.store, job("three", "c:previous", "a"))


def test_inputs_share_a_grain_and_outputs_share_it_or_are_text(world: World) -> None:
    add_datasets(world, "days", "more_days", grain="daily")
    add_datasets(world, "months", grain="monthly")
    add_datasets(world, "anything")
    with pytest.raises(BadInput, match="days, of grain daily, and months, of grain monthly"):
        add_job(world.store, job("load", "days months"))
    with pytest.raises(BadInput, match="its output months of grain monthly"):
        add_job(world.store, job("load", "days", "months"))
    add_job(world.store, job("load", "days", "more_days anything"))
    assert world.plan("load").grain == "daily"


def test_hours_of_two_time_zones_cannot_be_combined(world: World) -> None:
    add_datasets(world, "here", grain="hourly", timezone="Europe/London")
    add_datasets(world, "there", grain="hourly", timezone="Asia/Kolkata")
    with pytest.raises(BadInput, match="so their dataids never match"):
        add_job(world.store, job("load", "here there"))


def test_names_that_collide_as_shell_variables_are_refused(world: World) -> None:
    add_datasets(world, "a-b", "a.b", "totals", "totals_previous", grain="daily")
    with pytest.raises(BadInput, match=r"a-b and a.b would both become a_b_"):
        add_job(world.store, job("load", "a-b a.b"))
    with pytest.raises(BadInput, match="would both become a_b_"):
        add_job(world.store, job("load", "a-b", "a.b"))
    both = "totals:previous and totals_previous would both become totals_previous_"
    with pytest.raises(BadInput, match=both):
        add_job(world.store, job("load", "totals:previous totals_previous"))
    add_job(world.store, job("load", "totals totals:previous"))


def test_adding_and_removing_a_schedule_adds_and_removes_a_calendar(world: World) -> None:
    add_datasets(world, "days", grain="daily")
    add_job(
        world.store, job("load", "days", schedule="@midnight", start="2026-01-01", timezone="Europe/London")
    )
    calendar = world.dataset_record("load.calendar")[1]
    assert (calendar.grain, calendar.timezone) == ("daily", "Europe/London")
    plan = world.plan("load")
    assert (plan.job.schedule, plan.job.start) == ("@daily", "2026-01-01")
    assert [item.dataset.name for item in plan.inputs] == ["days", "load.calendar"]
    assert plan.job.inputs == (JobInput("days"),)
    with pytest.raises(Conflict, match=r"created by the schedule of job load.*--schedule ''"):
        remove_dataset(world.store, "load.calendar")
    add_job(world.store, job("load", "days"))
    assert world.store.find_dataset("load.calendar") is None
    assert [item.dataset.name for item in world.plan("load").inputs] == ["days"]


def test_removing_a_job_removes_its_calendar_and_keeps_its_history(world: World) -> None:
    add_job(world.store, job("load", schedule="@daily"))
    remove_job(world.store, "load")
    assert world.store.read.list_names("dataset") == []
    assert world.journal("job remove")[0]["job"] == "load"
    with pytest.raises(UnknownName, match="dataflow job list"):
        remove_job(world.store, "load")


def test_a_job_with_a_live_run_is_not_removed(world: World) -> None:
    add_datasets(world, "bobin")
    add_job(world.store, job("loadbob", "bobin"))
    world.ready("bobin", "1.0")
    run = world.take("loadbob")
    with pytest.raises(Conflict, match=f"run {run.run_id} is running"):
        remove_job(world.store, "loadbob")


@pytest.mark.parametrize(
    ("schedule", "start", "canonical"),
    [
        ("@daily", "2026-01-01", "2026-01-01"),
        ("@weekly", "2026-01-01", "2026-01-04"),
        ("@monthly", "2026-01-15", "2026-02"),
        ("@yearly", "2026", "2026"),
        ("@hourly", "2026-01-01", "2026-01-01T00+00:00"),
        ("30 6 * * *", "2026-01-01", "2026-01-01"),
        ("*/15 * * * *", "2026-01-01", "2026-01-01"),
        ("@once", "2026-01-01", "2026-01-01"),
    ],
)
def test_a_start_becomes_the_first_dataid_and_stays(
    sqlite_world: World, schedule: str, start: str, canonical: str
) -> None:
    add_job(sqlite_world.store, job("load", schedule=schedule, start=start))
    found = sqlite_world.plan("load").job
    assert found.start == canonical
    assert add_job(sqlite_world.store, job("load", schedule=schedule, start=start)).what == "unchanged"
    assert add_job(sqlite_world.store, found).what == "unchanged"


def test_a_start_without_a_schedule_is_a_dataid_of_the_inputs(world: World) -> None:
    add_datasets(world, "days", "totals", grain="daily")
    add_datasets(world, "numbers", grain="sequence")
    add_job(world.store, job("load", "days totals:previous", "totals", start="2026-01-01"))
    add_job(world.store, job("count", "numbers", start="007"))
    assert world.plan("count").job.start == "7"
    with pytest.raises(BadInput, match='--start: Dataid "2026-02-30" is not a calendar date'):
        add_job(world.store, job("load", "days", start="2026-02-30"))
    world.ready("days", "2026-01-01", "2026-01-02")
    assert world.drain("load") == ["2026-01-01", "2026-01-02"]


def test_a_job_with_work_keeps_its_grain(world: World) -> None:
    add_datasets(world, "days", grain="daily")
    add_datasets(world, "words")
    add_job(world.store, job("load", "words"))
    world.ready("words", "a")
    with pytest.raises(Conflict, match=r"work whose dataids are of grain text.*dataflow job remove load"):
        add_job(world.store, job("load", "days"))
    world.withdraw("words", "a")
    assert world.plan("load").grain == "text"


def test_a_schedule_with_chunks_keeps_its_grain(world: World) -> None:
    add_job(world.store, job("load", schedule="@daily"))
    world.ready("load.calendar", "2026-01-01")
    with pytest.raises(Conflict, match=r"load.calendar has chunks.*dataflow job remove load"):
        add_job(world.store, job("load", schedule="@hourly"))
    add_job(world.store, job("load", schedule="30 6 * * *"))


@pytest.mark.parametrize("schedule", ["0 */6 * * *", "every 6 hours", "@once"])
def test_a_schedule_that_never_names_the_chunks_of_an_input_is_refused(world: World, schedule: str) -> None:
    for name, dataids in (("files", ("a.csv", "b.csv")), ("days", ("2026-08-20",)), ("empty", ())):
        add_dataset(world.store, Dataset(name))
        world.ready(name, *dataids)
    for name, dataid in (("files", "b.csv"), ("days", "2026-08-20")):
        with pytest.raises(
            BadInput, match=f'dataids such as "{dataid}".*Leave the schedule out.*{name}:latest'
        ):
            add_job(world.store, job("load", name, schedule=schedule))
        add_job(world.store, job(f"newest_{name}", f"{name}:latest", schedule=schedule))
    add_job(world.store, job("load", "empty", schedule=schedule))
    world.ready("empty", "c.csv")
    assert add_job(world.store, job("load", "empty", schedule=schedule)).what == "unchanged"


def test_a_schedule_that_names_chunks_of_its_input_is_accepted(world: World) -> None:
    add_dataset(world.store, Dataset("moments"))
    world.ready("moments", "0-backfill", "2026-08-20T06:00+00:00", "test")
    assert add_job(world.store, job("load", "moments", schedule="0 */6 * * *")).what == "added"
    add_dataset(world.store, Dataset("only"))
    world.ready("only", "once")
    assert add_job(world.store, job("first", "only", schedule="@once")).what == "added"


def test_today_is_created_when_a_job_first_reads_it(world: World) -> None:
    add_job(world.store, job("report", "today", timezone="Asia/Tokyo"))
    add_job(world.store, job("other", "today", timezone="Asia/Tokyo"))
    record = world.dataset_record("today")[1]
    assert (record.grain, record.timezone) == ("daily", "Asia/Tokyo")
    with pytest.raises(BadInput, match=r"uses the time zone Asia/Tokyo.*--timezone Asia/Tokyo"):
        add_job(world.store, job("third", "today"))


def test_a_job_may_read_the_calendar_of_another_job_but_not_its_own_by_name(world: World) -> None:
    add_job(world.store, job("load", schedule="@daily"))
    add_job(world.store, job("follow", "load.calendar"))
    with pytest.raises(BadInput, match="created by the job's own schedule"):
        add_job(world.store, job("load", "load.calendar", schedule="@daily"))
    with pytest.raises(Conflict, match="used by follow"):
        remove_job(world.store, "load")
    assert world.store.read.list_names("job") == ["follow", "load"]


@pytest.mark.parametrize(
    ("lease", "grace", "taken"),
    [(300, 10, True), (19, 10, True), (18, 10, False), (4, 0, True), (3, 0, False)],
)
def test_a_lease_leaves_time_to_renew_it_before_the_killing_starts(
    lease: float, grace: float, taken: bool
) -> None:
    assert (lease - grace - 2 > lease / 3) is taken
    if taken:
        check_lease(lease, grace)
    else:
        with pytest.raises(BadInput, match="too short"):
            check_lease(lease, grace)


def register_at_once(world: World, *jobs: Job) -> list[Exception]:
    """Register jobs from one thread each at the same moment; return those that were refused."""
    barrier = threading.Barrier(len(jobs))
    refused: list[Exception] = []

    def register(record: Job) -> None:
        store = world.store.separate(30.0)
        barrier.wait()
        try:
            add_job(store, record)
        except Conflict as error:
            refused.append(error)
        finally:
            store.close()

    threads = [threading.Thread(target=register, args=(record,)) for record in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return refused


def test_one_of_two_producers_registered_at_once_is_refused(world: World) -> None:
    add_datasets(world, "a", "b", "c")
    [error] = register_at_once(world, job("one", "a", "c"), job("two", "b", "c"))
    assert "is already produced by job" in str(error)
    assert len(world.store.read.list_names("job")) == 1


def test_one_of_two_jobs_that_form_a_cycle_at_once_is_refused(world: World) -> None:
    add_datasets(world, "a", "b")
    [error] = register_at_once(world, job("one", "a", "b"), job("two", "b", "a"))
    assert "wait for each other" in str(error)


def test_chunks_made_ready_while_a_job_is_registered_all_create_work_for_it(world: World) -> None:
    add_datasets(world, "a")
    dataids = [str(number) for number in range(200)]

    def make_ready() -> None:
        beside = World(world.store.separate(30.0), world.clock)
        for dataid in dataids:
            beside.ready("a", dataid)
        beside.close()

    thread = threading.Thread(target=make_ready)
    thread.start()
    for number in range(5):
        add_job(world.store, job(f"read{number}", "a"))
    thread.join()
    for number in range(5):
        assert [run.dataid for run in world.claim(f"read{number}", len(dataids))] == dataids


def test_a_schedule_of_a_finer_grain_suggests_a_mapping_that_is_accepted(world: World) -> None:
    world.dataset("sales", grain="daily")
    with pytest.raises(BadInput, match="Read it as sales:containing"):
        add_job(world.store, job("report", "sales", schedule="@hourly"))
    add_job(world.store, job("report", "sales:containing", schedule="@hourly"))
