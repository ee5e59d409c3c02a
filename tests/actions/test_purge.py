"""Purge deletes old history and logs and keeps what is needed."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from dataflow.actions.purge import purge
from dataflow.actions.register import add_dataset, add_job
from dataflow.model.records import Dataset, Job, JobInput
from tests.store.world import STAGED, World

DAY = 86400.0


@pytest.fixture
def bob(world: World) -> World:
    for name in ("bobin", "bobout"):
        add_dataset(world.store, Dataset(name, location=STAGED))
    add_job(world.store, Job("loadbob", (JobInput("bobin"),), ("bobout",)))
    world.ready("bobin", "1.0")
    return world


def make_old(world: World) -> None:
    """Make everything that has happened a hundred days older."""
    if world.clock is not None:
        world.advance(100 * DAY)
        return
    for table, column in (("run", "ended_at"), ("journal", "at")):
        world.poke(f"UPDATE {table} SET {column} = {column} - interval '100 days'")


def test_purge_deletes_old_history_and_keeps_the_last_run_of_each_work(bob: World, tmp_path: Path) -> None:
    first = bob.do("loadbob", "1.0")
    bob.resubmit("loadbob", "1.0")
    second = bob.do("loadbob", "1.0")
    make_old(bob)
    assert purge(bob.store, 200 * DAY, str(tmp_path), str(tmp_path)).rows == 0
    assert purge(bob.store, 90 * DAY, str(tmp_path), str(tmp_path)).rows > 1
    assert bob.store.read.find_run(first.run_id) is None
    assert bob.store.read.find_run(second.run_id) is not None
    assert bob.journal() == []
    assert bob.status("bobout", "1.0") == "READY"
    assert bob.claim("loadbob") == ()


def test_purge_keeps_recent_history(bob: World, tmp_path: Path) -> None:
    bob.do("loadbob", "1.0")
    lines = len(bob.journal())
    assert purge(bob.store, DAY, str(tmp_path), str(tmp_path)).rows == 0
    assert len(bob.journal()) == lines


def test_purge_deletes_old_logs_but_keeps_those_of_live_runs_and_other_files(
    bob: World, tmp_path: Path
) -> None:
    run = bob.take("loadbob")
    now = bob.clock.seconds if bob.clock else time.time()
    names = ["9001.log", "9002.log", f"{run.run_id}.log", "notes.log", "9003.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (now - 100 * DAY, now - 100 * DAY))
    os.utime(tmp_path / "9002.log", (now, now))
    (tmp_path / "9004.log").mkdir()
    assert purge(bob.store, 90 * DAY, str(tmp_path), str(tmp_path)).logs == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.name in names) == sorted(names[1:])


def deleting_scandir(folder: str, scandir: Any = os.scandir) -> list[os.DirEntry[str]]:
    """The entries of a folder whose files another process has just deleted."""
    entries = list(scandir(folder))
    for entry in entries:
        os.unlink(entry)
    return entries


@pytest.mark.parametrize("call", ["stat", "unlink"])
def test_two_purges_at_once_both_succeed(
    bob: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    old = (bob.clock.seconds if bob.clock else time.time()) - 100 * DAY
    for name in ("9001.log", "9002.log"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (old, old))
    if call == "unlink":
        unlink = os.unlink
        monkeypatch.setattr(os, "unlink", lambda path: (unlink(path), unlink(path)))
    else:
        monkeypatch.setattr(os, "scandir", deleting_scandir)
    assert purge(bob.store, 90 * DAY, str(tmp_path), str(tmp_path)).logs == 0
    assert not {"9001.log", "9002.log"} & set(os.listdir(tmp_path))


def test_purge_works_in_a_project_without_logs(bob: World, tmp_path: Path) -> None:
    assert purge(bob.store, DAY, str(tmp_path / "none"), str(tmp_path / "none")).logs == 0


def test_purge_deletes_old_context_files_but_keeps_those_of_live_runs_and_other_files(
    bob: World, tmp_path: Path
) -> None:
    bob.take("loadbob")
    (live,) = [run.claimant for run in bob.store.read.list_runs(10, outcome="RUNNING")]
    now = bob.clock.seconds if bob.clock else time.time()
    names = ["0123abcd-1.json", "4567abcd-1.json", f"{live}-1.json", "notes.json", "0123abcd-1.txt"]
    for name in names:
        (tmp_path / name).write_text(name)
        os.utime(tmp_path / name, (now - 100 * DAY, now - 100 * DAY))
    os.utime(tmp_path / "4567abcd-1.json", (now, now))
    result = purge(bob.store, 90 * DAY, str(tmp_path / "none"), str(tmp_path))
    assert (result.logs, result.contexts) == (0, 1)
    assert sorted(path.name for path in tmp_path.iterdir() if path.name in names) == sorted(names[1:])
