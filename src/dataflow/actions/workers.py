"""Workers in the store: enlisted while they live, removed by others when they are lost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.model.worker_rows import WorkerEntry, WorkerRow
    from dataflow.store.store import Store

    IsDead = Callable[[WorkerRow], bool]
    """Return whether a worker is known to be gone: it ran on this machine, and nobody holds its lock."""


def enlist(store: Store, entry: WorkerEntry) -> None:
    """Add a worker to the store, or renew its heartbeat."""
    store.workers.enlist(entry)


def listen(store: Store, name: str, listening: bool) -> None:
    """Have a worker notified of new work, or not."""
    store.workers.set_listening(name, listening)


def dismiss(store: Store, name: str) -> None:
    """Remove a worker that ends."""
    store.workers.dismiss(name)


def dismiss_lost(store: Store, is_dead: IsDead) -> list[WorkerRow]:
    """Remove and journal workers that are lost; return those that nobody else has removed meanwhile."""
    found = store.read.list_workers()
    gone = [row.name for row in found if is_dead(row)]
    lost = [row for row in found if row.has_lapsed or row.name in gone]
    return store.workers.dismiss_lost(lost, gone) if lost else []


def describe_lost(row: WorkerRow) -> str:
    """Return in words that a worker is lost."""
    return f"Worker {row.name} on {row.host} (process {row.pid}) is gone."


def list_live(store: Store, is_dead: IsDead) -> list[WorkerRow]:
    """Return the workers that are alive, oldest first."""
    return [row for row in store.read.list_workers() if not row.has_lapsed and not is_dead(row)]
