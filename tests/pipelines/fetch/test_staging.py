"""Staging: complete parts only, a manifest that survives truncation anywhere, resuming by later runs."""

from __future__ import annotations

import hashlib
import os
import resource
import shutil
import signal
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from dataflow.errors import BadInput, FetchError
from dataflow.pipelines.fetch.staging_folder import SETTLED_SECONDS, Staging, read_page_manifest


def open_run(folder: Path, run: int, fingerprint: str = "source") -> Staging:
    return Staging(str(folder / str(run)), fingerprint)


def add(staging: Staging, count: int) -> None:
    for _ in range(count):
        number = len(staging.entries) + 1
        body = b"x" * number
        staging.add(body, hashlib.sha256(body).hexdigest(), number, f"http://api.example/?page={number + 1}")


def folders(folder: Path, *runs: int, same_call: bool = True) -> dict[str, bool]:
    return {str(folder / str(run)): same_call for run in runs}


def test_a_part_is_complete_before_the_manifest_names_it(tmp_path: Path) -> None:
    staging = open_run(tmp_path, 1)
    part = staging.add(b"abc", "hash", 7, None)
    assert Path(part.path).read_bytes() == b"abc"
    assert os.path.isabs(part.path)
    assert (part.number, part.rows, part.size) == (1, 7, 3)
    assert sorted(os.listdir(staging.folder)) == ["manifest.jsonl", "part-00000001.json"]


def test_a_full_disk_is_reported_and_existing_parts_stay(tmp_path: Path) -> None:
    staging = open_run(tmp_path, 1)
    add(staging, 2)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    try:
        with pytest.raises(FetchError, match="Page 3 cannot be written to the staging folder"):
            staging.add(bytes(200_000), "hash", 1, None)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(open_run(tmp_path, 1).entries) == 2


def test_a_folder_is_reopened_as_it_was_left(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1), 3)
    again = open_run(tmp_path, 1)
    assert [part.size for part in again.list_parts()] == [1, 2, 3]
    assert again.entries[-1].next == "http://api.example/?page=4"
    again.finish()
    assert open_run(tmp_path, 1).complete


def test_the_manifest_is_readable_by_its_owner_only_since_links_may_hold_secrets(tmp_path: Path) -> None:
    staging = open_run(tmp_path, 1)
    assert stat.S_IMODE(os.stat(os.path.join(staging.folder, "manifest.jsonl")).st_mode) == 0o600


@pytest.mark.parametrize("kept", [b"of somebody", b'{"fingerprint":"source","format":1}\nof somebody'])
def test_a_symlinked_manifest_is_not_written_through(tmp_path: Path, kept: bytes) -> None:
    folder = Path(open_run(tmp_path, 1).folder)
    other = tmp_path / "precious"
    other.write_bytes(kept)
    (folder / "manifest.jsonl").unlink()
    (folder / "manifest.jsonl").symlink_to(other)
    with pytest.raises(OSError, match="symbolic links"):
        open_run(tmp_path, 1)
    assert other.read_bytes() == kept


@given(some.data())
def test_a_manifest_torn_at_any_byte_keeps_its_complete_lines_and_can_be_continued(
    tmp_path_factory: pytest.TempPathFactory, data: some.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    add(open_run(folder, 1), 3)
    manifest = folder / "1" / "manifest.jsonl"
    text = manifest.read_bytes()
    cut = data.draw(some.integers(0, len(text)))
    manifest.write_bytes(text[:cut] + data.draw(some.sampled_from([b"", b"\0" * 5])))
    whole = max(text[:cut].count(b"\n") - 1, 0)
    staging = open_run(folder, 1)
    assert len(staging.entries) == whole
    add(staging, 2)
    assert [entry.size for entry in open_run(folder, 1).entries] == list(range(1, whole + 3))


def test_a_folder_of_another_source_is_refused(tmp_path: Path) -> None:
    open_run(tmp_path, 1, "one")
    with pytest.raises(BadInput, match="belongs to another source"):
        open_run(tmp_path, 1, "other")


def test_a_new_run_resumes_from_the_run_that_got_furthest(tmp_path: Path) -> None:
    for run, count in ((1, 2), (2, 5), (3, 4)):
        add(open_run(tmp_path, run), count)
    staging = open_run(tmp_path, 4)
    assert staging.continue_from(folders(tmp_path, 1, 2, 3, 99)) == 5
    assert staging.entries[-1].next == "http://api.example/?page=6"
    assert [part.path for part in staging.list_parts()] == [
        str(tmp_path / "2" / f"part-{number:08d}.json") for number in range(1, 6)
    ]
    add(staging, 1)
    assert staging.list_parts()[-1].path == str(tmp_path / "4" / "part-00000006.json")


def test_a_run_can_resume_from_a_run_that_resumed_from_another(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1), 2)
    second = open_run(tmp_path, 2)
    second.continue_from(folders(tmp_path, 1))
    add(second, 2)
    third = open_run(tmp_path, 3)
    assert third.continue_from(folders(tmp_path, 1, 2)) == 4
    assert [os.path.basename(os.path.dirname(part.path)) for part in third.list_parts()] == [
        "1",
        "1",
        "2",
        "2",
    ]
    assert open_run(tmp_path, 3).list_parts() == third.list_parts()


