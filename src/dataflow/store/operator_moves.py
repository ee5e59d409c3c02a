"""An operator's moves: resubmit, hold, release, mark, cancel, purge; each journalled with who and why."""

from __future__ import annotations

import json

from dataflow import errors
from dataflow.model.record import record, replace
from dataflow.model.records import Publication
from dataflow.model.status import WorkState
from dataflow.store import chunks
from dataflow.store.consumers import do_again, to_work
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from dataflow.model.records import Plan, PlanOutput
    from dataflow.store.database import Transaction

    Pair = tuple[str, str]


def once(tx: Transaction, token: str, action: str, verb: Callable[[], Any]) -> Any:
    """Run a verb once per token: a repeat returns the first answer and changes nothing."""
    if not tx.run("operate.begin_token", token=token, action=action):
        kept = tx.find("operate.find_token", token=token)
        assert kept is not None
        return json.loads(kept[0])
    answer = verb()
    tx.run("operate.keep_token", token=token, answer=json.dumps(answer))
    return answer


@record
class Mover:
    """The actor of a move and the reason."""

    actor: str
    why: str

    def reason(self, what: str) -> str:
        """The move in words, such as `cancelled by eve@etl1: wrong file`."""
        return f"{what} by {self.actor}" + (f": {self.why}" if self.why else "")


def resubmit(tx: Transaction, plan: Plan, pairs: Sequence[Pair], mover: Mover) -> int:
    """Resubmit work; change nothing if any of it is unknown or RUNNING."""
    named = list_named(tx, plan, pairs)
    running = [(dataid, run_id) for _, dataid, _, state, _, run_id in named if state == WorkState.RUNNING]
    if running:
        dataid, run_id = running[0]
        raise errors.Conflict(
            f"{plan.job.name}/{dataid} is RUNNING under run {run_id}; nothing was resubmitted. "
            f"Wait for it, or: dataflow cancel {run_id}"
        )
    calls = to_work(plan.job_id, [dataid for dataid, _ in pairs])
    states = do_again(tx, calls, mover.reason("resubmitted"), resubmitted=True)
    to_state = states[0] if len(states) == 1 else ""
    write_move(
        tx, JournalEntry("resubmit", mover.actor, plan.job.name, to_state=to_state, why=mover.why), named
    )
    return len(states)


def hold(tx: Transaction, plan: Plan, pairs: Sequence[Pair] | None, on: bool, mover: Mover) -> int:
    """Set or clear the flag that blocks claims, for the whole job (None) or some of its work."""
    entry = JournalEntry("hold" if on else "release", mover.actor, plan.job.name, why=mover.why)
    if pairs is None:
        count = tx.run("operate.hold_job", job_id=plan.job_id, hold=on)
        if count:
            write_journal(tx, entry)
        return count
    named = list_named(tx, plan, pairs)
    count = tx.run("operate.hold_work", job_id=plan.job_id, hold=on, **tx.batch(pairs))
    if count:
        write_move(tx, entry, named)
    return count


def cancel(tx: Transaction, run_id: int, mover: Mover) -> dict[str, Any]:
    """Revoke a run; its work is FAILED until it is resubmitted."""
    reason = mover.reason("cancelled")
    work_id, job, dataid, host = _revoke(tx, run_id, WorkState.FAILED, reason)
    write_journal(
        tx,
        JournalEntry(
            "cancel",
            mover.actor,
            job,
            dataid=dataid,
            run_id=run_id,
            from_state=WorkState.RUNNING,
            to_state=WorkState.FAILED,
            why=reason,
        ),
    )
    from dataflow.store import incidents  # start-up: no run needs it

    incidents.follow(tx, incidents.Settled(job, work_id, dataid, WorkState.FAILED, reason))
    return {"run_id": run_id, "job": job, "dataid": dataid, "host": host}


def _revoke(tx: Transaction, run_id: int, state: WorkState, reason: str) -> tuple[int, str, str, str]:
    """Revoke a run and set its work's state; return the work, job, dataid and the run's host."""
    row = tx.find("operate.revoke_run", run_id=run_id, reason=reason)
    if row is None:
        found = tx.find("finish.find_run", run_id=run_id)
        if found is None:
            raise errors.UnknownName(f"No run {run_id}. List: dataflow runs")
        raise errors.Conflict(f"Run {run_id} has already ended as {found[1]}. See: dataflow runs")
    work_id, job, dataid, host = row
    tx.run("operate.revoke_work", work_id=work_id, run_id=run_id, state=state.value, reason=reason)
    return work_id, job, dataid, host


def acknowledge(tx: Transaction, run_id: int, claimant: str) -> None:
    """Record that the processes of a revoked run have ended."""
    row = tx.find("operate.acknowledge", run_id=run_id, claimant=claimant)
    if row is not None:
        tx.run("operate.acknowledge_work", work_id=row[0], run_id=run_id)
        tx.run("worker.wake")  # there is no line in the journal


