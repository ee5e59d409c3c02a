"""Workers as the store knows them, and what there is to do for their jobs."""

from __future__ import annotations

from dataflow.model.record import names_of
from dataflow.model.worker_rows import JobOutlook, WorkerEntry, WorkerRow, WorkerRun
from dataflow.store import incidents
from dataflow.store.journal import JournalEntry, write_journal
from dataflow.store.reads import record_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dataflow.store.database import Database, Transaction

PATIENCE_SECONDS = 35.0
"""A worker is alive this long after its last heartbeat."""
MOST_SHOWN = 3
"""Runs that the reason of an incident names."""


class WorkerVerbs:
    """The verbs by which workers join and leave; each is one transaction."""

    def __init__(self, database: Database, actor: str) -> None:
        self._database = database
        self._actor = actor

    def enlist(self, entry: WorkerEntry) -> None:
        """Add a worker, or renew its heartbeat."""
        self._database.write(lambda tx: enlist(tx, entry))

    def set_listening(self, name: str, listening: bool) -> None:
        """Have a worker notified of new work, or not."""
        self._database.write(lambda tx: tx.run("worker.listen", name=name, listening=listening))

    def dismiss(self, name: str) -> None:
        """Remove a worker that ends."""
        self._database.write(lambda tx: dismiss(tx, name))

    def dismiss_lost(self, lost: Sequence[WorkerRow], gone: Sequence[str]) -> list[WorkerRow]:
        """Remove workers whose heartbeat has lapsed or that are known to be gone; return those removed.

        Each is counted in the incident of its host.
        """
        return self._database.write(lambda tx: dismiss_lost(tx, lost, gone, self._actor))


def list_outlooks(tx: Transaction, job_ids: Sequence[int]) -> list[JobOutlook]:
    """Return what there is to do for some jobs, except those on hold; one query."""
    return [record_from(JobOutlook, row) for row in tx.rows("worker.outlook", **tx.ids(job_ids))]


def find_job_ids(tx: Transaction, names: Sequence[str]) -> dict[str, int]:
    """Return the ids of the jobs of these names that are registered."""
    return dict(tx.rows("worker.job_ids", **tx.names(names)))


def enlist(tx: Transaction, entry: WorkerEntry) -> None:
    """Add a worker, or renew its heartbeat if it is known; a new one ends the incident of its host."""
    fields: dict[str, Any] = {name: getattr(entry, name) for name in names_of(entry)}
    changing = {name: fields[name] for name in ("name", "jobs", "listening")}
    if tx.find("worker.renew", patience_seconds=PATIENCE_SECONDS, **changing) is None:
        tx.run("worker.enlist", patience_seconds=PATIENCE_SECONDS, **fields)
        incidents.close_host(tx, entry.host)


def dismiss(tx: Transaction, name: str) -> None:
    """Remove a worker that ends."""
    tx.run("worker.dismiss", name=name, gone=True)


def dismiss_lost(
    tx: Transaction, lost: Sequence[WorkerRow], gone: Sequence[str], actor: str
) -> list[WorkerRow]:
    """Remove and journal workers whose heartbeat has lapsed, or that are known to be gone; return them."""
    found = [(row, tx.find("worker.dismiss", name=row.name, gone=row.name in gone)) for row in lost]
    removed = [(row, last) for row, last in found if last is not None]
    for row, (alive_until, clock_id) in removed:
        why = "its process is gone" if row.name in gone else f"no heartbeat for {PATIENCE_SECONDS:g} s"
        write_journal(
            tx, JournalEntry("lost worker", actor, why=f"{row.name} on {row.host}, process {row.pid}: {why}")
        )
        incidents.lose_worker(tx, row.host, _describe_loss(row, why))
        where = {"host": row.host, "clock_id": clock_id, "beat": alive_until - PATIENCE_SECONDS}
        if tx.find("worker.find_successor", **where) is not None:
            incidents.close_host(tx, row.host)
    return [row for row, _ in removed]


def _describe_loss(row: WorkerRow, why: str) -> str:
    """Return the evidence: which worker, and what it was doing."""
    text = f"worker {row.name}, process {row.pid}, since {row.started_at}: {why}"
    if not row.doing:
        return text
    shown = ", ".join([f"{run.job} {run.dataid} (run {run.run_id})" for run in row.doing[:MOST_SHOWN]])
    more = len(row.doing) - MOST_SHOWN
    return f"{text}; it was running {shown}" + (f" and {more} more" if more > 0 else "")


def list_workers(tx: Transaction) -> list[WorkerRow]:
    """Return all workers, oldest first, with what each is doing."""
    doing: dict[str, list[WorkerRun]] = {}
    for name, *row in tx.rows("worker.runs_of_workers"):
        doing.setdefault(name, []).append(record_from(WorkerRun, tuple(row)))
    return [record_from(WorkerRow, (*row, tuple(doing.get(row[0], ())))) for row in tx.rows("worker.workers")]
