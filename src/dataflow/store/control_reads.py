"""Reads of what controls jobs: the pause of everything, the pools and who uses them, and crashes."""

from __future__ import annotations

from dataflow.model.record import record
from dataflow.store import leases
from dataflow.store.reads import Reads, first_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.store.leases import Crash


@record
class PauseRow:
    """The pause of everything: who, why and since when."""

    actor: str
    why: str
    at: str


@record
class PoolRow:
    """A pool and its size."""

    pool: str
    size: int


@record
class PoolUse:
    """A run in a pool that may be at work."""

    job: str
    run_id: int


class ControlReads(Reads):
    """Reads of what controls jobs."""

    def find_pause(self) -> PauseRow | None:
        """Return the pause of everything, or None."""
        return self._find_one(PauseRow, "control.find_pause")

    def list_pools(self) -> list[PoolRow]:
        """Return all pools, by name."""
        return self._list(PoolRow, "control.list_pools")

    def find_pool_size(self, pool: str) -> int | None:
        """Return the size of a pool, or None if there is none."""
        found = first_of(self._find("control.pool_size", pool=pool))
        return None if found is None else int(found)

    def list_pool_uses(self, pool: str) -> list[PoolUse]:
        """Return the runs of a pool that may be at work, oldest first."""
        return self._list(PoolUse, "control.pool_uses", pool=pool)

    def list_pool_jobs(self, pool: str) -> list[str]:
        """Return the jobs in a pool, by name."""
        return [row[0] for row in self._rows("control.pool_jobs", pool=pool)]

    def list_crashes(self, work_id: int, dataid: str, most: int) -> list[Crash]:
        """Return the last of a work's runs that died, oldest first."""
        return self._read(lambda tx: leases.list_crashes(tx, work_id, dataid, most))

    def count_quarantined(self, job_id: int) -> int:
        """Count a job's work that is quarantined."""
        return int(self._get("control.quarantined", job_id=job_id))
