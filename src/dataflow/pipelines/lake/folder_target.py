"""A plain folder of Parquet files as a target: for datasets located in a folder without a manifest.

The files are staged beside it; the folder appears, or is replaced, when they are published.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from dataflow.pipelines.handover.records import Published, Staged
from dataflow.pipelines.lake.manifest import Frame
from dataflow.pipelines.lake.parquet_target import LakeWriter
from dataflow.pipelines.shape.sql_types import parse_sql_type

if TYPE_CHECKING:
    from dataflow.pipelines.shape.checks import Check
    from dataflow.pipelines.shape.shaped import Reject


REPLACED = ".replaced"


class FolderTarget:
    """One run's output at a folder on this machine."""

    wants_uuid_bytes = False

    def __init__(
        self,
        folder: str,
        run_id: int,
        columns: tuple[tuple[str, str], ...],
        count: Callable[[Check, Frame], tuple[int, list[str]]],
    ) -> None:
        self._folder = folder.rstrip("/")
        self._staging = f"{self._folder}.{run_id}.staged"
        self._columns = columns
        self._count = count

    def begin(self, earlier: Mapping[int, str] | None = None) -> None:
        """Prepare staging; restore what a run killed during publishing had moved away.

        What an earlier run put there counts only if the store says so.
        """
        for moved in self._list_moved():
            if os.path.lexists(self._folder):
                _remove(moved)
            else:
                os.rename(moved, self._folder)
        os.makedirs(self._staging, exist_ok=True)

    def writer(self) -> LakeWriter:
        """The writer for the tasks."""
        return LakeWriter(self._staging)

    def count_bad_rows(self, check: Check, accepted: list[Staged]) -> tuple[int, list[str]]:
        """Count the accepted rows that violate a check, by a pass over the files."""
        files = [os.path.join(self._staging, file.path) for staged in accepted for file in staged.files]
        return self._count(check, Frame(tuple(files), self._columns)) if files else (0, [])

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Put the accepted files in place of the folder; its previous content is deleted."""
        kept = {file.path for staged in accepted for file in staged.files}
        for name in os.listdir(self._staging):
            if name not in kept:
                os.unlink(os.path.join(self._staging, name))
        if not kept:
            self._write_empty()
        if os.path.lexists(self._folder):
            replaced = f"{self._staging}{REPLACED}"
            os.rename(self._folder, replaced)
            os.rename(self._staging, self._folder)
            _remove(replaced)
        else:
            os.rename(self._staging, self._folder)
        rows, size = sum(one.rows for one in accepted), sum(one.size for one in accepted)
        return Published(rows, size)

    def discard(self) -> None:
        """Delete what is left in staging."""
        shutil.rmtree(self._staging, ignore_errors=True)

    def _list_moved(self) -> list[str]:
        """Folders that runs of this folder, and of no other with the same prefix, have moved away."""
        found = glob.glob(f"{glob.escape(self._folder)}.*.staged{REPLACED}")
        ending = re.compile(rf"\.[0-9]+\.staged{re.escape(REPLACED)}")
        return [path for path in found if ending.fullmatch(path, len(self._folder))]

    def _write_empty(self) -> None:
        """A file without rows, from which readers get the columns."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([(name, parse_sql_type(kind).arrow) for name, kind in self._columns])
        pq.write_table(schema.empty_table(), os.path.join(self._staging, "part-empty.parquet"))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
