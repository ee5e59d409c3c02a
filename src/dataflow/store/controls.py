"""Control while jobs run: pausing everything, the limit of one job, and pools that jobs share."""

from __future__ import annotations

from dataflow import errors
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dataflow.model.records import Plan
    from dataflow.store.database import Transaction

    Verb = Callable[[Transaction], Any]


class Controls:
    """The verbs of control; each is one transaction and journalled. None of them ends a run."""

    def __init__(
        self,
        actor: str,
        once: Callable[[str, Verb], Any],
        register: Callable[[Verb], Any],
        await_claims: Callable[[], None],
    ) -> None:
        self._actor = actor
        self._once = once
        self._register = register
        self._await_claims = await_claims

    def pause(self, why: str) -> int:
        """Block the claims of all jobs; return 0 if they were blocked. No run starts once it has returned."""

        def verb(tx: Transaction) -> int:
            count = tx.run("control.pause", actor=self._actor, why=why)
            if count:
                write_journal(tx, JournalEntry("pause", self._actor, why=why))
            return count

        count = int(self._once("pause", verb))
        self._await_claims()
        return count

    def resume(self, why: str) -> int:
        """End the pause of all jobs; return 0 if there was none."""

        def verb(tx: Transaction) -> int:
            count = tx.run("control.resume")
            if count:
                write_journal(tx, JournalEntry("resume", self._actor, why=why))
            return count

        return int(self._once("resume", verb))

    def scale(self, plan: Plan, max_running: int, why: str) -> int:
        """Set how many runs of a job may be at work; return how many might before.

        No run above the limit starts once it has returned.
        """

        def verb(tx: Transaction) -> int:
            row = tx.find("control.find_max_running", job_id=plan.job_id)
            if row is None:
                raise errors.UnknownName(f"Job {plan.job.name} was removed. List: dataflow job list")
            before = int(row[0])
            if before != max_running:
                tx.run("control.scale", job_id=plan.job_id, max_running=max_running)
                reason = f"max_running: {before} → {max_running}" + (f"; {why}" if why else "")
                write_journal(tx, JournalEntry("scale", self._actor, plan.job.name, why=reason))
            return before

        before = int(self._once("scale", verb))
        self._await_claims()
        return before

    def set_pool(self, name: str, size: int, why: str = "") -> int:
        """Create a pool or change its size; return its size before, 0 if it is new."""

        def verb(tx: Transaction) -> int:
            row = tx.find("control.find_pool", pool=name)
            before = int(row[0]) if row else 0
            if before != size:
                tx.run("control.set_pool", pool=name, size=size)
                moved = (f"{before} → {size}" if before else str(size)) + (f": {why}" if why else "")
                write_journal(tx, JournalEntry("pool set", self._actor, why=f"pool {name}: {moved}"))
            return before

        return int(self._register(verb))

    def remove_pool(self, name: str) -> bool:
        """Remove a pool; return False if there is none. Conflict if a job uses it."""

        def verb(tx: Transaction) -> bool:
            users = [row[0] for row in tx.rows("control.pool_jobs", pool=name)]
            if users:
                raise errors.Conflict(
                    f"Pool {name} is used by {', '.join(users)}; nothing was changed. Take these jobs out "
                    f"first: dataflow job add {users[0]} --pool ''"
                )
            count = tx.run("control.remove_pool", pool=name)
            if count:
                write_journal(tx, JournalEntry("pool remove", self._actor, why=f"pool {name}"))
            return bool(count)

        return bool(self._register(verb))


def find_missing_pool(tx: Transaction, names: Sequence[str]) -> str:
    """Return the first of these pools that does not exist; "" if all do."""
    known = {row[0] for row in tx.rows("control.pools_named", **tx.names(names))}
    return next((name for name in names if name not in known), "")


def list_pool_names(tx: Transaction) -> list[str]:
    """Return the names of all pools."""
    return [row[0] for row in tx.rows("control.list_pools")]
