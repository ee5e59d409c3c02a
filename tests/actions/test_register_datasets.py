"""Registering datasets: what is accepted, what is refused, and that a refusal changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from dataflow.actions.register import add_dataset, add_job, remove_dataset
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.records import Dataset, Job, JobInput
from tests.store.world import World

SECRET_LOCATIONS = (
    *(
        "postgresql://user:hunter2@host/db",
        "postgresql://host/db?password=hunter2",
        "https://h/a?sig=hunter2",
    ),
    *("https://h/{dataid}?page=2&token=hunter2", "https://h/a?api_key=hunter2", "https://h/a?sig=***"),
)


def test_a_dataset_is_added_then_unchanged_then_changed(world: World) -> None:
    assert add_dataset(world.store, Dataset("bobin")).what == "added"
    assert add_dataset(world.store, Dataset("bobin")).what == "unchanged"
    change = add_dataset(world.store, Dataset("bobin", hostname="db1"))
    assert (change.what, [str(difference) for difference in change.differences]) == (
        "changed",
        ["hostname: db1"],
    )
    assert [line["to_state"] for line in world.journal("dataset add")] == ["added", "changed"]


def test_fields_that_are_not_given_keep_their_value(world: World) -> None:
    add_dataset(world.store, Dataset("bobin", hostname="db1", tablename="bob"))
    add_dataset(world.store, Dataset("bobin", tablename="bob2"), ["tablename"])
    assert world.dataset_record("bobin")[1] == Dataset("bobin", hostname="db1", tablename="bob2")


def test_all_fields_survive_the_store(world: World) -> None:
    record = Dataset(
        "bob.in-1",
        hostname="db1",
        database="orders",
        schemaname="public",
        tablename='odd "table"',
        username="o'hara",
        location="/data/{environment}/{job}/{dataset}/{dataid}/{run_id}",
        format="csv",
        grain="hourly",
        timezone="Europe/London",
        mode="snapshot",
        options=(("delimiter", "="), ("quote", '"\n$HOME')),
    )
    add_dataset(world.store, record)
    assert world.dataset_record("bob.in-1")[1] == record


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"name": ""}, "it is empty"),
        ({"name": "a/b"}, 'character 2 is "/"'),
        ({"name": "../etc"}, 'character 3 is "/"'),
        ({"name": ".hidden"}, 'starts with "."'),
        ({"name": "bob in"}, 'character 4 is " "'),
        ({"name": "naïve"}, "character 3"),
        ({"name": "x\0y"}, r'character 2 is "\\u0000"'),
        ({"name": "x" * 101}, "101 characters long"),
        ({"name": "today"}, "that DataFlow maintains"),
        ({"name": "job.calendar"}, "that DataFlow maintains"),
        ({"grain": "dayly"}, 'Did you mean "daily"?'),
        ({"timezone": "Europe/Londn"}, 'Did you mean "Europe/London"?'),
        ({"mode": "snap"}, 'Did you mean "snapshot"?'),
        ({"location": "/data/{dataidd}"}, r"Known: \{dataid\}, \{encoded_dataid\}, \{run_id\}"),
        ({"location": "/data/{"}, "Known"),
        ({"location": "/data/{}"}, "Known"),
        *(
            ({"location": location}, "location .* contains a password or another secret.*--password-stdin")
            for location in SECRET_LOCATIONS
        ),
        ({"location": "https://u:hunter2@h/{dataidd}"}, "location .* contains a password"),
        ({"hostname": "a\0b"}, "hostname contains NUL"),
        ({"tablename": "a\udcffb"}, "tablename is not valid UTF-8"),
        ({"options": (("a-b", "1"), ("a.b", "2"))}, "the same variable"),
        ({"encryptedpass": "hunter2hunter2"}, "is not an encrypted record"),
    ],
)
def test_an_invalid_dataset_is_refused_with_the_reason(
    sqlite_world: World, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(BadInput, match=reason) as error:
        add_dataset(sqlite_world.store, Dataset(**{"name": "bobin"} | fields))
    assert "hunter2" not in str(error.value)
    assert sqlite_world.store.read.list_datasets() == []
    assert sqlite_world.journal() == []


def test_a_secret_that_a_store_already_holds_does_not_block_other_changes(world: World) -> None:
    for number, location in enumerate(SECRET_LOCATIONS):
        name = f"old{number}"
        world.dataset(name, location=location)
        add_dataset(world.store, Dataset(name, format="csv"), ["format"])
        assert world.dataset_record(name)[1] == Dataset(name, location=location, format="csv")


def test_a_dataset_with_chunks_keeps_its_grain(world: World) -> None:
    add_dataset(world.store, Dataset("bobin"))
    add_dataset(world.store, Dataset("bobin", grain="daily"))
    world.ready("bobin", "2026-08-20")
    with pytest.raises(Conflict, match=r"cannot become monthly.*dataflow dataset add NEW_NAME"):
        add_dataset(world.store, Dataset("bobin", grain="monthly"))
    assert world.dataset_record("bobin")[1].grain == "daily"


def test_hours_with_chunks_keep_their_time_zone_and_days_need_not(world: World) -> None:
    for grain, dataid in (("hourly", "2026-08-20T13+00:00"), ("daily", "2026-08-20")):
        add_dataset(world.store, Dataset(grain, grain=grain))
        world.ready(grain, dataid)
    with pytest.raises(Conflict, match="timezone cannot become Europe/London"):
        add_dataset(world.store, Dataset("hourly", grain="hourly", timezone="Europe/London"))
    add_dataset(world.store, Dataset("daily", grain="daily", timezone="Europe/London"))


def test_a_changed_grain_reaches_the_jobs_that_use_the_dataset(world: World) -> None:
    add_dataset(world.store, Dataset("bobin"))
    add_job(world.store, Job("loadbob", (JobInput("bobin"),)))
    add_dataset(world.store, Dataset("bobin", grain="daily", timezone="Europe/London"))
    plan = world.plan("loadbob")
    assert (plan.grain, plan.timezone) == ("daily", "Europe/London")


def test_a_grain_that_does_not_fit_a_job_is_refused_with_how_to_change_both(world: World) -> None:
    for name in ("bobin", "other"):
        add_dataset(world.store, Dataset(name))
    add_job(world.store, Job("loadbob", (JobInput("bobin"), JobInput("other"))))
    with pytest.raises(Conflict, match=r"have one grain.*dataflow apply FILE"):
        add_dataset(world.store, Dataset("bobin", grain="daily"))
    assert world.dataset_record("bobin")[1].grain == "text"


def test_runs_with_an_older_plan_see_a_changed_dataset(world: World) -> None:
    add_dataset(world.store, Dataset("bobin"))
    add_job(world.store, Job("loadbob", (JobInput("bobin"),)))
    before = world.plan("loadbob").revision
    add_dataset(world.store, Dataset("bobin", hostname="db2"))
    assert world.plan("loadbob").revision > before


def test_a_dataset_in_use_is_not_removed(world: World) -> None:
    add_dataset(world.store, Dataset("bobin"))
    add_job(world.store, Job("loadbob", (JobInput("bobin"),)))
    with pytest.raises(Conflict, match=r"used by loadbob.*dataflow job remove loadbob"):
        remove_dataset(world.store, "bobin")


def test_removing_a_dataset_removes_its_chunks_and_is_journalled(world: World) -> None:
    add_dataset(world.store, Dataset("bobin"))
    world.ready("bobin", "1.0", "2.0")
    assert remove_dataset(world.store, "bobin") == 2
    assert world.journal("dataset remove")[0]["why"] == "it had 2 chunks"
    with pytest.raises(UnknownName, match="dataflow dataset list"):
        remove_dataset(world.store, "bobin")


@pytest.mark.parametrize("grain", ["text", "sequence"])
def test_a_due_time_needs_dataids_with_a_time(world: World, grain: str) -> None:
    limits: dict[str, Any] = {"grain": grain, "due_by": "06:00"}
    with pytest.raises(
        BadInput, match=f"due_by needs dataids with a time, and those of grain {grain} have none"
    ):
        add_dataset(world.store, Dataset("orders", **limits), limits)
    limits = {"grain": "daily", "due_by": "6 am"}
    with pytest.raises(BadInput, match='due_by "6 am" is not a time of day'):
        add_dataset(world.store, Dataset("orders", **limits), limits)
    assert world.store.find_dataset("orders") is None


def test_limits_are_kept_and_shown_as_changes(world: World) -> None:
    limits: dict[str, Any] = {"grain": "daily", "due_by": "6:00", "fresh_within_seconds": 93600.0}
    change = add_dataset(world.store, Dataset("orders", **limits), limits)
    assert [str(one) for one in change.differences] == ["grain: daily", "fresh_within: 1d2h", "due_by: 06:00"]
    found = world.store.find_dataset("orders")
    assert found is not None
    assert (found[1].due_by, found[1].fresh_within_seconds) == ("06:00", 93600.0)
    change = add_dataset(world.store, Dataset("orders", due_by=""), {"due_by": ""})
    assert [str(one) for one in change.differences] == ["due_by: 06:00 → nothing"]
