"""A worker's row in the store: its heartbeat, whether it waits for work; and the rows of lost workers."""

from __future__ import annotations

import os
from functools import partial

from dataflow.actions.workers import dismiss, dismiss_lost, enlist, listen
from dataflow.model.record import replace
from dataflow.model.worker_rows import WorkerEntry
from dataflow.runjob.dead_workers import is_dead_here
from dataflow.runjob.processes import boottime
from dataflow.store.leases import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.worker_rows import WorkerRow
    from dataflow.service.request import WorkerRequest
    from dataflow.store.store import Store

BEAT_SECONDS = 10.0
BUSY_SECONDS = 2.0
"""A worker that has been busy this long wants no notifications: they slow down the commits of others."""


class Membership:
    """One worker among those of the store."""

    def __init__(self, request: WorkerRequest, name: str) -> None:
        config = request.config
        self._entry = WorkerEntry(
            name,
            config.host,
            boot_id(),
            os.getpid(),
            config.user,
            config.environment,
            request.version,
            request.streams,
        )
        self._is_dead = partial(is_dead_here, config)
        self._beat_at = 0.0
        self._waited_at = 0.0

    def beat(self, store: Store, jobs: int, even_if_not_due: bool = False) -> list[WorkerRow]:
        """Renew the row when that is due, and remove those of lost workers; return these."""
        now = boottime()
        if now < self._beat_at and not even_if_not_due:
            return []
        self._entry = replace(self._entry, jobs=jobs)
        enlist(store, self._entry)
        self._beat_at = now + BEAT_SECONDS
        return dismiss_lost(store, self._is_dead)

    def wait(self, store: Store) -> bool:
        """Ask for notifications of new work; True if there were none until now: look once more."""
        self._waited_at = boottime()
        if self._entry.listening:
            return False
        self._set_listening(store, True)
        return True

    def work(self, store: Store) -> None:
        """Ask for no more notifications, once the worker is busy."""
        if self._entry.listening and boottime() - self._waited_at > BUSY_SECONDS:
            self._set_listening(store, False)

    def leave(self, store: Store) -> None:
        """Remove the row."""
        dismiss(store, self._entry.name)

    def _set_listening(self, store: Store, listening: bool) -> None:
        listen(store, self._entry.name, listening)
        self._entry = replace(self._entry, listening=listening)
