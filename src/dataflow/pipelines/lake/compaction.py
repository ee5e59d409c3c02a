"""Compaction: rewrites the rows of one version, in order, into fewer and larger files at a new location."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dataflow.actions.names import get_dataset
from dataflow.actions.versions import move_version
from dataflow.errors import BadInput, DataFlowError
from dataflow.model.location import MANIFEST
from dataflow.model.record import record
from dataflow.pipelines.lake.manifest import Manifest, write_manifest
from dataflow.pipelines.lake.parquet_target import FILE_SIZE, LakeWriter
from dataflow.pipelines.lake.published_files import LakeChunk, locate_chunk
from dataflow.store.store import Store
from dataflow.store.version_moves import Place

BATCH_ROWS = 100_000
"""Rows in memory at a time, and per row group."""


@record
class Compacted:
    """The number of files before and after; equal when there was nothing to do."""

    version: int
    files_before: int
    files_after: int


def compact(
    store: Store, asked: tuple[str, str], project_dir: str, why: str = "", file_size: int = FILE_SIZE
) -> Compacted:
    """Rewrite the current version of a chunk into files of the target size and publish these instead.

    `asked` is dataset and dataid. The version stays the same, as its rows are the same: no consumer is
    run again. Runs that read the old files keep them until they are purged. Conflict if the chunk is
    published again meanwhile.
    """
    name, dataid = asked
    chunk, _ = locate_chunk(store, name, dataid, project_dir)
    before = len(chunk.files)
    if before <= max(1, math.ceil(chunk.manifest.size / file_size)):
        return Compacted(chunk.version, before, before)
    # Contains the store's name, so that `dataflow purge` recognises leftovers of a killed compaction.
    folder = f"{chunk.manifest.run_id}-{store.read.get_store_id()[:8]}-{os.urandom(4).hex()}"
    home = os.path.dirname(os.path.dirname(chunk.path))
    try:
        manifest = _rewrite(chunk, os.path.join(home, folder), file_size)
        location = os.path.join(os.path.dirname(os.path.dirname(chunk.location)), folder, MANIFEST)
        old = Place(get_dataset(store, name)[0], name, chunk.dataid, chunk.version, chunk.location)
        move_version(store, old, location, manifest.size, why)
    except (DataFlowError, OSError, pa.ArrowException):
        shutil.rmtree(os.path.join(home, folder), ignore_errors=True)
        raise
    return Compacted(chunk.version, before, len(manifest.files))


def _rewrite(chunk: LakeChunk, folder: str, file_size: int) -> Manifest:
    """Write the new files and, once their rows are verified, their manifest."""
    os.mkdir(folder)
    staged = LakeWriter(folder, file_size).write(_read(chunk.files), "compacted")
    old = chunk.manifest
    if staged.rows != old.rows:
        raise BadInput(
            f"{chunk.dataset}/{chunk.dataid}: its files hold {staged.rows:,} rows, but its manifest says "
            f"{old.rows:,}. Nothing was changed. See: dataflow versions {chunk.dataset} {chunk.dataid}"
        )
    new_files = tuple(os.path.join(folder, file.path) for file in staged.files)
    for before, after in zip(_read(chunk.files), _read(new_files), strict=True):  # again, from disk
        if not all(map(is_same, before.columns, after.columns)):
            raise BadInput(
                f"{chunk.dataset}/{chunk.dataid}: the compacted files do not hold the same rows. "
                "Nothing was changed."
            )
    manifest = Manifest(old.dataset, old.dataid, old.run_id, old.columns, staged.files)
    write_manifest(os.path.join(folder, MANIFEST), manifest)
    return manifest


def _read(files: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """The rows of these files in order, always split at the same rows."""
    waiting: list[pa.RecordBatch] = []
    rows = 0
    for path in files:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BATCH_ROWS):
                waiting.append(batch)
                rows += batch.num_rows
                while rows >= BATCH_ROWS:
                    whole = pa.concat_batches(waiting)
                    yield whole.slice(0, BATCH_ROWS)
                    rows -= BATCH_ROWS
                    waiting = [whole.slice(BATCH_ROWS)] if rows else []
    if rows:
        yield pa.concat_batches(waiting)


def is_same(one: Any, other: Any) -> bool:
    """True if two arrays hold the same values, with NaN equal to NaN."""
    if one.equals(other):
        return True
    if one.type != other.type or len(one) != len(other) or not one.is_null().equals(other.is_null()):
        return False
    if pa.types.is_list(one.type) or pa.types.is_large_list(one.type):
        lengths = one.value_lengths().equals(other.value_lengths())
        return lengths and is_same(one.flatten(), other.flatten())
    if pa.types.is_floating(one.type):
        kind = {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[one.type.bit_width]
        return bool(one.drop_null().view(kind).equals(other.drop_null().view(kind)))
    return False
