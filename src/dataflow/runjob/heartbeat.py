"""Renews the leases of this process's runs, on its own thread and connection.

It does not depend on the children's output: a blocked terminal must not cost a lease.
"""

from __future__ import annotations

import os
import threading

from dataflow.actions.claim import renew_leases
from dataflow.errors import DataFlowError
from dataflow.runjob.processes import boottime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    from dataflow.model.records import Run
    from dataflow.store.store import Store

    class Held(Protocol):
        """A run whose lease is renewed."""

        renewed_at: float

        @property
        def run(self) -> Run:
            """The run."""

        def renewed(self, at: float) -> None:
            """Count its lease from this moment."""


LOOK_SECONDS = 3.0
"""How often a run checks whether an operator has cancelled it, between renewals."""


class Heartbeat:
    """Renews at each third of the lease, checks for revoked runs in between, and wakes the main loop."""

    def __init__(self, store: Store, claimant: str, held: Iterable[Held]) -> None:
        self._store = store
        self._claimant = claimant
        self._kept = {child.run.run_id: child for child in held}
        self._third_seconds = self._shortest_third()
        self._lost: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self._woken = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        """Becomes readable when a run is lost."""
        return self._wake_read

    def keep(self, held: Iterable[Held]) -> None:
        """Set the runs to keep; one that is no longer among them is not reported lost."""
        with self._lock:
            self._kept = {child.run.run_id: child for child in held}
            if self._shortest_third() < self._third_seconds:
                self._woken.set()  # the job's lease is now shorter than the current pause allows

    def take_lost(self) -> set[int]:
        """Return the runs lost since the last call."""
        self._clear_wake()
        with self._lock:
            lost, self._lost = self._lost, set()
        return lost

    def is_lost(self, run_id: int) -> bool:
        """True once this run is lost; the others are left for their own threads to ask."""
        self._clear_wake()
        with self._lock:
            return run_id in self._lost

    def _clear_wake(self) -> None:
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass

    def stop(self) -> None:
        """Stop the thread; no renewal is under way afterwards."""
        self._stopped = True
        self._woken.set()
        self._thread.join()
        os.close(self._wake_read)
        os.close(self._wake_write)

    def _beat(self) -> None:
        store: Store | None = None
        while True:
            self._woken.wait(min(self._third_seconds / 2, LOOK_SECONDS))
            with self._lock:
                self._woken.clear()
                if self._stopped:  # after the clear, which may have consumed the call to stop
                    break
                kept = dict(self._kept)
                third_seconds = self._shortest_third()
            if third_seconds < self._third_seconds and store is not None:
                store.close()  # its timeout is too long now
                store = None
            self._third_seconds = third_seconds
            try:
                store = store or self._store.separate(third_seconds)
                if kept:
                    self._look_after(store, kept)
            except DataFlowError:
                pass  # the deadlines hold: without a renewal the guard, or the run itself, ends in time
        if store is not None:
            store.close()

    def _look_after(self, store: Store, kept: dict[int, Held]) -> None:
        began_at = boottime()
        due = any(began_at - child.renewed_at >= child.run.lease_seconds / 6 for child in kept.values())
        mine = self._claimant, list(kept)
        held = renew_leases(store, *mine) if due else store.list_held(*mine)
        if due:
            for run_id in held:
                kept[run_id].renewed(began_at)
        with self._lock:
            lost = (set(kept) - held) & set(self._kept)
            self._lost |= lost
        if lost:
            os.write(self._wake_write, b"x")

    def _shortest_third(self) -> float:
        """Return a third of the shortest lease kept; unchanged when none is."""
        leases = [child.run.lease_seconds for child in self._kept.values()]
        return min(leases) / 3 if leases else self._third_seconds
