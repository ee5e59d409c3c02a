"""The kept versions of a chunk: rolling back to one, moving one, deleting old ones."""

from __future__ import annotations

from itertools import groupby, pairwise

from dataflow import errors
from dataflow.model.record import record
from dataflow.model.records import Publication
from dataflow.model.status import WorkState
from dataflow.store import chunks
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan, PlanOutput
    from dataflow.store.database import Row, Transaction
    from dataflow.store.operator_moves import Mover


@record
class Place:
    """One version of a chunk at one of its locations, as published."""

    dataset_id: int
    dataset: str
    dataid: str
    version: int
    location: str

    @property
    def name(self) -> str:
        """The chunk's name."""
        return f"{self.dataset}/{self.dataid}"


def go_back(tx: Transaction, plan: Plan | None, output: PlanOutput, place: Place, mover: Mover) -> int:
    """Publish an older version as the next one and return its number; consumers' work is done again."""
    where = {"dataset_id": place.dataset_id, "dataid": place.dataid}
    tx.lock("publish.lock_datasets", dataset_ids=[place.dataset_id])
    if plan is not None:
        _refuse_running(tx, plan, place)
    tx.find("publish.find_chunk", **where)  # locks it, so its location is not deleted
    flags = tx.find("versions.chunk_flags", **where)
    if flags is None or flags[1]:
        raise errors.Conflict(
            f"{place.name} is STALE: one of its inputs has a newer version, so every version of it is "
            "out of date; nothing was rolled back. The next run produces it again."
        )
    kept = tx.find("versions.find", **where, version=place.version, location=place.location)
    if kept is None:
        raise errors.Conflict(
            f"Version {place.version} of {place.name} has been purged. See: dataflow versions "
            f"{place.dataset} {place.dataid}"
        )
    run_id, rows, size, checked = kept
    publication = Publication(place.dataset, place.location, rows, size, checked)
    number = chunks.publish(tx, output, place.dataid, chunks.Version(publication, run_id))
    reason = mover.reason(f"version {place.version} published again as version {number}")
    job = plan.job.name if plan else ""
    write_journal(
        tx,
        JournalEntry(
            "rollback", mover.actor, job, place.dataset, place.dataid, run_id, to_state="READY", why=reason
        ),
    )
    return number


def _refuse_running(tx: Transaction, plan: Plan, place: Place) -> None:
    for _, _, _, state, _, run_id in tx.rows(
        "operate.list_named", job_id=plan.job_id, **tx.batch([(place.dataid, "")])
    ):
        if state == WorkState.RUNNING:
            raise errors.Conflict(
                f"{plan.job.name}/{place.dataid} is RUNNING under run {run_id}, which will publish the next "
                f"version itself; nothing was rolled back. Wait for it, or: dataflow cancel {run_id}"
            )


def move(tx: Transaction, place: Place, location: str, size: int, mover: Mover) -> None:
    """Have the same version, with the same rows, read from another location; consumers do not rerun."""
    tx.lock("publish.lock_datasets", dataset_ids=[place.dataset_id])
    where = {"dataset_id": place.dataset_id, "dataid": place.dataid}
    moved = tx.find(
        "versions.move",
        **where,
        from_location=place.location,
        location=location,
        size=size,
    )
    if moved is None:
        raise errors.Conflict(
            f"{place.name} changed while version {place.version} was compacted; nothing was changed. To "
            f"try again: dataflow compact {place.dataset} {place.dataid}"
        )
    tx.run("publish.keep_version", **where)
    why = mover.reason(f"version {place.version} compacted")
    write_journal(tx, JournalEntry("compact", mover.actor, "", place.dataset, place.dataid, why=why))


def forget_replaced(
    tx: Transaction, dataset_id: int, before: str, after: int, most: int
) -> tuple[list[str], int | None]:
    """Delete locations replaced before a time that no run reads; return them and where to continue."""
    where = {"dataset_id": dataset_id, "before": before, "after": after, "most": most}
    chunk_ids = [row[0] for row in tx.rows("versions.next_replaced", **where)]
    if not chunk_ids:
        return [], None
    tx.lock("versions.lock_chunks", chunk_ids=chunk_ids)
    pinned = {(row[0], row[1]) for row in tx.rows("versions.pinned")}
    forgotten = []
    rows = tx.rows("versions.list_of_chunks", before=before, **tx.ids(chunk_ids))
    for chunk_id, places in groupby(rows, key=lambda row: int(row[0])):
        for location in _list_replaced(list(places), pinned):
            tx.run("versions.forget", chunk_id=chunk_id, location=location)
            forgotten.append(location)
    return forgotten, chunk_ids[-1]


def _list_replaced(places: list[Row], pinned: set[tuple[int, int]]) -> list[str]:
    """Return the locations of one chunk that may be deleted: each was replaced before the limit."""
    kept = {place[2] for place in places if place[3] or (place[0], place[1]) in pinned}
    kept.add(places[-1][2])
    for place, following in pairwise(places):
        if not following[4]:
            kept.add(place[2])
    return sorted({place[2] for place in places} - kept)
