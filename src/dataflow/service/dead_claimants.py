"""Claimants on this machine that have died, seen from their locks without asking the store."""

from __future__ import annotations

import os

from dataflow.runjob.lock import is_claimant_name, is_dead

SUFFIX = ".lock"


class DeadClaimants:
    """Looks at the lock folder now and then."""

    def __init__(self, lock_dir: str) -> None:
        self._lock_dir = lock_dir
        self._known: set[str] = set()

    def take_new(self) -> list[str]:
        """Return the claimants that have died since the last call; at the first, all dead ones."""
        try:
            files = os.listdir(self._lock_dir)
        except OSError:
            return []
        names = {file.removesuffix(SUFFIX) for file in files if file.endswith(SUFFIX)}
        self._known &= names
        found = [
            name
            for name in sorted(names - self._known)
            if is_claimant_name(name) and is_dead(self._lock_dir, name)
        ]
        self._known.update(found)
        return found

    def forget(self) -> None:
        """Report all dead claimants again: what the store said of them was not heard."""
        self._known.clear()
