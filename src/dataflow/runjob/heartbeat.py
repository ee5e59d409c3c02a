"""Keeps the leases of this process's runs, on a thread and a connection of its own.

It does not depend on the children's output: a terminal that takes nothing must not cost a lease.
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
        """A run whose lease is to be kept."""

        renewed_at: float

        @property
        def run(self) -> Run:
            """The run."""

        def renewed(self, at: float) -> None:
            """Its lease counts from this moment on."""


LOOK_SECONDS = 3.0
"""How often a run asks whether an operator has taken it away, between renewals."""


class Heartbeat:
    """Renews each third of the lease, looks for revoked runs in between, and tells the main loop."""

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
        """The runs to keep from now on; another that is renewed at this moment is not reported lost."""
        with self._lock:
            self._kept = {child.run.run_id: child for child in held}
            if self._shortest_third() < self._third_seconds:
                self._woken.set()  # the job's lease has become shorter than the pause under way allows for

    def take_lost(self) -> set[int]:
        """The runs that were lost since the last call."""
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass
        with self._lock:
            lost, self._lost = self._lost, set()
        return lost

    def stop(self) -> None:
        """Ends the thread; no renewal is under way afterwards."""
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
                if self._stopped:  # after the clear, which may have swallowed the very call
                    break
                kept = dict(self._kept)
                third_seconds = self._shortest_third()
            if third_seconds < self._third_seconds and store is not None:
                store.close()  # it would wait longer for the database than there is time now
                store = None
            self._third_seconds = third_seconds
            try:
                store = store or self._store.separate(third_seconds)
                if kept:
                    self._look_after(store, kept)
            except DataFlowError:
                pass  # the deadlines stand: without a renewal the guard, or a run without one, ends in time
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
        """A third of the shortest lease that is kept; as before when there is none."""
        leases = [child.run.lease_seconds for child in self._kept.values()]
        return min(leases) / 3 if leases else self._third_seconds
