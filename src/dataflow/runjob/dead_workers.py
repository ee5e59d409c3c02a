"""Workers of this machine that have died, as their locks show."""

from __future__ import annotations

from dataflow.runjob.lock import is_claimant_name, is_dead
from dataflow.store.leases import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.config.settings import Config
    from dataflow.model.worker_rows import WorkerRow


def is_dead_here(config: Config, row: WorkerRow) -> bool:
    """Return whether a worker ran on this machine and its lock shows that it is gone."""
    is_here = (row.host, row.boot_id) == (config.host, boot_id())
    return is_here and is_claimant_name(row.name) and is_dead(config.lock_dir, row.name)
