"""Days that a schedule without catch-up skips: their work says so, is not late, and can be forced."""

from __future__ import annotations

import pytest

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.register import add_dataset, add_job
from dataflow.actions.status import JobStatus, get_status
from dataflow.actions.why import why
from dataflow.config.settings import load_config
from dataflow.model.answers import Why
from dataflow.model.record import replace
from dataflow.model.records import Dataset, Job, JobInput
from dataflow.store.work_reads import SkippedWork
from tests.store.world import World

DAYS = [f"2026-08-{day}" for day in range(18, 24)]
NOON_SECONDS = 1_787_227_200.0  # 2026-08-20 12:00 UTC
SKIPPED = "digest.calendar skipped it, because without catch-up it adds only the latest interval"


@pytest.fixture
def digest(sqlite_world: World) -> World:
    """A daily job without catch-up whose other input was there for days; the schedule has begun."""
    assert sqlite_world.clock is not None
    sqlite_world.clock.seconds = NOON_SECONDS
    add_dataset(sqlite_world.store, Dataset("sales", grain="daily"))
    add_job(sqlite_world.store, Job("digest", (JobInput("sales"),), schedule="@daily"))
    sqlite_world.ready("sales", *DAYS[:3])
    return sqlite_world


def explain(world: World, dataid: str | None = None) -> Why:
    return why(world.store, load_config("/", {"DATAFLOW_PROJECT": "/"}), world.plan("digest"), dataid)


def status(world: World) -> JobStatus:
    return next(job for job in get_status(world.store).jobs if job.job == "digest")


def test_the_day_that_was_skipped_says_so_and_can_be_forced(digest: World) -> None:
    add_due_intervals(digest.store, digest.plan("digest"))
    assert digest.drain("digest") == [DAYS[1]]
    found = explain(digest, DAYS[0])
    assert f"input digest.calendar/{DAYS[0]} is not ready: {SKIPPED}" in found.verdict
    assert found.next.startswith(f"dataflow force digest {DAYS[0]}")
    digest.finish(digest.force("digest", DAYS[0]))
    assert status(digest).skipped is None


def test_status_counts_what_was_skipped_and_does_not_call_it_late(digest: World) -> None:
    assert status(digest).skipped is None  # nothing was added yet
    add_due_intervals(digest.store, digest.plan("digest"))
    digest.drain("digest")
    digest.clock.seconds += 3 * 86400  # type: ignore[union-attr]
    digest.ready("sales", *DAYS[3:])
    add_due_intervals(digest.store, digest.plan("digest"))
    assert digest.drain("digest") == [DAYS[4]]
    found = status(digest)
    assert found.skipped == SkippedWork(3, DAYS[0])
    assert found.counts["WAITING"] == 4
    assert not found.is_late(0.0)
    digest.hold("digest", DAYS[0])
    assert status(digest).skipped == SkippedWork(2, DAYS[2])


def test_work_whose_interval_was_added_was_not_skipped(digest: World) -> None:
    add_due_intervals(digest.store, digest.plan("digest"))
    digest.withdraw("sales", DAYS[1])
    digest.clock.seconds += 86400  # type: ignore[union-attr]
    add_due_intervals(digest.store, digest.plan("digest"))
    assert status(digest).skipped == SkippedWork(1, DAYS[0])


def test_an_interval_far_ahead_of_a_catch_up_was_not_skipped(digest: World) -> None:
    add_job(digest.store, replace(digest.plan("digest").job, start="2020-01-01", catchup=True))
    assert "its interval has ended, and a later RunJob adds it" in explain(digest, DAYS[0]).verdict


def test_a_day_that_a_catch_up_adds_next_was_not_skipped(digest: World) -> None:
    add_due_intervals(digest.store, digest.plan("digest"))
    assert status(digest).skipped == SkippedWork(1, DAYS[0])
    add_job(digest.store, replace(digest.plan("digest").job, start=DAYS[0], catchup=True))
    assert status(digest).skipped is None
    assert "the next RunJob adds it" in explain(digest, DAYS[0]).verdict
    assert digest.store.read.find_first_waiting(digest.plan("digest").job_id) == DAYS[0]


def test_a_catch_up_without_a_start_does_not_go_back(digest: World) -> None:
    add_due_intervals(digest.store, digest.plan("digest"))
    add_job(digest.store, replace(digest.plan("digest").job, catchup=True))
    add_due_intervals(digest.store, digest.plan("digest"))
    assert status(digest).skipped == SkippedWork(1, DAYS[0])
    assert SKIPPED in explain(digest, DAYS[0]).verdict


def test_the_next_work_is_not_one_that_was_skipped(digest: World) -> None:
    add_due_intervals(digest.store, digest.plan("digest"))
    digest.drain("digest")
    found = explain(digest)
    assert (found.dataid, found.next) == (DAYS[2], "wait until 2026-08-21T00:00:00Z")
    digest.poke(
        f"DELETE FROM work_input WHERE work_id IN (SELECT work_id FROM work WHERE dataid = '{DAYS[2]}')"
    )
    digest.poke(f"DELETE FROM work WHERE dataid = '{DAYS[2]}'")
    assert explain(digest).dataid == DAYS[1]


def test_a_job_with_nothing_but_skipped_work_explains_that(digest: World) -> None:
    add_due_intervals(digest.store, digest.plan("digest"))
    for day in DAYS[1:3]:
        digest.poke(
            f"DELETE FROM work_input WHERE work_id IN (SELECT work_id FROM work WHERE dataid = '{day}')"
        )
        digest.poke(f"DELETE FROM work WHERE dataid = '{day}'")
    assert (explain(digest).dataid, SKIPPED in explain(digest).verdict) == (DAYS[0], True)


def test_work_that_waits_for_a_request_was_not_skipped(world: World) -> None:
    add_dataset(world.store, Dataset("sales", grain="daily"))
    add_job(world.store, Job("digest", (JobInput("sales"),), schedule="none"))
    world.ready("sales", *DAYS)
    world.poke(
        "INSERT INTO chunk (dataset_id, dataid, sort_key, version, modified_at) "
        f"SELECT dataset_id, '2027-01-01', '2027-01-01', 1, '{DAYS[0]}T00:00:00Z' FROM calendar"
    )
    world.finish(world.force("digest", DAYS[1]))
    assert status(world).skipped is None
    assert explain(world).dataid == DAYS[0]


def test_today_skips_days_on_which_nobody_ran(sqlite_world: World) -> None:
    assert sqlite_world.clock is not None
    sqlite_world.clock.seconds = NOON_SECONDS
    add_dataset(sqlite_world.store, Dataset("sales", grain="daily"))
    add_job(sqlite_world.store, Job("digest", (JobInput("sales"), JobInput("today"))))
    sqlite_world.ready("sales", *DAYS[:3])
    add_due_intervals(sqlite_world.store, sqlite_world.plan("digest"))
    assert sqlite_world.drain("digest") == [DAYS[2]]
    assert "today skipped it" in explain(sqlite_world, DAYS[0]).verdict
    assert status(sqlite_world).skipped == SkippedWork(2, DAYS[0])
