"""PostgreSQL that Spark's tasks cannot reach: they write Parquet files, and this process copies them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from dataflow.pipelines.handover.records import Published, Staged
from dataflow.pipelines.lake.parquet_target import LakeWriter
from dataflow.pipelines.postgres.table_target import PostgresTarget
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.shape.shaped import Reject
from dataflow.private_files import make_private_folder, open_private


class RelayTarget:
    """A PostgreSQL target whose rows arrive as files in a folder that the tasks can access, too."""

    wants_uuid_bytes = True

    def __init__(self, target: PostgresTarget, folder: str) -> None:
        self._target = target
        self._folder = folder
        self._copied: dict[str, Staged] = {}

    def begin(self, earlier: Mapping[int, str] | None = None) -> Published | None:
        """Raise the fence, and create the staging table and the folder."""
        make_private_folder(self._folder)
        return self._target.begin(earlier)

    def writer(self) -> LakeWriter:
        """The writer for the tasks: files named after the attempt. The database's password stays here."""
        return LakeWriter(self._folder, opener=open_private)

    def count_bad_rows(self, check: Check, accepted: list[Staged]) -> tuple[int, list[str]]:
        """Count the rows that violate a check, once copied."""
        return self._target.count_bad_rows(check, self._copy(accepted))

    def publish(self, accepted: list[Staged], rejects: Sequence[Reject] = ()) -> Published:
        """Copy what the accepted attempts left, then publish as the target does."""
        return self._target.publish(self._copy(accepted), rejects)

    def discard(self) -> None:
        """Delete the files and the staging tables."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._target.discard()

    def _copy(self, accepted: list[Staged]) -> list[Staged]:
        """The same attempts as staged in the database; each is copied once, in its own transaction."""
        writer = self._target.writer()
        for staged in accepted:
            if staged.attempt not in self._copied:
                self._copied[staged.attempt] = writer.write(self._read(staged), staged.attempt)
        return [self._copied[staged.attempt] for staged in accepted]

    def _read(self, staged: Staged) -> Iterator[pa.RecordBatch]:
        for file in staged.files:
            with pq.ParquetFile(os.path.join(self._folder, file.path)) as parquet:
                yield from parquet.iter_batches()
