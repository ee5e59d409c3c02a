"""Chunks in pages, after a place in order: each page costs the same, wherever it is."""

from __future__ import annotations

from itertools import islice

from dataflow.model.coverage import EVERYTHING
from dataflow.model.records import ChunkRow
from dataflow.model.status import UNFINISHED, Status
from dataflow.store.grid_reads import Source, list_others, open_source
from dataflow.store.reads import Reads, time_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataflow.store.database import Row, Transaction
    from dataflow.store.grid_reads import Stratum

    Pair = tuple[str, str]
    """The sort key and dataid of a chunk that is made or to be made."""

LEAST_ASKED = 100
MOST_ASKED = 5000
"""Chunks that are looked at in one step, in search of those with one status."""


class ChunkPages(Reads):
    """Pages of chunks; each is of one moment."""

    def list_chunk_page(self, dataset_id: int, after: str, most: int, status: str = "") -> list[ChunkRow]:
        """Return the next chunks of a dataset after a sort key, all or those with one status."""

        def verb(tx: Transaction) -> list[ChunkRow]:
            source = open_source(tx, dataset_id)
            rows = (row for row in _walk(tx, source, after, (most, status)) if status in ("", row.status))
            return list(islice(rows, most))

        return self._read(verb)


def _walk(tx: Transaction, source: Source, after: str, wanted: tuple[int, str]) -> Iterator[ChunkRow]:
    """Yield the chunks after a sort key among which all of a status are, in order."""
    most, status = wanted
    while True:
        pairs = _next_pairs(tx, source, after, (most, status))
        yield from _list_rows(tx, source, pairs)
        if len(pairs) < most:
            return
        after = pairs[-1][0]
        most = min(max(2 * most, LEAST_ASKED), MOST_ASKED)


def _next_pairs(tx: Transaction, source: Source, after: str, wanted: tuple[int, str]) -> list[Pair]:
    """Return the next of all sets that a status may be in.

    The first of the union are among the first of each set.
    """
    most, status = wanted
    where = {"after": after, "most": most}
    rows: list[Pair] = []
    if status in ("", Status.READY):
        rows += tx.rows("grid.next_chunks", dataset_id=source.dataset_id, **where)
    if status in (Status.STALE, Status.PENDING):
        rows += tx.rows("grid.next_unready", dataset_id=source.dataset_id, **where)
    for stratum in source.strata:
        if status == "" or status in _statuses(source, stratum):
            rows += tx.rows("grid.next_work", **source.of(stratum), **where)
    if status == Status.RESUBMIT and source.job_id is not None:
        rows += tx.rows("grid.next_resubmitted", job_id=source.job_id, **where)
    if status in ("", Status.RUNNING, Status.PENDING):
        others = list_others(tx, source, (after, EVERYTHING))
        rows += [(row[0], row[1]) for row in others if row[0] > after]
    return sorted(set(rows))[:most]


def _statuses(source: Source, stratum: Stratum) -> tuple[Status, ...]:
    """Return the statuses that a stratum is searched for; the resubmitted have an index of their own."""
    if stratum.state not in UNFINISHED:
        return (Status(stratum.state),)
    return (Status.HOLD,) if stratum.hold or source.hold else (Status.PENDING,)


def _list_rows(tx: Transaction, source: Source, pairs: list[Pair]) -> list[ChunkRow]:
    batch = tx.batch([(dataid, key) for key, dataid in pairs])
    found = {row[1]: row for row in tx.rows("grid.rows", dataset_id=source.dataset_id, **batch)}
    readers: dict[int, list[int]] = {}
    chunk_ids = [row[6] for row in found.values() if row[6] is not None]
    for chunk_id, run_id in tx.rows("grid.readers", **tx.ids(chunk_ids)):
        readers.setdefault(chunk_id, []).append(run_id)
    rows = [found[dataid] for _, dataid in pairs if dataid in found]
    return [_chunk(row, tuple(readers.get(row[6], ()))) for row in rows]


def _chunk(row: Row, readers: tuple[int, ...]) -> ChunkRow:
    dataset, dataid, status, version, modified_at, location, _, lacked = row
    return ChunkRow(dataset, dataid, status, version, time_text(modified_at), readers, location, lacked)
