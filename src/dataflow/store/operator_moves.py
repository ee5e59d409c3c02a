"""An operator's moves: resubmit, hold, release, mark, cancel, purge. Each is journalled with who and why."""

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
    """Runs a verb once per token: a repeat gets the first answer and changes nothing."""
    kept = tx.find("operate.find_token", token=token)
    if kept is not None:
        return json.loads(kept[0])
    answer = verb()
    tx.run("operate.keep_token", token=token, action=action, answer=json.dumps(answer))
    return answer


@record
class Mover:
    """Who makes a move, and why."""

    actor: str
    why: str

    def reason(self, what: str) -> str:
        """The move in words, such as `cancelled by eve@etl1: wrong file`."""
        return f"{what} by {self.actor}" + (f": {self.why}" if self.why else "")


def resubmit(tx: Transaction, plan: Plan, pairs: Sequence[Pair], mover: Mover) -> int:
    """Makes work be done again by the ordinary command; refuses, as a whole, what is unknown or RUNNING."""
    named = _named(tx, plan, pairs)
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
    _journal(
        tx, JournalEntry("resubmit", mover.actor, plan.job.name, to_state=to_state, why=mover.why), named
    )
    return len(states)


def hold(tx: Transaction, plan: Plan, pairs: Sequence[Pair] | None, on: bool, mover: Mover) -> int:
    """Sets or lifts the flag that blocks claims, on the whole job (None) or on some of its work."""
    entry = JournalEntry("hold" if on else "release", mover.actor, plan.job.name, why=mover.why)
    if pairs is None:
        count = tx.run("operate.hold_job", job_id=plan.job_id, hold=on)
        if count:
            write_journal(tx, entry)
        return count
    named = _named(tx, plan, pairs)
    count = tx.run("operate.hold_work", job_id=plan.job_id, hold=on, **tx.batch(pairs))
    if count:
        _journal(tx, entry, named)
    return count


def cancel(tx: Transaction, run_id: int, mover: Mover) -> dict[str, Any]:
    """Revokes a run; its work is FAILED until somebody resubmits it."""
    reason = mover.reason("cancelled")
    job, dataid, host = _revoke(tx, run_id, WorkState.FAILED, reason)
    states = (WorkState.RUNNING, WorkState.FAILED)
    write_journal(tx, JournalEntry("cancel", mover.actor, job, "", dataid, run_id, *states, why=reason))
    return {"run_id": run_id, "job": job, "dataid": dataid, "host": host}


def _revoke(tx: Transaction, run_id: int, state: WorkState, reason: str) -> tuple[str, str, str]:
    """Takes the work from a run, leaves it in another state, and gives job, dataid and the run's host."""
    row = tx.find("operate.revoke_run", run_id=run_id, reason=reason)
    if row is None:
        found = tx.find("finish.find_run", run_id=run_id)
        if found is None:
            raise errors.UnknownName(f"No run {run_id}. List: dataflow runs")
        raise errors.Conflict(f"Run {run_id} has already ended as {found[1]}. See: dataflow runs")
    work_id, job, dataid, host = row
    tx.run("operate.revoke_work", work_id=work_id, run_id=run_id, state=state.value, reason=reason)
    return job, dataid, host


def acknowledge(tx: Transaction, run_id: int, claimant: str) -> None:
    """A revoked run says that its children are dead."""
    row = tx.find("operate.acknowledge", run_id=run_id, claimant=claimant)
    if row is not None:
        tx.run("operate.acknowledge_work", work_id=row[0], run_id=run_id)


def mark(tx: Transaction, plan: Plan, pair: Pair, state: WorkState, mover: Mover) -> str:
    """Sets how a work stands by hand and gives the state it was in.

    DONE publishes its outputs as they are, INVALID withdraws them, FAILED leaves them. A run loses its work;
    but nobody can say that outputs are good which a run may still be writing.
    """
    work_id, dataid, _, found, _, run_id = _named(tx, plan, [pair])[0]
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
        tx, JournalEntry("mark", mover.actor, plan.job.name, "", dataid, revoked, found, state, 1, reason)
    )
    return str(found)


def _as_it_is(tx: Transaction, plan: Plan, output: PlanOutput, work: tuple[str, str, int]) -> chunks.Version:
    """What is published of an output, to be published again; refused where that is not what is meant.

    What a run staged stays where that run wrote it, and only publishing keeps the place: after a run whose
    check said no, it would be the place of what an earlier run made.
    """
    dataid, state, run_id = work
    chunk = tx.find("publish.find_chunk", dataset_id=output.dataset_id, dataid=dataid)
    location, made_by = (chunk[3], chunk[4]) if chunk else ("", None)
    if output.dataset.staged and state == WorkState.INVALID and made_by != run_id:
        raise errors.Conflict(
            f"{plan.job.name}/{dataid} is INVALID, and where run {run_id} wrote {output.dataset.name} is not "
            "kept: only what is published has its place kept. Nothing was changed. Have it made again: "
            f"dataflow resubmit {plan.job.name} {dataid}"
        )
    return chunks.Version(Publication(output.dataset.name, location=location), made_by)


def purge_runs(tx: Transaction, before: str, after: int, most: int) -> tuple[int, int | None]:
    """Deletes old runs among the next so many; gives how many went, and where to go on, None at the end."""
    last = _last_of(tx, "operate.next_runs", after, most)
    if last is None:
        return 0, None
    runs = tx.run("operate.purge_runs", before=before, after=after, last=last)
    if runs:
        tx.run("operate.purge_pins", after=after, last=last)
    return runs, last


def purge_journal(tx: Transaction, before: str, after: int, most: int) -> tuple[int, int | None]:
    """Deletes old lines among the next so many; gives how many went, and where to go on, None at the end."""
    last = _last_of(tx, "operate.next_lines", after, most)
    if last is None:
        return 0, None
    return tx.run("operate.purge_journal", before=before, after=after, last=last), last


def _last_of(tx: Transaction, query: str, after: int, most: int) -> int | None:
    row = tx.find(query, after=after, most=most)
    return int(row[0]) if row and row[0] is not None else None


def _named(tx: Transaction, plan: Plan, pairs: Sequence[Pair]) -> list[tuple[Any, ...]]:
    rows = tx.rows("operate.list_named", job_id=plan.job_id, **tx.batch(pairs))
    if len(rows) < len(pairs):
        known = {row[1] for row in rows}
        missing = next(dataid for dataid, _ in pairs if dataid not in known)
        raise errors.UnknownName(
            f"Job {plan.job.name} has no work {missing}; nothing was changed. "
            f"See: dataflow why {plan.job.name} {missing}"
        )
    return rows


def _journal(tx: Transaction, entry: JournalEntry, named: Sequence[tuple[Any, ...]]) -> None:
    """One line for the move: of the one work that is named, or of so many."""
    if len(named) == 1:
        _, dataid, _, state, _, _ = named[0]
        write_journal(tx, replace(entry, dataid=dataid, from_state=state))
    else:
        write_journal(tx, replace(entry, items=len(named)))
