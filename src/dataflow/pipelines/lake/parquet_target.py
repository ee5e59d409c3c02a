"""Parquet files as a target: in the lake, or in a plain folder for datasets located in one.

In the lake the status store's published row names a manifest in the run's own folder, so its finish is the
publish and the fence: files that an older run leaves in its own folder are never read.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from dataflow.model.location import MANIFEST
from dataflow.model.record import record
from dataflow.pipelines.handover.records import (
    REJECTS,
    Destination,
    Published,
    Staged,
    StagedFile,
    write_rejects,
)
from dataflow.pipelines.lake.manifest import Columns, Frame, Manifest, write_manifest
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.shaped import Reject
from dataflow.pipelines.shape.sql_types import parse_sql_type
from dataflow.private_files import open_unlinked

if TYPE_CHECKING:
    CountBadRows = Callable[[Check, Frame], tuple[int, list[str]]]
    """Counts the rows of a frame that violate a check, with a few samples."""

FILE_SIZE = 128 * 1024 * 1024
"""A data file is closed once it reaches this size."""
REPLACED = ".replaced"


@record
class LakeWriter:
    """Writes a task attempt's batches as Parquet files into the run's folder."""

    folder: str
    file_size: int = FILE_SIZE
    opener: Callable[[str, int], int] | None = None  # without one the umask determines their permissions

    def write(self, batches: Iterator[pa.RecordBatch], attempt: str) -> Staged:
        """Write one or more files, each named after the attempt: no attempt overwrites another's."""
        files: list[StagedFile] = []
        batch = next(batches, None)
        while batch is not None:
            path = f"part-{attempt}-{len(files):03}.parquet"
            rows, batch = self._write_one(os.path.join(self.folder, path), batch, batches)
            files.append(StagedFile(path, rows, os.stat(os.path.join(self.folder, path)).st_size))
        return Staged(attempt, sum(one.rows for one in files), sum(one.size for one in files), tuple(files))

    def _write_one(
        self, path: str, batch: pa.RecordBatch, rest: Iterator[pa.RecordBatch]
    ) -> tuple[int, pa.RecordBatch | None]:
        """Fill one file; returns its rows and the first batch of the next file."""
        import pyarrow.parquet as pq

        rows = 0
        following: pa.RecordBatch | None = batch
        with (
            open(path, "xb", opener=self.opener) as file,
            pq.ParquetWriter(file, batch.schema, compression="zstd") as writer,
        ):
            while following is not None and (rows == 0 or file.tell() < self.file_size):
                writer.write_batch(following)
                rows += following.num_rows
                following = next(rest, None)
            writer.close()
            file.flush()
            os.fsync(file.fileno())
        return rows, following


class _FilesTarget:
    """Files that a run stages in one folder."""

    wants_uuid_bytes = False

    def __init__(self, staging: str, columns: Columns, count: CountBadRows) -> None:
        self._staging = staging
        self._columns = columns
        self._count = count

    def writer(self) -> LakeWriter:
        """The writer for the tasks."""
        return LakeWriter(self._staging)

    def count_bad_rows(self, check: Check, accepted: list[Staged]) -> tuple[int, list[str]]:
        """Count the accepted rows that violate a check, by a pass over the files."""
        files = [os.path.join(self._staging, file.path) for staged in accepted for file in staged.files]
        return self._count(check, Frame(tuple(files), self._columns)) if files else (0, [])

    def _remove_others(self, kept: set[str]) -> None:
        """Delete files of attempts that were not accepted; what a straggler adds later is in no manifest."""
        for name in os.listdir(self._staging):
            if name not in kept:
                os.unlink(os.path.join(self._staging, name))


class LakeTarget(_FilesTarget):
    """One run's part of the lake. `manifest_path` is the location in the store once the run is published."""

    def __init__(
        self, manifest_path: str, destination: Destination, columns: Columns, count: CountBadRows
    ) -> None:
        super().__init__(os.path.dirname(manifest_path), columns, count)
        self._path = manifest_path
        self._destination = destination

    def begin(self, earlier: Mapping[int, str] | None = None) -> None:
        """Create the run's folder. The fence is the store's: it publishes only what the last run wrote.

        Nothing is taken over: a manifest that the store does not name is not published; its run is repeated.
        """
        os.makedirs(self._staging, exist_ok=True)

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Write the manifest of the accepted attempts' files; the store's finish publishes it."""
        if rejects:
            write_rejects(os.path.join(self._staging, REJECTS), rejects, open_unlinked)
        files = tuple(file for staged in accepted for file in staged.files)
        where = self._destination
        manifest = Manifest(where.dataset, where.dataid, where.run_id, self._columns, files)
        write_manifest(self._path, manifest)
        self._remove_others({file.path for file in files} | {MANIFEST, REJECTS})
        return Published(manifest.rows, manifest.size)

    def discard(self) -> None:
        """Delete this run's folder when it holds no manifest."""
        if not os.path.exists(self._path):
            shutil.rmtree(self._staging, ignore_errors=True)


class FolderTarget(_FilesTarget):
    """One run's output at a folder on this machine, without a manifest.

    The files are staged beside it; the folder appears, or is replaced, when they are published.
    """

    def __init__(self, folder: str, run_id: int, columns: Columns, count: CountBadRows) -> None:
        self._folder = folder.rstrip("/")
        super().__init__(f"{self._folder}.{run_id}.staged", columns, count)

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

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Put the accepted files in place of the folder; its previous content is deleted."""
        kept = {file.path for staged in accepted for file in staged.files}
        self._remove_others(kept)
        if not kept:
            self._write_empty()
        if os.path.lexists(self._folder):
            replaced = f"{self._staging}{REPLACED}"
            os.rename(self._folder, replaced)
            os.rename(self._staging, self._folder)
            _remove(replaced)
        else:
            os.rename(self._staging, self._folder)
        return Published(sum(one.rows for one in accepted), sum(one.size for one in accepted))

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
        import pyarrow.parquet as pq

        schema = pa.schema([(name, parse_sql_type(kind).arrow) for name, kind in self._columns])
        pq.write_table(schema.empty_table(), os.path.join(self._staging, "part-empty.parquet"))


def _remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
