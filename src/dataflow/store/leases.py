"""Leases of runs: renewed while their process lives, taken back when it is known to be dead."""

from __future__ import annotations

from dataflow.model.record import names_of, record
from dataflow.model.records import LapsedRun
from dataflow.model.status import WorkState
from dataflow.model.wording import counted, plural
from dataflow.store.journal import JournalEntry, write_journal
from dataflow.store.reads import record_from

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dataflow.model.records import ClaimRequest, Plan
    from dataflow.store.database import Transaction

LOSS_DELAY_SECONDS = 5.0
SHOWN_CRASHES = 10
"""How many of the runs that died the reason of a quarantine names."""
FEW_RUNS = 100
"""Up to this many runs that lost their work are listed without checking whether they still run."""


@record
class Lost:
    """A run that died or lost its lease, its work, and how that is known."""

    run_id: int
    work_id: int
    dataid: str
    reason: str


@record
class Crash:
    """A run that died, where and when."""

    run_id: int
    host: str
    ended_at: str


@record
class Taken:
    """Which runs may have left processes behind: of the same work, or of the whole job if `alone`."""

    run_id: int
    job_id: int
    work_id: int
    host: str
    boot_id: str
    alone: bool


def free_lapsed(tx: Transaction, plan: Plan, request: ClaimRequest) -> None:
    """Take work back from dead runs."""
    for run_id in request.killed:
        if (revoked := tx.find("claim.end_revoked", run_id=run_id)) is not None:
            tx.run("operate.acknowledge_work", work_id=revoked[0], run_id=run_id)
    names = tx.names(request.dead)
    rows = tx.rows("claim.list_lapsed", job_id=plan.job_id, any_kind=False, **tx.ids(request.killed), **names)
    for lapsed in [record_from(LapsedRun, row) for row in rows]:
        reason = f"run {lapsed.run_id} on {lapsed.host} died or lost its lease"
        if tx.find("claim.free_run", run_id=lapsed.run_id, reason=reason, **names) is None:
            continue
        lost = Lost(lapsed.run_id, lapsed.work_id, lapsed.dataid, reason)
        freed = free_work(tx, lost, plan.job.max_crashes)
        if freed is None:
            continue
        state, reason = freed
        write_journal(
            tx,
            JournalEntry(
                "free",
                request.claimant.actor,
                plan.job.name,
                dataid=lapsed.dataid,
                run_id=lapsed.run_id,
                from_state=WorkState.RUNNING,
                to_state=state,
                why=reason,
            ),
        )
        if state == WorkState.FAILED:
            from dataflow.store import incidents  # start-up: rare

            work = (plan.job.name, lapsed.work_id, lapsed.dataid)
            incidents.follow(tx, incidents.Settled(*work, WorkState.FAILED, reason, died=True))


def describe_ending(host: str, has_kill_command: bool, left_seconds: float) -> tuple[str, str]:
    """Return why a revoked run is in the way, as the end of a sentence, and what to do about it."""
    if has_kill_command:
        ending = "was cancelled, and what it started outside its process may still be running"
        return ending, "Stop it first: RunJob --kill-command COMMAND SCRIPT"
    wait = f"Wait {int(left_seconds) + 1} s and run the same command again."
    return f"was cancelled and may still be ending on {host}", wait


def shorten(tx: Transaction, job_id: int) -> None:
    """Shorten leases and waits that end later than they can, because the store's clock was set back."""
    tx.run("claim.shorten_leases", job_id=job_id)
    tx.run("claim.shorten_waits", job_id=job_id)


def free_work(tx: Transaction, lost: Lost, max_crashes: int) -> tuple[str, str] | None:
    """Return a lost run's work to the queue, with a longer delay each time; return its new state and why.

    Work that has lost this many runs is quarantined: it may be what kills them.
    """
    where: dict[str, Any] = {"work_id": lost.work_id, "run_id": lost.run_id}
    limits = {"max_crashes": max_crashes, "delay_seconds": LOSS_DELAY_SECONDS}
    row = tx.find("claim.free_work", reason=lost.reason, **where, **limits)
    if row is None:
        return None
    state, losses = row
    return state, _quarantine(tx, lost, losses) if state == WorkState.FAILED else lost.reason


def suspect_losses(max_crashes: int) -> int:
    """Return after how many lost runs work is not run beside other such work by one process."""
    return max(1, min(2, max_crashes - 1))


def _quarantine(tx: Transaction, lost: Lost, losses: int) -> str:
    """Say of work and of its last run which runs have died; return the words."""
    crashes = list_crashes(tx, lost.work_id, lost.dataid, losses)
    hosts: dict[str, list[str]] = {}
    for crash in crashes[-SHOWN_CRASHES:]:
        hosts.setdefault(crash.host, []).append(str(crash.run_id))
    named = "; ".join(
        [f"{plural(len(ids), 'run')} {', '.join(ids)} on {host}" for host, ids in hosts.items()]
    )
    earlier = f"; and {losses - SHOWN_CRASHES} earlier" if losses > SHOWN_CRASHES else ""
    words = f"quarantined after {counted(losses, 'crash', 'crashes')}: {named}{earlier}"
    tx.run("claim.explain_quarantine", work_id=lost.work_id, reason=words)
    tx.run("claim.explain_last_crash", run_id=lost.run_id, reason=f"{lost.reason}; {words}")
    return words


def list_crashes(tx: Transaction, work_id: int, dataid: str, most: int) -> list[Crash]:
    """Return the last of a work's runs that died, oldest first."""
    rows = tx.rows("claim.list_crashes", work_id=work_id, dataid=dataid, most=most)
    return [record_from(Crash, row) for row in rows]


def list_lapsed(tx: Transaction, job_id: int, dead: Sequence[str]) -> list[LapsedRun]:
    """Return runs that the next claim would free, and revoked runs whose work may outlive them."""
    names = tx.names(dead)
    rows = tx.rows("claim.list_lapsed", job_id=job_id, any_kind=True, **tx.ids([]), **names)
    rows += tx.rows("claim.list_revoked", job_id=job_id, **names)
    return [record_from(LapsedRun, row) for row in rows]


def list_taken(tx: Transaction, taken: Taken, working: Callable[[], set[int]]) -> list[tuple[int, str]]:
    """Return earlier runs that lost their work, with claimants; of many, only those `working`."""
    where: dict[str, Any] = {name: getattr(taken, name) for name in names_of(taken)}
    query = "claim.taken_from_job" if where.pop("alone") else "claim.taken_from_work"
    found = tx.rows(query, most=FEW_RUNS + 1, **where)
    if len(found) > FEW_RUNS:
        ids = tx.ids(sorted(working()))
        found = tx.rows("claim.taken_among", alone=taken.alone, **where, **ids)
    return [(run_id, claimant) for run_id, claimant in found]


def boot_id() -> str:
    """Return the id of this machine's current boot; whatever was claimed before it is dead."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as source:
            return source.read().strip()
    except OSError:
        return "unknown"
