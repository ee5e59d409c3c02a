"""Files as a source: existing JSON Lines, CSV or Parquet files, used unchanged."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator

from dataflow.errors import BadInput, FetchError
from dataflow.pipelines.handover.records import Part

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def get_kind(path: str, format: str) -> str:
    """Format of the files: jsonl, csv or parquet; BadInput when neither path nor format determines it."""
    kind = format or FORMATS.get(os.path.splitext(path)[1].lower(), "")
    if kind not in FORMATS.values():
        told = f"Unknown format {format!r}" if format else f"Path {path!r} has no known file extension"
        raise BadInput(f"{told}: set the source's format to jsonl, csv or parquet.")
    return kind


def list_files(path: str, root: str, dataid: str) -> Iterator[Part]:
    """The files of a dataid, sorted by name, rows not counted (-1); FetchError when there are none.

    In the path or glob, `{dataid}` stands for the dataid; a relative path starts at `root`.
    """
    if os.sep in dataid or dataid in (".", ".."):  # it must not lead out of the path
        raise BadInput(f"Dataid {dataid!r} cannot be used in the path of a file source.")
    asked = path.replace("{dataid}", glob.escape(dataid))
    pattern = os.path.join(glob.escape(root), asked)
    found = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    if not found:
        shown = os.path.join(root, asked)
        raise FetchError(f"No file matches {shown}: check the source's path, or wait for the file.")
    for number, name in enumerate(found, start=1):
        yield Part(number, os.path.abspath(name), -1, os.path.getsize(name))
