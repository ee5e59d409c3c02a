"""The manifest as a file: its keys are a format that several versions of DataFlow share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataflow.errors import BadInput
from dataflow.pipelines.handover.records import StagedFile
from dataflow.pipelines.lake.manifest import Manifest, read_manifest, write_manifest

MANIFEST = Manifest("orders", "2026-11-14", 7, (("id", "bigint"),), (StagedFile("part-0.parquet", 3, 400),))
WRITTEN: dict[str, Any] = {
    "format": 1,
    "dataset": "orders",
    "dataid": "2026-11-14",
    "run_id": 7,
    "columns": [["id", "bigint"]],
    "files": [{"path": "part-0.parquet", "rows": 3, "size": 400}],
}


def test_a_manifest_is_written_with_the_keys_of_its_format(tmp_path: Path) -> None:
    path = tmp_path / "_manifest.json"
    write_manifest(str(path), MANIFEST)
    assert json.loads(path.read_text()) == WRITTEN


def test_keys_that_a_newer_version_added_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "_manifest.json"
    [file] = WRITTEN["files"]
    path.write_text(json.dumps(WRITTEN | {"files": [file | {"checksum": "ab"}], "written_by": "2.0"}))
    assert read_manifest(str(path)) == MANIFEST


def test_a_manifest_without_one_of_its_keys_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "_manifest.json"
    path.write_text(json.dumps(WRITTEN | {"files": [{"path": "part-0.parquet", "rows": 3}]}))
    with pytest.raises(BadInput, match="cannot be read: 'size'"):
        read_manifest(str(path))


def test_a_manifest_of_another_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "_manifest.json"
    path.write_text(json.dumps(WRITTEN | {"format": 2}))
    with pytest.raises(BadInput, match=r"is a manifest of format 2; this version reads 1\.$"):
        read_manifest(str(path))
