"""What a server serves: one project of this machine, its store and its secrets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from dataflow.model.record import record
from dataflow.runjob.lock import is_claimant_name, is_dead

if TYPE_CHECKING:
    from dataflow.config.settings import Config
    from dataflow.secrets.known import KnownSecrets
    from dataflow.store.store import Store


@record
class Project:
    """A project, as the command that starts the server has opened it."""

    config: Config
    environ: Mapping[str, str]
    version: str
    store: Store  # the pool opens others like it
    passphrase: Callable[[], str]
    secrets: KnownSecrets

    _hidden = ("environ", "secrets")

    def is_gone(self, claimant: str) -> bool:
        """Return whether the process of a claimant is known to be dead, on this machine."""
        return is_claimant_name(claimant) and is_dead(self.config.lock_dir, claimant)
