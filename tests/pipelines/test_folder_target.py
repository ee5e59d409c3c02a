"""A folder as a target: it is replaced whole, also by the run after one that was killed."""

from __future__ import annotations

from pathlib import Path

from dataflow.pipelines.lake.parquet_target import FolderTarget


def make_target(folder: Path, run_id: int) -> FolderTarget:
    return FolderTarget(str(folder), run_id, (("id", "bigint"),), lambda check, frame: (0, []))


def test_what_a_killed_run_had_moved_away_is_put_back(tmp_path: Path) -> None:
    moved = tmp_path / "orders.7.staged.replaced"
    moved.mkdir()
    (moved / "part-0.parquet").touch()
    make_target(tmp_path / "orders", 8).begin()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders", "orders.8.staged"]
    assert [path.name for path in (tmp_path / "orders").iterdir()] == ["part-0.parquet"]


def test_what_a_killed_run_had_replaced_is_deleted(tmp_path: Path) -> None:
    for name in ("orders", "orders.7.staged.replaced"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"of-{name}").touch()
    make_target(tmp_path / "orders", 8).begin()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders", "orders.8.staged"]
    assert [path.name for path in (tmp_path / "orders").iterdir()] == ["of-orders"]


def test_what_was_moved_away_from_a_folder_with_a_longer_name_is_left_alone(tmp_path: Path) -> None:
    moved = tmp_path / "orders.old.7.staged.replaced"
    moved.mkdir()
    make_target(tmp_path / "orders", 8).begin()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["orders.8.staged", moved.name]
