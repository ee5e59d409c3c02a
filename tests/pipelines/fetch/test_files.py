"""Files as a source: found by path or glob, used unchanged."""

from __future__ import annotations

from pathlib import Path

import pytest

from dataflow.errors import BadInput, FetchError
from dataflow.pipelines.fetch.file_source import get_kind, list_files


def test_files_are_sorted_and_unchanged(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("b-2026-08-20.csv", "a-2026-08-20.csv", "c-2026-08-21.csv"):
        (tmp_path / "in" / name).write_text(name)
    parts = list(list_files("in/*-{dataid}.csv", str(tmp_path), "2026-08-20"))
    assert [part.path for part in parts] == [
        str(tmp_path / "in" / f"{letter}-2026-08-20.csv") for letter in "ab"
    ]
    assert [(part.number, part.rows, part.size) for part in parts] == [(1, -1, 16), (2, -1, 16)]


def test_an_absolute_path_is_used_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "orders.parquet"
    path.write_bytes(b"PAR1")
    assert [part.path for part in list_files(str(path), "/elsewhere", "x")] == [str(path)]


def test_no_matching_file_is_an_error_and_not_an_empty_chunk(tmp_path: Path) -> None:
    with pytest.raises(FetchError, match=r"No file matches .*orders-2026-08-20.csv"):
        list(list_files("orders-{dataid}.csv", str(tmp_path), "2026-08-20"))


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    (tmp_path / "orders.csv").mkdir()
    with pytest.raises(FetchError):
        list(list_files("*.csv", str(tmp_path), "x"))


@pytest.mark.parametrize("dataid", ["../secret", "..", "a/b"])
def test_a_dataid_does_not_lead_out_of_its_path(tmp_path: Path, dataid: str) -> None:
    with pytest.raises(BadInput, match="cannot be used in the path of a file source"):
        list(list_files("in/{dataid}/a.csv", str(tmp_path), dataid))


def test_a_dataid_is_not_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "orders-1.csv").write_text("1")
    with pytest.raises(FetchError):
        list(list_files("orders-{dataid}.csv", str(tmp_path), "*"))


@pytest.mark.parametrize(
    ("path", "declared", "kind"),
    [
        ("a.jsonl", "", "jsonl"),
        ("a.NDJSON", "", "jsonl"),
        ("a.csv", "", "csv"),
        ("a.parquet", "", "parquet"),
        ("a.txt", "csv", "csv"),
    ],
)
def test_the_format_comes_from_the_extension_or_the_declaration(path: str, declared: str, kind: str) -> None:
    assert get_kind(path, declared) == kind


@pytest.mark.parametrize(("path", "declared"), [("a.txt", ""), ("a.csv", "xml")])
def test_an_unknown_format_is_refused(path: str, declared: str) -> None:
    with pytest.raises(BadInput, match="set the source's format to jsonl, csv or parquet"):
        get_kind(path, declared)


def test_the_project_folder_is_not_a_pattern(tmp_path: Path) -> None:
    root = tmp_path / "[etl]"
    root.mkdir()
    (root / "orders.csv").write_text("1")
    assert [part.path for part in list_files("*.csv", str(root), "x")] == [str(root / "orders.csv")]
