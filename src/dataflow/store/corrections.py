"""What an operator decides about published data: a stale result is kept, or data was found to be wrong."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.status import FINAL, WorkState
from dataflow.store import consumers, staleness
from dataflow.store.consumers import ChunkChange, do_again, to_work
from dataflow.store.journal import JournalEntry, write_journal
from dataflow.store.operator_moves import list_named, write_move

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dataflow.model.records import Plan
    from dataflow.store.database import Row, Transaction
    from dataflow.store.operator_moves import Mover

    Pair = tuple[str, str]


def accept(tx: Transaction, plan: Plan, pairs: Sequence[Pair], mover: Mover) -> int:
    """Keep stale results as they are: they are current again; return of how much work.

    Refused, with nothing changed, if any work is unknown or RUNNING, if its result cannot be read, or if an
    input of it is itself stale.
    """
    _lock_inputs(tx, plan, pairs)
    named = list_named(tx, plan, pairs)
    stale = [row for row in _results(tx, plan, pairs) if row[3]]
    dataids = list(dict.fromkeys([row[1] for row in stale]))
    moved = [row for row in named if row[1] in dataids]
    _refuse_running(plan, moved)
    _refuse_unreadable(plan, stale)
    _refuse_stale_inputs(tx, plan, stale)
    if not stale:
        return 0
    calls = to_work(plan.job_id, dataids)
    _make_current(tx, [row[0] for row in stale])
    tx.run("change.settle", reason=mover.reason("accepted"), **tx.calls(calls))
    entry = JournalEntry("accept", mover.actor, plan.job.name, to_state=WorkState.DONE, why=mover.why)
    write_move(tx, entry, moved)
    return len(dataids)


def _lock_inputs(tx: Transaction, plan: Plan, pairs: Sequence[Pair]) -> None:
    """Lock what the results were made from: inputs before work, as everywhere."""
    run_ids = sorted({row[6] for row in _results(tx, plan, pairs) if row[6]})
    tx.lock("change.lock_pins", **tx.ids(run_ids))


def _results(tx: Transaction, plan: Plan, pairs: Sequence[Pair]) -> list[Row]:
    return tx.rows("change.results", job_id=plan.job_id, **tx.batch(pairs))


def _refuse_running(plan: Plan, named: Iterable[Row]) -> None:
    for _, dataid, _, state, _, run_id in named:
        if state == WorkState.RUNNING:
            raise errors.Conflict(
                f"{plan.job.name}/{dataid} is RUNNING under run {run_id}, which makes a new result; nothing "
                f"was changed. Wait for it, or: dataflow cancel {run_id}"
            )


def _refuse_unreadable(plan: Plan, stale: Iterable[Row]) -> None:
    for _, dataid, dataset, _, withdrawn, dirty_run_id, _ in stale:
        if withdrawn or dirty_run_id:
            found = "was withdrawn" if withdrawn else f"was left partly overwritten by run {dirty_run_id}"
            raise errors.Conflict(
                f"{dataset}/{dataid} {found}, so there is no result to keep; nothing was changed. To make it "
                f"again: dataflow resubmit {plan.job.name} {dataid}"
            )


def _refuse_stale_inputs(tx: Transaction, plan: Plan, stale: Sequence[Row]) -> None:
    dataids = {row[6]: row[1] for row in stale if row[6]}
    for run_id, dataset, dataid, job in tx.rows("change.stale_pins", **tx.ids(sorted(dataids))):
        first = f" First: dataflow accept {job} {dataid}, or dataflow resubmit {job} {dataid}" if job else ""
        raise errors.Conflict(
            f"{plan.job.name}/{dataids[run_id]} was made from {dataset}/{dataid}, which is STALE itself; "
            f"nothing was changed.{first}"
        )


def _make_current(tx: Transaction, chunk_ids: Sequence[int]) -> None:
    """Make results current, and those that were stale only because of them."""
    followers: list[Row] = []
    while chunk_ids:
        rows = tx.rows("change.make_current", **tx.ids(chunk_ids))
        gained: dict[int, list[Pair]] = {}
        for _, dataset_id, dataid, key, is_ready in rows:
            if is_ready:
                gained.setdefault(dataset_id, []).append((dataid, key))
        if gained:
            consumers.move_inputs(tx, {key: ChunkChange(gained=pairs) for key, pairs in gained.items()})
        if followers:
            # After their inputs have arrived, which made them claimable.
            calls = [call for _, dataid, job_id in followers for call in to_work(job_id, [dataid])]
            tx.run("change.settle_followers", **tx.calls(calls))
        followers = tx.rows("change.current_again", **tx.ids([row[0] for row in rows])) if rows else []
        chunk_ids = [row[0] for row in followers]


def invalidate(
    tx: Transaction, dataset: tuple[int, str], plan: Plan | None, pairs: Sequence[Pair], mover: Mover
) -> int:
    """Withdraw chunks that were found to be wrong, have them produced again, and all that was made from them.

    `plan` is the job that produces them, None if they come from outside. Return how many chunks changed.
    """
    dataset_id, name = dataset
    tx.lock("publish.lock_datasets", dataset_ids=[dataset_id])
    works: list[Row] = []
    if plan is not None:
        works = tx.rows("change.work_of", job_id=plan.job_id, **tx.batch(pairs))
        _refuse_writing(plan, name, works)
    rows = tx.rows("publish.withdraw", dataset_id=dataset_id, **tx.batch(pairs))
    ids = [row[0] for row in tx.rows("change.chunk_ids", dataset_id=dataset_id, **tx.batch(pairs))]
    tx.run("change.make_wrong", **tx.ids(ids))
    withdrawn = {dataid for dataid, _ in rows}
    were_ready = {dataid for dataid, was_ready in rows if was_ready}
    lost = [pair for pair in pairs if pair[0] in were_ready]
    consumers.chunks_changed(tx, dataset_id, ChunkChange(lost=lost, wrong=pairs))
    staleness.redo_readers(tx, ids)
    again = [dataid for dataid, state, _ in works if dataid in withdrawn or state in FINAL]
    if plan is not None and again:
        do_again(tx, to_work(plan.job_id, again), mover.reason("invalidated"), resubmitted=True)
    changed = withdrawn | set(again)
    if changed:
        entry = JournalEntry("invalidate", mover.actor, plan.job.name if plan else "", name, why=mover.why)
        dataid = pairs[0][0] if len(pairs) == 1 else ""
        write_journal(tx, replace(entry, dataid=dataid, items=len(changed)))
    return len(changed)


def _refuse_writing(plan: Plan, dataset: str, works: Iterable[Row]) -> None:
    for dataid, state, run_id in works:
        if state == WorkState.RUNNING:
            raise errors.Conflict(
                f"{dataset}/{dataid} is being produced by run {run_id} of {plan.job.name} and was not "
                f"invalidated. Wait for it, or: dataflow cancel {run_id}. Then repeat the command."
            )