def test_a_complete_run_is_taken_over_completely(tmp_path: Path) -> None:
    first = open_run(tmp_path, 1)
    add(first, 2)
    first.finish()
    add(open_run(tmp_path, 2), 3)
    staging = open_run(tmp_path, 3)
    assert staging.continue_from(folders(tmp_path, 1, 2)) == 2
    assert staging.complete


def test_a_closed_run_is_not_continued(tmp_path: Path) -> None:
    first = open_run(tmp_path, 1)
    add(first, 3)
    first.finish()
    first.close("data was INVALID")
    assert open_run(tmp_path, 1).closed == "data was INVALID"
    assert open_run(tmp_path, 2).continue_from(folders(tmp_path, 1)) == 0


def test_a_closed_run_without_parts_does_not_make_the_next_one_complete(tmp_path: Path) -> None:
    first = open_run(tmp_path, 1)
    first.finish()
    first.close("too few rows")
    staging = open_run(tmp_path, 2)
    staging.continue_from(folders(tmp_path, 1))
    assert not staging.complete


def test_a_closed_run_closes_the_runs_that_it_continued(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1), 3)
    second = open_run(tmp_path, 2)
    second.continue_from(folders(tmp_path, 1))
    second.close("data was INVALID")
    add(open_run(tmp_path, 3), 1)
    assert open_run(tmp_path, 4).continue_from(folders(tmp_path, 1, 2, 3)) == 1


def test_once_the_work_is_requested_again_only_an_incomplete_fetch_is_resumed(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1), 3)
    assert open_run(tmp_path, 2).continue_from(folders(tmp_path, 1, same_call=False)) == 3
    third = open_run(tmp_path, 3)
    third.continue_from(folders(tmp_path, 1))
    third.finish()
    assert open_run(tmp_path, 4).continue_from(folders(tmp_path, 1, 3, same_call=False)) == 0


def test_parts_after_a_missing_one_are_fetched_again(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1), 3)
    manifest = tmp_path / "1" / "manifest.jsonl"
    lines = manifest.read_bytes().splitlines(keepends=True)
    manifest.write_bytes(b"".join([*lines[:2], *lines[3:]]))
    staging = open_run(tmp_path, 2)
    assert staging.continue_from(folders(tmp_path, 1)) == 1
    assert [entry.number for entry in staging.entries] == [1]


def test_a_run_of_another_source_is_not_continued(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1, "one"), 3)
    assert open_run(tmp_path, 2, "other").continue_from(folders(tmp_path, 1)) == 0


@pytest.mark.parametrize("harm", ["lost", "short"])
def test_damaged_parts_are_fetched_again(tmp_path: Path, harm: str) -> None:
    first = open_run(tmp_path, 1)
    add(first, 5)
    first.finish()
    third = Path(first.list_parts()[2].path)
    third.unlink() if harm == "lost" else third.write_bytes(b"")
    staging = open_run(tmp_path, 2)
    assert staging.continue_from(folders(tmp_path, 1)) == 2
    assert not staging.complete


def test_a_paused_run_that_continues_does_no_harm(tmp_path: Path) -> None:
    paused = open_run(tmp_path, 1)
    add(paused, 3)
    staging = open_run(tmp_path, 2)
    staging.continue_from(folders(tmp_path, 1))
    before = {part.path: Path(part.path).read_bytes() for part in staging.list_parts()}
    add(paused, 4)
    paused.finish()
    paused.close("superseded")
    add(staging, 1)
    assert {path: Path(path).read_bytes() for path in before} == before
    assert len(open_run(tmp_path, 2).entries) == 4
    assert not open_run(tmp_path, 2).closed


def test_a_run_that_has_parts_takes_no_others(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1), 3)
    staging = open_run(tmp_path, 2)
    add(staging, 1)
    assert staging.continue_from(folders(tmp_path, 1)) == 0
    assert len(staging.entries) == 1


def test_a_deleted_folder_is_not_an_earlier_run(tmp_path: Path) -> None:
    add(open_run(tmp_path, 1), 3)
    shutil.rmtree(tmp_path / "1")
    assert read_page_manifest(str(tmp_path / "1")) is None
    assert open_run(tmp_path, 2).continue_from(folders(tmp_path, 1)) == 0


def test_a_part_whose_content_was_lost_in_a_power_cut_is_fetched_again(tmp_path: Path) -> None:
    old = open_run(tmp_path, 1)
    add(old, 5)
    Path(old.entries[3].path).write_bytes(bytes(old.entries[3].size))
    new = open_run(tmp_path, 2)
    assert new.continue_from(folders(tmp_path, 1)) == 3


def test_parts_that_are_safely_on_disk_are_not_read_again(tmp_path: Path) -> None:
    old = open_run(tmp_path, 1)
    add(old, 5)
    Path(old.entries[0].path).write_bytes(bytes(old.entries[0].size))
    before = os.stat(old.entries[4].path).st_mtime - SETTLED_SECONDS - 1
    os.utime(old.entries[0].path, (before, before))
    assert open_run(tmp_path, 2).continue_from(folders(tmp_path, 1)) == 5
