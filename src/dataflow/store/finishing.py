"""A run's one accepted outcome: publish all outputs, settle the work, wake the consumers, in one transaction."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.records import Publication
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store import publishing
from dataflow.store.journal import Entry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Ending, Plan
    from dataflow.store.database import Transaction


def finish(tx: Transaction, plan: Plan, ending: Ending, actor: str) -> WorkState:
    """Accepts the outcome and gives the work's new state; LeaseLost if the run no longer owns its work."""
    run = ending.run
    done = ending.outcome is RunOutcome.DONE
    if done or ending.untouched:
        tx.lock("publish.lock_datasets", dataset_ids=sorted(output.dataset_id for output in plan.outputs))
    if done:
        tx.lock("finish.lock_inputs", run_id=run.run_id)
    _end_run(tx, ending)
    stale = done and _moved_pins(tx, run.run_id)
    state = _settle(tx, plan, ending, stale)
    if done:
        _publish(tx, plan, ending, stale)
    elif ending.untouched:
        publishing.make_clean(tx, run.run_id)
    entry = Entry(
        action="finish",
        actor=actor,
        job=run.job,
        dataid=run.dataid,
        run_id=run.run_id,
        from_state=WorkState.RUNNING,
        to_state=state,
        why=ending.reason or ending.outcome,
    )
    write_journal(tx, entry)
    return state


def find_finished(tx: Transaction, ending: Ending) -> bool:
    """True when an earlier, unanswered call has already recorded this outcome."""
    row = tx.find("finish.find_run", run_id=ending.run.run_id)
    return row is not None and row[0] == ending.run.claimant and row[1] == ending.outcome


def _end_run(tx: Transaction, ending: Ending) -> None:
    run = ending.run
    row = tx.find(
        "finish.end_run",
        run_id=run.run_id,
        claimant=run.claimant,
        outcome=ending.outcome.value,
        exit_code=ending.exit_code,
        reason=ending.reason,
        answers=ending.answers,
    )
    if row is None:
        raise lease_lost(tx, run.run_id, f"{run.job}/{run.dataid}")


def lease_lost(tx: Transaction, run_id: int, work: str) -> errors.LeaseLost:
    """Says why a run may not finish."""
    row = tx.find("finish.find_run", run_id=run_id)
    if row is None:
        found = "is not in this store any more"
    elif row[1] != RunOutcome.RUNNING:
        found = f"has ended as {row[1]}" + (f" ({row[2]})" if row[2] else "")
    else:
        found = "let its lease lapse"
    return errors.LeaseLost(
        f"Run {run_id} of {work} {found}; what it did was not accepted. See: dataflow journal --run {run_id}"
    )


def _moved_pins(tx: Transaction, run_id: int) -> bool:
    row = tx.find("finish.count_moved_pins", run_id=run_id)
    return bool(row and row[0])


def _settle(tx: Transaction, plan: Plan, ending: Ending, stale: bool) -> WorkState:
    where = {"work_id": ending.run.work_id, "run_id": ending.run.run_id}
    outcome = ending.outcome
    if outcome is RunOutcome.DONE:
        row = tx.find("finish.work_done", stale=stale, **where)
    elif outcome is RunOutcome.FAILED and not ending.final:
        row = tx.find(
            "finish.work_failed",
            reason=ending.reason,
            retries=plan.job.retries,
            retry_delay_seconds=plan.job.retry_delay_seconds,
            **where,
        )
    elif outcome in (RunOutcome.FAILED, RunOutcome.INVALID):
        row = tx.find("finish.work_ended", state=outcome.value, reason=ending.reason, **where)
    else:
        row = tx.find(
            "finish.work_returned", reason=ending.reason, delay_seconds=ending.delay_seconds, **where
        )
    if row is None:
        # Not LeaseLost: that one lets the transaction go on, and the run has been ended in it.
        raise errors.Conflict(
            f"Run {ending.run.run_id} is live, but {ending.run.job}/{ending.run.dataid} is not its work. "
            "Nothing was changed. See: dataflow doctor"
        )
    return WorkState(row[0])


def _publish(tx: Transaction, plan: Plan, ending: Ending, stale: bool) -> None:
    given = {publication.dataset: publication for publication in ending.publications}
    for output in plan.outputs:
        name = output.dataset.name
        pair = (ending.run.dataid, sort_key(ending.run.dataid, Grain(output.dataset.grain)))
        publication = given.get(name) or Publication(name)
        publishing.publish(tx, output.dataset_id, pair, publication, ending.run.run_id, stale)
