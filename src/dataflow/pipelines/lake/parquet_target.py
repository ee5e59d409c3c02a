"""The lake as a target: Parquet files in the run's own folder, published by a manifest in it.

The status store's published row names the manifest, so its finish is the publish and the fence: files that
an older run leaves in its own folder are never read.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dataflow.model.location import MANIFEST
from dataflow.pipelines.handover.records import (
    REJECTS,
    Destination,
    Published,
    Staged,
    StagedFile,
    write_rejects,
)
from dataflow.pipelines.lake.manifest import Frame, Manifest, write_manifest
from dataflow.private_files import open_unlinked

if TYPE_CHECKING:
    import pyarrow as pa

    from dataflow.pipelines.shape.checks import Check
    from dataflow.pipelines.shape.shaped import Reject

FILE_SIZE = 128 * 1024 * 1024
"""A data file is closed once it reaches this size."""


class LakeWriter:
    """Writes a task attempt's batches as Parquet files into the run's folder."""

    def __init__(
        self, folder: str, file_size: int = FILE_SIZE, opener: Callable[[str, int], int] | None = None
    ) -> None:
        """`opener` opens the files; without one the umask determines their permissions."""
        self._folder = folder
        self._file_size = file_size
        self._opener = opener

    def write(self, batches: Iterator[pa.RecordBatch], attempt: str) -> Staged:
        """Write one or more files, each named after the attempt: no attempt overwrites another's."""
        files: list[StagedFile] = []
        batch = next(batches, None)
        while batch is not None:
            path = f"part-{attempt}-{len(files):03}.parquet"
            rows, batch = self._write_one(os.path.join(self._folder, path), batch, batches)
            files.append(StagedFile(path, rows, os.stat(os.path.join(self._folder, path)).st_size))
        return Staged(
            attempt, sum(file.rows for file in files), sum(file.size for file in files), tuple(files)
        )

    def _write_one(
        self, path: str, batch: pa.RecordBatch, rest: Iterator[pa.RecordBatch]
    ) -> tuple[int, pa.RecordBatch | None]:
        """Fill one file; returns its rows and the first batch of the next file."""
        import pyarrow.parquet as pq

        rows = 0
        following: pa.RecordBatch | None = batch
        with (
            open(path, "xb", opener=self._opener) as file,
            pq.ParquetWriter(file, batch.schema, compression="zstd") as writer,
        ):
            while following is not None and (rows == 0 or file.tell() < self._file_size):
                writer.write_batch(following)
                rows += following.num_rows
                following = next(rest, None)
            writer.close()
            file.flush()
            os.fsync(file.fileno())
        return rows, following


class LakeTarget:
    """One run's part of the lake. `manifest_path` is the location in the store once the run is published."""

    wants_uuid_bytes = False

    def __init__(
        self,
        manifest_path: str,
        destination: Destination,
        columns: tuple[tuple[str, str], ...],
        count: Callable[[Check, Frame], tuple[int, list[str]]],
    ) -> None:
        self._path = manifest_path
        self._folder = os.path.dirname(manifest_path)
        self._destination = destination
        self._columns = columns
        self._count = count

    def begin(self, earlier: Mapping[int, str] | None = None) -> None:
        """Create the run's folder. The fence is the store's: it publishes only what the last run wrote.

        Nothing is taken over: a manifest that the store does not name is not published; its run is repeated.
        """
        os.makedirs(self._folder, exist_ok=True)

    def writer(self) -> LakeWriter:
        """The writer for the tasks."""
        return LakeWriter(self._folder)

    def count_bad_rows(self, check: Check, accepted: list[Staged]) -> tuple[int, list[str]]:
        """Count the accepted rows that violate a check, by a pass over the files."""
        files = [os.path.join(self._folder, file.path) for staged in accepted for file in staged.files]
        return self._count(check, Frame(tuple(files), self._columns)) if files else (0, [])

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Write the manifest of the accepted attempts' files; the store's finish publishes it."""
        if rejects:
            write_rejects(os.path.join(self._folder, REJECTS), rejects, open_unlinked)
        files = tuple(file for staged in accepted for file in staged.files)
        where = self._destination
        manifest = Manifest(where.dataset, where.dataid, where.run_id, self._columns, files)
        write_manifest(self._path, manifest)
        self._remove_others({file.path for file in files} | {MANIFEST, REJECTS})
        return Published(manifest.rows, manifest.size)

    def discard(self) -> None:
        """Delete this run's folder when it holds no manifest."""
        if not os.path.exists(self._path):
            shutil.rmtree(self._folder, ignore_errors=True)

    def _remove_others(self, kept: set[str]) -> None:
        """Delete files of attempts that were not accepted; what a straggler adds later is in no manifest."""
        for name in os.listdir(self._folder):
            if name not in kept:
                os.unlink(os.path.join(self._folder, name))
