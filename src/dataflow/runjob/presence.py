"""This process as the store knows it: one name, one lock and one heartbeat for all its runs."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager

from dataflow.runjob.heartbeat import Heartbeat
from dataflow.runjob.lock import ClaimantLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from dataflow.runjob.heartbeat import Held
    from dataflow.store.store import Store


class Presence:
    """One claimant; used by several threads."""

    def __init__(self, lock_dir: str, store: Store, token: str = "") -> None:
        self._lock_dir = lock_dir
        self._store = store
        self._token = token or os.urandom(8).hex()
        self._lock: ClaimantLock | None = None
        self._held: dict[int, Held] = {}
        self._heartbeat: Heartbeat | None = None
        self._changing = threading.Lock()
        self._is_busy = False
        self.interruption: BaseException | None = None

    def get_token(self) -> str:
        """The claimant's name, once its lock is held."""
        with self._changing:
            if self._lock is None:
                self._lock = ClaimantLock.take(self._lock_dir, self._token)
        return self._token

    def leave_file(self) -> None:
        """Show others at once that this process is gone when it ends: not all its runs are recorded."""
        if self._lock is not None:
            self._lock.leave_file()

    def leave_running(self) -> None:
        """Keep the lock until the process ends: a thread that could not be stopped may still write."""
        self._is_busy = True

    def release(self) -> None:
        """Release the lock, unless a thread is still busy."""
        if self._lock is not None and not self._is_busy:
            self._lock.release()
            self._lock = None

    def interrupt(self, error: BaseException) -> float:
        """Make all runs end with this KeyboardInterrupt or SystemExit: only the main thread gets signals.

        Return the longest grace of those under way, in seconds.
        """
        self.interruption = error
        return max((held.run.grace_seconds for held in list(self._held.values())), default=0.0)

    def refuse_interrupted(self, cause: BaseException | None = None) -> None:
        """Raise what all runs were interrupted with."""
        if self.interruption is not None:
            raise type(self.interruption)(*self.interruption.args) from cause

    @contextmanager
    def keep(self, held: Held) -> Iterator[Heartbeat]:
        """Renew the run's lease meanwhile."""
        with self._changing:
            self._held[held.run.run_id] = held
            if self._heartbeat is None:
                self._heartbeat = Heartbeat(self._store, self._token, self._held.values())
            else:
                self._heartbeat.keep(self._held.values())
            heartbeat = self._heartbeat
        try:
            yield heartbeat
        finally:
            with self._changing:
                del self._held[held.run.run_id]
                if self._held:
                    heartbeat.keep(self._held.values())
                else:
                    self._heartbeat = None
                    heartbeat.stop()
