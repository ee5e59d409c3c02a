"""Leases of runs: renewed while their process lives, taken back when it is seen to be dead."""

from __future__ import annotations

from dataflow.model.record import names_of, record
from dataflow.model.records import LapsedRun
from dataflow.model.status import WorkState
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dataflow.model.records import ClaimRequest, Plan
    from dataflow.store.database import Transaction

MAX_LOSSES = 10
"""A work whose run dies this often in a row is FAILED: it may be what kills them."""
LOSS_DELAY_SECONDS = 5.0
FEW_RUNS = 100
"""Runs that lost their work which are listed whether they still do something or not."""


@record
class Taken:
    """Which runs may have left something behind: earlier ones of a work, or `alone` of its whole job."""

    run_id: int
    job_id: int
    work_id: int
    host: str
    boot_id: str
    alone: bool


def free_lapsed(tx: Transaction, plan: Plan, request: ClaimRequest) -> tuple[LapsedRun, ...]:
    """Takes work back from runs that are seen to be dead, and gives them."""
    for run_id in request.killed:
        if (revoked := tx.find("claim.end_revoked", run_id=run_id)) is not None:
            tx.run("operate.acknowledge_work", work_id=revoked[0], run_id=run_id)
    names = tx.names(request.dead)
    rows = tx.rows("claim.list_lapsed", job_id=plan.job_id, any_kind=False, **tx.ids(request.killed), **names)
    freed = []
    for lapsed in [_lapsed_from_row(row) for row in rows]:
        reason = f"run {lapsed.run_id} on {lapsed.host} died or lost its lease"
        if tx.find("claim.free_run", run_id=lapsed.run_id, reason=reason, **names) is None:
            continue
        state = free_work(tx, lapsed.work_id, lapsed.run_id, reason)
        if state is None:
            continue
        entry = JournalEntry(
            action="free",
            actor=request.claimant.user + "@" + request.claimant.host,
            job=plan.job.name,
            dataid=lapsed.dataid,
            run_id=lapsed.run_id,
            from_state=WorkState.RUNNING,
            to_state=state[0],
            why=reason,
        )
        write_journal(tx, entry)
        freed.append(lapsed)
    return tuple(freed)


def free_work(tx: Transaction, work_id: int, run_id: int, reason: str) -> tuple[Any, ...] | None:
    """Gives the work of a lost run back, later and later when it is lost again; its new state, if any."""
    limits = {"max_losses": MAX_LOSSES, "delay_seconds": LOSS_DELAY_SECONDS}
    return tx.find("claim.free_work", work_id=work_id, run_id=run_id, reason=reason, **limits)


def list_lapsed(tx: Transaction, job_id: int, dead: Sequence[str]) -> list[LapsedRun]:
    """Runs of a job that the next claim would free, and revoked ones whose work may have outlived them."""
    names = tx.names(dead)
    rows = tx.rows("claim.list_lapsed", job_id=job_id, any_kind=True, **tx.ids([]), **names)
    rows += tx.rows("claim.list_revoked", job_id=job_id, **names)
    return [_lapsed_from_row(row) for row in rows]


def list_taken(tx: Transaction, taken: Taken, working: Callable[[], set[int]]) -> list[tuple[int, str]]:
    """Earlier runs that lost their work, with their claimants; of many only those that are `working`."""
    where: dict[str, Any] = {name: getattr(taken, name) for name in names_of(taken)}
    query = "claim.taken_from_job" if where.pop("alone") else "claim.taken_from_work"
    found = tx.rows(query, most=FEW_RUNS + 1, **where)
    if len(found) > FEW_RUNS:
        ids = tx.ids(sorted(working()))
        found = tx.rows("claim.taken_among", alone=taken.alone, **where, **ids)
    return [(run_id, claimant) for run_id, claimant in found]


def list_claimants(tx: Transaction, job_id: int, machine: tuple[str, str], claimant: str) -> list[str]:
    """Return the other claimants that hold runs of a job on one boot of one host."""
    host, boot_id = machine
    where = {"job_id": job_id, "host": host, "boot_id": boot_id, "claimant": claimant}
    return [row[0] for row in tx.rows("claim.list_claimants", **where)]


def holds_runs(tx: Transaction, claimant: str) -> bool:
    """Return whether a claimant still holds runs of any job."""
    return tx.find("claim.held_by", claimant=claimant) is not None


def renew(tx: Transaction, claimant: str, run_ids: Sequence[int]) -> set[int]:
    """Renews the leases of a process's runs in one statement and gives those it still holds."""
    return {row[0] for row in tx.rows("claim.renew", claimant=claimant, **tx.ids(run_ids))}


def still_held(tx: Transaction, claimant: str, run_ids: Sequence[int]) -> set[int]:
    """Which of a process's runs nobody has taken away; changes nothing."""
    return {row[0] for row in tx.rows("claim.still_held", claimant=claimant, **tx.ids(run_ids))}


def _lapsed_from_row(row: tuple[Any, ...]) -> LapsedRun:
    run_id, work_id, dataid, host, claimant, has_kill_command = row
    return LapsedRun(run_id, work_id, dataid, host, claimant, bool(has_kill_command))


def boot_id() -> str:
    """Return the id of this machine's current boot; whatever was claimed before it is dead."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as source:
            return source.read().strip()
    except OSError:
        return "unknown"
