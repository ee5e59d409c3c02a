"""Versions on disk and rollback: which one is chosen, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dataflow.actions.register import add_dataset, add_job
from dataflow.actions.versions import list_versions, roll_back
from dataflow.errors import BadInput, Conflict, UnknownName
from dataflow.model.location import run_folder
from dataflow.model.records import Dataset, Job, JobInput, Publication, Run
from tests.store.world import World

LAKE = "lake/{dataset}/dataid={encoded_dataid}/{run_id}/_manifest.json"


@pytest.fixture
def bob(world: World) -> World:
    add_dataset(world.store, Dataset("raw", location="/raw/{dataid}"))
    add_dataset(world.store, Dataset("orders", location=LAKE))
    add_job(world.store, Job("load", (JobInput("raw"),), ("orders",)))
    world.ready("raw", "1.0")
    return world


def folder_of(world: World, run: Run) -> str:
    """The name of a run's folder in the lake."""
    return run_folder(run.run_id, run.claimant, world.store.read.get_store_id())


def publish(world: World, root: Path, files: int = 2) -> Path:
    """Make the next version of orders/1.0 with its files; return its folder."""
    if world.state("load", "1.0") == "DONE":
        world.resubmit("load", "1.0")
    run = world.take("load", "1.0")
    location = f"lake/orders/dataid=1.0/{folder_of(world, run)}/_manifest.json"
    folder = (root / location).parent
    folder.mkdir(parents=True)
    names = [f"part-{number}.parquet" for number in range(files)]
    for name in names:
        (folder / name).write_text(name)
    listed = [{"path": name, "rows": 1, "size": len(name)} for name in names]
    (folder / "_manifest.json").write_text(json.dumps({"format": 1, "files": listed}))
    world.finish(run, publications=(Publication("orders", location, files, 10),))
    return folder


def test_the_versions_of_a_chunk_are_listed_including_deleted_ones(bob: World, tmp_path: Path) -> None:
    first = publish(bob, tmp_path)
    publish(bob, tmp_path)
    (first / "part-1.parquet").unlink()
    one, two = list_versions(bob.store, "orders", "1.0", str(tmp_path))
    assert (one.version, one.current, one.missing) == (1, False, str(first / "part-1.parquet"))
    assert (two.version, two.current, two.missing, two.rows) == (2, True, "", 2)


def test_repeated_rollbacks_go_back_one_version_each(bob: World, tmp_path: Path) -> None:
    for _ in range(3):
        publish(bob, tmp_path)
    done = roll_back(bob.store, ("orders", "1.0"), None, str(tmp_path))
    assert (done.version, done.as_version, done.job, done.work_state) == (2, 4, "load", "DONE")
    assert roll_back(bob.store, ("orders", "1.0"), None, str(tmp_path)).version == 1
    with pytest.raises(Conflict, match="no older version left"):
        roll_back(bob.store, ("orders", "1.0"), None, str(tmp_path))
    assert roll_back(bob.store, ("orders", "1.0"), 3, str(tmp_path)).as_version == 6


def test_a_rollback_after_a_withdrawal_takes_the_previous_version(bob: World, tmp_path: Path) -> None:
    publish(bob, tmp_path)
    publish(bob, tmp_path)
    bob.withdraw("orders", "1.0")
    assert not any(each.current for each in list_versions(bob.store, "orders", "1.0", str(tmp_path)))
    assert roll_back(bob.store, ("orders", "1.0"), None, str(tmp_path)).version == 1
    assert bob.status("orders", "1.0") == "READY"


def test_an_incomplete_version_is_refused_and_skipped(bob: World, tmp_path: Path) -> None:
    publish(bob, tmp_path)
    second = publish(bob, tmp_path)
    publish(bob, tmp_path)
    (second / "part-0.parquet").unlink()
    with pytest.raises(Conflict, match=r"part-0.parquet is missing; nothing was changed"):
        roll_back(bob.store, ("orders", "1.0"), 2, str(tmp_path))
    assert bob.version("orders", "1.0") == 3
    assert roll_back(bob.store, ("orders", "1.0"), None, str(tmp_path)).version == 1


def test_a_version_without_its_manifest_is_refused(bob: World, tmp_path: Path) -> None:
    first = publish(bob, tmp_path)
    publish(bob, tmp_path)
    (first / "_manifest.json").unlink()
    with pytest.raises(Conflict, match=r"_manifest.json is missing"):
        roll_back(bob.store, ("orders", "1.0"), 1, str(tmp_path))


@pytest.mark.parametrize(("version", "error"), [(2, Conflict), (7, UnknownName)])
def test_the_current_version_and_an_unknown_one_are_refused(
    bob: World, tmp_path: Path, version: int, error: type[Exception]
) -> None:
    publish(bob, tmp_path)
    publish(bob, tmp_path)
    with pytest.raises(error):
        roll_back(bob.store, ("orders", "1.0"), version, str(tmp_path))


def test_a_table_in_postgresql_is_refused_with_what_to_do_instead(world: World, tmp_path: Path) -> None:
    add_dataset(world.store, Dataset("raw", location="/raw/{dataid}"))
    add_dataset(world.store, Dataset("sales", location="postgresql://db/public.sales?run={run_id}"))
    add_job(world.store, Job("sell", (JobInput("raw"),), ("sales",)))
    with pytest.raises(Conflict, match=r"holds the current version only.*dataflow resubmit sell DATAID"):
        roll_back(world.store, ("sales", "1.0"), None, str(tmp_path))


def test_a_chunk_written_in_place_has_one_version(bob: World, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="written in place"):
        list_versions(bob.store, "raw", "1.0", str(tmp_path))
    with pytest.raises(UnknownName, match="never been published"):
        list_versions(bob.store, "orders", "9.9", str(tmp_path))
