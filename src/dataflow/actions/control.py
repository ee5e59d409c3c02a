"""Control while jobs run: pause and resume everything, scale a job, and pools that jobs share.

All of it is decided in the claim's transaction, so it holds for every process at once and ends no run.
"""

from __future__ import annotations

from dataflow.actions.dataset_rules import check_name
from dataflow.actions.names import unknown
from dataflow.errors import BadInput
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Plan
    from dataflow.store.control_reads import PoolUse
    from dataflow.store.store import Store

LARGEST = 2**31 - 1


@record
class PoolStatus:
    """A pool, its size, its jobs, and the runs that use it now."""

    pool: str
    size: int
    jobs: tuple[str, ...]
    uses: tuple[PoolUse, ...]


def pause_all(store: Store, why: str = "") -> bool:
    """Start no run of any job until it is resumed; return False if everything was paused already."""
    return bool(store.control.pause(why))


def resume_all(store: Store, why: str = "") -> bool:
    """End the pause of everything; return False if there was none."""
    return bool(store.control.resume(why))


def scale(store: Store, plan: Plan, max_running: int, why: str = "") -> int:
    """Set how many runs of a job may be at work (0: no limit); return how many might before. Ends none."""
    if not 0 <= max_running <= LARGEST:
        raise BadInput(
            f"Job {plan.job.name} cannot run {max_running} at a time; give a number from 0 (no limit) "
            f"to {LARGEST}. To start none: dataflow pause {plan.job.name}"
        )
    return store.control.scale(plan, max_running, why)


def set_pool(store: Store, name: str, size: int, why: str = "") -> int:
    """Create a pool or change its size; return its previous size, 0 if it is new. Running work continues."""
    check_name("pool", name)
    if not 1 <= size <= LARGEST:
        raise BadInput(
            f"Pool {name} cannot have size {size}; give a number from 1 to {LARGEST}. "
            "To start none of its jobs: dataflow pause JOB"
        )
    return store.control.set_pool(name, size, why)


def remove_pool(store: Store, name: str) -> None:
    """Remove a pool that no job uses; Conflict names the jobs that do."""
    check_name("pool", name)
    if not store.control.remove_pool(name):
        raise unknown("pool", name, [row.pool for row in store.read.list_pools()], store.database.url)


def list_pools(store: Store) -> list[PoolStatus]:
    """Return all pools, by name, with who uses them."""
    read = store.read
    return [
        PoolStatus(
            row.pool, row.size, tuple(read.list_pool_jobs(row.pool)), tuple(read.list_pool_uses(row.pool))
        )
        for row in read.list_pools()
    ]
