"""Retention: old replaced versions and leftovers of ended runs are deleted; what a run needs is kept."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dataflow.actions.purge import Retained, retain
from dataflow.actions.register import add_dataset, add_job
from dataflow.actions.versions import list_versions
from dataflow.model.location import run_folder
from dataflow.model.records import Dataset, Job, JobInput, Publication
from dataflow.model.status import RunOutcome
from dataflow.model.wording import utc_text
from tests.actions.test_versions import LAKE, folder_of, publish
from tests.store.test_versions import make_old
from tests.store.world import World

DAY = 86400.0
LONG = 1000 * DAY


@pytest.fixture
def bob(world: World) -> World:
    add_dataset(world.store, Dataset("raw", location="/raw/{dataid}"))
    for name in ("orders", "report"):
        add_dataset(world.store, Dataset(name, location=LAKE))
    add_job(world.store, Job("load", (JobInput("raw"),), ("orders",)))
    add_job(world.store, Job("tell", (JobInput("orders"),), ("report",)))
    world.ready("raw", "1.0")
    return world


def purge(world: World, root: Path, days: int = 90) -> Retained:
    return retain(world.store, days * DAY, str(root), str(root / "logs"))


def age(world: World, folder: Path) -> None:
    """Makes a folder and all in it a hundred days old."""
    now = world.clock.seconds if world.clock else time.time()
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (now - 100 * DAY, now - 100 * DAY))


def test_a_version_replaced_long_ago_is_deleted_and_the_current_one_is_kept(
    bob: World, tmp_path: Path
) -> None:
    first = publish(bob, tmp_path)
    second = publish(bob, tmp_path)
    assert purge(bob, tmp_path) == Retained(0, 0, 0)
    make_old(bob)
    age(bob, first)
    age(bob, second)
    assert purge(bob, tmp_path) == Retained(1, 0, 0)
    assert (first.exists(), second.exists()) == (False, True)


def test_a_version_that_a_live_run_reads_is_kept_until_the_run_has_ended(bob: World, tmp_path: Path) -> None:
    first = publish(bob, tmp_path)
    reader = bob.take("tell", "1.0", lease_seconds=LONG)
    second = publish(bob, tmp_path)
    make_old(bob)
    age(bob, first)
    assert purge(bob, tmp_path).versions == 0
    assert first.exists()
    bob.finish(reader)
    assert purge(bob, tmp_path).versions == 1
    assert (first.exists(), second.exists()) == (False, True)


def test_a_version_written_elsewhere_is_forgotten_and_its_files_are_kept(bob: World, tmp_path: Path) -> None:
    script, other = tmp_path / "out" / "1.0" / "17", tmp_path / "out" / "1.0" / "mine"
    for folder in (script, other):
        folder.mkdir(parents=True)
    bob.do("load", "1.0", publications=(Publication("orders", "out/1.0/17"),))
    current = publish(bob, tmp_path)
    make_old(bob)
    age(bob, tmp_path / "out")
    assert purge(bob, tmp_path) == Retained(0, 0, 0)
    assert (script.exists(), other.exists(), current.exists()) == (True, True, True)
    assert len(list_versions(bob.store, "orders", "1.0", str(tmp_path))) == 1


def test_the_folder_of_a_live_run_is_kept_however_old_it_is(bob: World, tmp_path: Path) -> None:
    run = bob.take("load", "1.0", lease_seconds=LONG)
    folder = tmp_path / "lake" / "orders" / "dataid=1.0" / folder_of(bob, run)
    folder.mkdir(parents=True)
    (folder / "part-1.parquet").touch()
    age(bob, folder)
    assert purge(bob, tmp_path).folders == 0
    assert folder.exists()
    bob.finish(run, RunOutcome.FAILED)
    age(bob, folder)
    assert purge(bob, tmp_path).folders == 1
    assert not folder.exists()


def test_the_folder_of_a_revoked_run_is_kept_until_its_processes_are_dead(bob: World, tmp_path: Path) -> None:
    run = bob.take("load", "1.0", lease_seconds=LONG)
    folder = tmp_path / "lake" / "orders" / "dataid=1.0" / folder_of(bob, run)
    folder.mkdir(parents=True)
    bob.cancel(run)
    age(bob, folder)
    assert purge(bob, tmp_path).folders == 0
    bob.store.acknowledge(run.run_id, "first")
    assert purge(bob, tmp_path).folders == 1


def test_recent_folders_and_those_of_others_are_kept(bob: World, tmp_path: Path) -> None:
    failed = bob.do("load", "1.0", RunOutcome.FAILED)
    home = tmp_path / "lake" / "orders" / "dataid=1.0"
    young = home / folder_of(bob, failed)
    others = [
        home / "424242",
        home / "notes",
        home / "1-0badf00d-12345678",
        tmp_path / "lake" / "orders" / "my",
    ]
    for folder in [young, *others]:
        folder.mkdir(parents=True)
    for folder in others:
        age(bob, folder)
    now = bob.clock.seconds if bob.clock else time.time()
    os.utime(young, (now, now))
    assert purge(bob, tmp_path) == Retained(0, 0, 0)
    assert all(folder.exists() for folder in [young, *others])


def test_runs_of_other_stores_and_of_copies_of_this_one_keep_their_folders(
    bob: World, tmp_path: Path
) -> None:
    failed = bob.do("load", "1.0", RunOutcome.FAILED)
    home = tmp_path / "lake" / "orders" / "dataid=1.0"
    store_id = bob.store.read.get_store_id()
    others = [
        home / str(failed.run_id),  # nobody knows whose run
        home / run_folder(failed.run_id, failed.claimant, "another store"),
        home / run_folder(failed.run_id, "another claimant", store_id),
    ]
    for folder in others:
        folder.mkdir(parents=True)
        age(bob, folder)
    assert purge(bob, tmp_path) == Retained(0, 0, 0)
    assert all(folder.exists() for folder in others)


def test_leftovers_of_a_killed_compaction_are_deleted_and_a_compacted_version_is_kept(
    bob: World, tmp_path: Path
) -> None:
    first = publish(bob, tmp_path)
    left = first.parent / f"1-{bob.store.read.get_store_id()[:8]}-0123abcd"
    left.mkdir()
    age(bob, left)
    assert purge(bob, tmp_path).folders == 1
    assert not left.exists()


def test_staging_of_ended_runs_is_deleted_unless_their_work_runs(bob: World, tmp_path: Path) -> None:
    failed = bob.do("load", "1.0", RunOutcome.FAILED)
    staging = tmp_path / ".dataflow" / "staging" / "load" / "1.0" / folder_of(bob, failed)
    staging.mkdir(parents=True)
    (staging / "part-00000001.json").touch()
    bob.resubmit("load", "1.0")
    run = bob.take("load", "1.0", lease_seconds=LONG)
    age(bob, staging)
    assert purge(bob, tmp_path).folders == 0
    bob.finish(run)
    assert purge(bob, tmp_path).folders == 1
    assert not staging.exists()


def test_pages_that_a_run_of_another_store_fetched_are_kept(bob: World, tmp_path: Path) -> None:
    failed = bob.do("load", "1.0", RunOutcome.FAILED)
    work = tmp_path / ".dataflow" / "staging" / "load" / "1.0"
    pages = work / run_folder(failed.run_id, failed.claimant, "another store")
    pages.mkdir(parents=True)
    age(bob, pages)
    assert purge(bob, tmp_path).folders == 0
    assert pages.exists()


def test_old_logs_of_spark_are_deleted_except_those_of_a_live_run(bob: World, tmp_path: Path) -> None:
    bob.take("load", "1.0", lease_seconds=LONG)
    (tmp_path / "logs").mkdir()
    live, old, other = (
        tmp_path / "logs" / name for name in ("spark-4711.log", "spark-12.log", "spark-x.log")
    )
    for path in (live, old, other):
        path.touch()
    age(bob, tmp_path / "logs")
    assert purge(bob, tmp_path).logs == 1
    assert (live.exists(), old.exists(), other.exists()) == (True, False, True)


def test_a_version_whose_files_could_not_all_be_deleted_is_found_again(bob: World, tmp_path: Path) -> None:
    first = publish(bob, tmp_path)
    publish(bob, tmp_path)
    make_old(bob)
    age(bob, first)
    dataset_id = bob.dataset_record("orders")[0]
    now = bob.store.read.get_now()
    # As after a kill between the store's transaction and the deletion.
    assert list(bob.store.forget_versions(dataset_id, utc_text(now - 90 * DAY)))
    assert first.exists()
    assert purge(bob, tmp_path) == Retained(0, 1, 0)
    assert not first.exists()