def mark(tx: Transaction, plan: Plan, pair: Pair, state: WorkState, mover: Mover) -> str:
    """Set the state of work manually; return the previous state.

    DONE publishes its outputs as they are, INVALID withdraws them, FAILED leaves them. A run loses its work.
    Outputs that a run may still be writing cannot be marked DONE.
    """
    work_id, dataid, _, found, _, run_id = list_named(tx, plan, [pair])[0]
    reason = mover.reason(f"marked {state}")
    if state is WorkState.DONE:
        share_a_place = any(output.dataset.is_overwritten for output in plan.outputs)
        chunks.refuse_beside_writer(tx, plan.job_id, plan.job.name, None if share_a_place else [dataid])
    if found == WorkState.RUNNING:
        _revoke(tx, run_id, state, reason)
    else:
        tx.run("operate.mark", work_id=work_id, from_state=found, state=state.value, reason=reason)
    for output in plan.outputs:
        if state is WorkState.DONE:
            tx.lock("publish.lock_datasets", dataset_ids=[output.dataset_id])
            chunks.publish(tx, output, dataid, _as_it_is(tx, plan, output, (dataid, found, run_id)))
        elif state is WorkState.INVALID:
            chunks.withdraw(tx, output.dataset_id, [pair])
    revoked = run_id if found == WorkState.RUNNING else None
    write_journal(
        tx,
        JournalEntry(
            "mark",
            mover.actor,
            plan.job.name,
            dataid=dataid,
            run_id=revoked,
            from_state=found,
            to_state=state,
            why=reason,
        ),
    )
    from dataflow.store import incidents  # start-up: no run needs it

    incidents.follow(tx, incidents.Settled(plan.job.name, work_id, dataid, state, reason))
    return str(found)


def _as_it_is(tx: Transaction, plan: Plan, output: PlanOutput, work: tuple[str, str, int]) -> chunks.Version:
    """Return the published version of an output, to publish it again; Conflict if the last run's is lost.

    Only publishing records the location that a run staged to: after a run whose
    check failed, it would be the location of an earlier run's output.
    """
    dataid, state, run_id = work
    chunk = tx.find("publish.find_chunk", dataset_id=output.dataset_id, dataid=dataid)
    location, made_by = (chunk[3], chunk[4]) if chunk else ("", None)
    if output.dataset.staged and state == WorkState.INVALID and made_by != run_id:
        raise errors.Conflict(
            f"{plan.job.name}/{dataid} is INVALID, and where run {run_id} wrote {output.dataset.name} "
            "is not recorded: only published chunks keep their location. Nothing was changed. To "
            f"produce it again: dataflow resubmit {plan.job.name} {dataid}"
        )
    return chunks.Version(Publication(output.dataset.name, location=location), made_by)


def purge_runs(tx: Transaction, before: str, after: int, most: int) -> tuple[int, int | None]:
    """Delete old runs in the next batch; return how many, and where to continue (None at the end)."""
    last = _last_of(tx, "operate.next_runs", after, most)
    if last is None:
        return 0, None
    from dataflow.store.run_tally import tally_before_purge  # start-up: no run needs it

    tally_before_purge(tx, last, before)
    runs = tx.run("operate.purge_runs", before=before, after=after, last=last)
    if runs:
        tx.run("operate.purge_pins", after=after, last=last)
    return runs, last


def purge_journal(tx: Transaction, before: str, after: int, most: int) -> tuple[int, int | None]:
    """Delete old lines in the next batch; return how many, and where to continue (None at the end)."""
    last = _last_of(tx, "operate.next_lines", after, most)
    if last is None:
        return 0, None
    return tx.run("operate.purge_journal", before=before, after=after, last=last), last


def purge_rest(tx: Transaction, before: str) -> None:
    """Delete old tokens of verbs, and incidents closed before that time with their notifications."""
    for query in ("watch.purge_deliveries", "watch.purge_notifications", "watch.purge_incidents"):
        tx.run(query, before=before)
    tx.run("operate.purge_tokens", before=before)


def _last_of(tx: Transaction, query: str, after: int, most: int) -> int | None:
    row = tx.find(query, after=after, most=most)
    return int(row[0]) if row and row[0] is not None else None


def list_named(tx: Transaction, plan: Plan, pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    """Return work with its state, locked; UnknownName if some of it does not exist."""
    rows = tx.rows("operate.list_named", job_id=plan.job_id, **tx.batch(pairs))
    if len(rows) < len(pairs):
        known = {row[1] for row in rows}
        missing = next(dataid for dataid, _ in pairs if dataid not in known)
        raise errors.UnknownName(
            f"Job {plan.job.name} has no work {missing}; nothing was changed. "
            f"See: dataflow why {plan.job.name} {missing}"
        )
    return rows


def write_move(tx: Transaction, entry: JournalEntry, named: Sequence[tuple[Any, ...]]) -> None:
    """Write one line for the move: of one work, or with the number of works."""
    if len(named) == 1:
        _, dataid, _, state, _, _ = named[0]
        write_journal(tx, replace(entry, dataid=dataid, from_state=state))
    else:
        write_journal(tx, replace(entry, items=len(named)))
