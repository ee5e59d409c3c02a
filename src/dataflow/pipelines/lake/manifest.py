"""The manifest of a published version: the list of its files. Readers read these and no others."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any

from dataflow.errors import BadInput
from dataflow.model.record import record
from dataflow.pipelines.handover.records import StagedFile
from dataflow.private_files import open_unlinked

FORMAT = 1
DATAID = "dataid"
"""The column that holds each row's chunk."""
Columns = tuple[tuple[str, str], ...]
"""Names and PostgreSQL types."""


@record
class Manifest:
    """The files of one version, relative to the manifest's folder, and their columns."""

    dataset: str
    dataid: str
    run_id: int
    columns: Columns
    files: tuple[StagedFile, ...]

    def open(self, path: str) -> Frame:
        """Its files as one table; `path` is that of the manifest."""
        folder = os.path.dirname(path)
        return Frame(tuple(os.path.join(folder, file.path) for file in self.files), self.columns)

    @property
    def rows(self) -> int:
        """Total rows of the files."""
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        """Total bytes of the files."""
        return sum(file.size for file in self.files)


@record
class Frame:
    """Files that form one table, with the table's columns."""

    files: tuple[str, ...]
    columns: Columns


@record
class Whole:
    """All chunks of a dataset as one table: a column that only some chunks have is NULL in the others."""

    parts: tuple[Frame, ...]  # one for each set of columns, newest first

    @property
    def columns(self) -> Columns:
        """All columns, the newest chunk's first and with its types, then `dataid`."""
        found: dict[str, tuple[str, str]] = {}
        for part in self.parts:
            for name, kind in part.columns:
                found.setdefault(name.lower(), (name, kind))
        found.setdefault(DATAID, (DATAID, "text"))
        return tuple(found.values())


def write_manifest(path: str, manifest: Manifest) -> None:
    """Write the manifest atomically and durably."""
    # The keys are the file format: they stay, whatever the records are called in the code.
    found = {
        "format": FORMAT,
        "dataset": manifest.dataset,
        "dataid": manifest.dataid,
        "run_id": manifest.run_id,
        "columns": manifest.columns,
        "files": [{"path": file.path, "rows": file.rows, "size": file.size} for file in manifest.files],
    }
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8", opener=open_unlinked) as file:
        file.write(json.dumps(found, indent=1))
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_manifest(path: str) -> Manifest:
    """The manifest at a location; BadInput if it is missing or unreadable."""
    try:
        with open(path, encoding="utf-8") as file:
            found: dict[str, Any] = json.load(file)
        if found.get("format") != FORMAT:
            raise BadInput(
                f"{path} is a manifest of format {found.get('format')}; this version reads {FORMAT}."
            )
        columns = tuple((name, kind) for name, kind in found["columns"])
        files = tuple(StagedFile(item["path"], item["rows"], item["size"]) for item in found["files"])
        return Manifest(found["dataset"], found["dataid"], found["run_id"], columns, files)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadInput(f"The manifest {path} cannot be read: {error}.") from error


def read_frame(path: str) -> Frame:
    """The data files of the version whose manifest is at that location."""
    return read_manifest(path).open(path)


def put_together(frames: Iterable[Frame]) -> Whole:
    """Chunks, newest first, as one table."""
    files: dict[Columns, list[str]] = {}
    for frame in frames:
        files.setdefault(frame.columns, []).extend(frame.files)
    return Whole(tuple(Frame(tuple(paths), columns) for columns, paths in files.items()))
