"""How a worker hears that something has changed in the store."""

from __future__ import annotations

from dataflow.errors import StoreError
from dataflow.runjob.processes import boottime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.database import Watch
    from dataflow.store.store import Store


class StoreWatch:
    """A watch that is opened when it is needed, and again after an outage."""

    def __init__(self) -> None:
        self._watch: Watch | None = None
        self._poll_at = 0.0

    def open(self, store: Store) -> bool:
        """Watch the store; True if it was not watched until now: look once more."""
        if self._watch is not None:
            return False
        self._watch = store.database.watch()
        return True

    def close(self) -> None:
        """Watch no longer."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def fileno(self) -> int | None:
        """The descriptor to poll, if there is one."""
        return None if self._watch is None else self._watch.fileno()

    @property
    def poll_at(self) -> float | None:
        """When to ask again, if that is the way."""
        return None if self._watch is None or self._watch.poll_seconds is None else self._poll_at

    def poll(self) -> bool:
        """Ask, if it is time to; True if something has changed."""
        at = self.poll_at
        if self._watch is None or self._watch.poll_seconds is None or at is None or boottime() < at:
            return False
        self._poll_at = boottime() + self._watch.poll_seconds
        return self.take()

    def take(self) -> bool:
        """Return True if something has changed, or if that is not known because the connection broke."""
        try:
            return self._watch is not None and self._watch.take()
        except StoreError:
            self.close()
            return True
