"""Files as a source: JSON lines, CSV or Parquet that are there already, taken as they are."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator

from dataflow.errors import BadInput, FetchError
from dataflow.model.record import record
from dataflow.pipelines.handover.records import Part

FORMATS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}


def get_kind(path: str, format: str) -> str:
    """How such files are read: jsonl, csv or parquet; BadInput when neither path nor format tells."""
    kind = format or FORMATS.get(os.path.splitext(path)[1].lower(), "")
    if kind not in FORMATS.values():
        told = f"Format {format!r} is unknown" if format else f"Path {path!r} does not tell its format"
        raise BadInput(f"{told}: set the source's format to jsonl, csv or parquet.")
    return kind


@record
class FileSource:
    """A path or glob, in which `{dataid}` stands for the chunk's dataid; relative ones count from `root`."""

    path: str
    root: str
    format: str = ""  # jsonl, csv or parquet; empty: by the path's ending

    @property
    def kind(self) -> str:
        """jsonl, csv or parquet; BadInput when the path does not tell."""
        return get_kind(self.path, self.format)

    def fetch(self, dataid: str) -> Iterator[Part]:
        """The files of a dataid, sorted by name, rows not counted (-1); FetchError when there are none."""
        asked = self.path.replace("{dataid}", glob.escape(_harmless(dataid)))
        pattern = os.path.join(glob.escape(self.root), asked)
        found = sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
        if not found:
            shown = os.path.join(self.root, asked)
            raise FetchError(f"No file matches {shown}: check the source's path, or wait for the file.")
        for number, path in enumerate(found, start=1):
            yield Part(number, os.path.abspath(path), -1, os.path.getsize(path))


def _harmless(dataid: str) -> str:
    """The dataid, which must not lead out of the path it is put into."""
    if os.sep in dataid or dataid in (".", ".."):
        raise BadInput(f"Dataid {dataid!r} cannot stand in a file source's path.")
    return dataid
