"""A run's one accepted outcome: outputs published, work settled, consumers woken, in one transaction."""

from __future__ import annotations

from dataflow import errors
from dataflow.model.record import replace
from dataflow.model.records import Publication
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store import chunks, leases
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.model.records import Ending, Plan
    from dataflow.store.database import Transaction

TRIED = frozenset({RunOutcome.DONE, RunOutcome.FAILED, RunOutcome.INVALID})
"""Outcomes after which a version of the inputs counts as tried."""
NOT_BY_THE_RUN = frozenset({RunOutcome.RUNNING, RunOutcome.CANCELLED, RunOutcome.LOST})


def finish(tx: Transaction, plan: Plan, ending: Ending, actor: str) -> WorkState:
    """Accept the outcome and return the work's new state; LeaseLost if the run no longer owns its work.

    A snapshot that would overwrite a newer one is not published: its run has FAILED permanently.
    """
    run = ending.run
    ending = replace(ending, reason=storable(ending.reason), answers=storable(ending.answers))
    if ending.outcome is RunOutcome.DONE or ending.untouched:
        _lock_outputs(tx, plan)
    if ending.outcome in TRIED:
        tx.lock("finish.lock_inputs", run_id=run.run_id)
    if ending.outcome is RunOutcome.DONE:
        # An unread input arrives under this lock: it is seen below, or finds the work done.
        tx.lock("finish.lock_work", work_id=run.work_id)
        if newer := chunks.list_newer_snapshots(tx, plan, run.dataid):
            ending = replace(ending, outcome=RunOutcome.FAILED, reason=newer[0], final=True)
    _end_run(tx, ending)
    outdated = ending.outcome in TRIED and _is_outdated(tx, ending)
    state, incident_id = _settle(tx, plan, ending, outdated)
    if ending.outcome is RunOutcome.DONE:
        _publish(tx, plan, ending, outdated)
    elif ending.untouched:
        chunks.make_clean(tx, run.run_id)
    write_journal(
        tx,
        JournalEntry(
            "finish",
            actor,
            run.job,
            dataid=run.dataid,
            run_id=run.run_id,
            from_state=WorkState.RUNNING,
            to_state=state,
            why=ending.reason or ending.outcome,
        ),
    )
    if incident_id is not None or state in (WorkState.FAILED, WorkState.INVALID):
        from dataflow.store import incidents  # start-up: a run that succeeds needs none

        died = ending.outcome is RunOutcome.LOST
        incidents.follow(tx, incidents.Settled(run.job, run.work_id, run.dataid, state, ending.reason, died))
    return state


def storable(text: str) -> str:
    """Return the text as both databases can store it: without NUL and without invalid bytes."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


def find_finished(tx: Transaction, ending: Ending) -> bool:
    """Return whether an earlier, unanswered call has already recorded this outcome."""
    row = tx.find("finish.find_run", run_id=ending.run.run_id)
    return row is not None and row[0] == ending.run.claimant and row[1] not in NOT_BY_THE_RUN


def _lock_outputs(tx: Transaction, plan: Plan) -> None:
    """Lock out registrations of the outputs, and all other publishers of an overwritten snapshot."""
    outputs = sorted(plan.outputs, key=lambda output: output.dataset_id)  # all locks go by id
    if any(output.dataset.is_overwritten for output in outputs):
        for output in outputs:
            chunks.lock_dataset(tx, output.dataset_id, alone=output.dataset.is_overwritten)
    elif outputs:
        tx.lock("publish.lock_datasets", dataset_ids=[output.dataset_id for output in outputs])


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
    """Return the error that says why a run may not finish."""
    row = tx.find("finish.find_run", run_id=run_id)
    if row is None:
        found = "is no longer in this store"
    elif row[1] != RunOutcome.RUNNING:
        found = f"has ended as {row[1]}" + (f" ({row[2]})" if row[2] else "")
    else:
        found = "let its lease lapse"
    return errors.LeaseLost(
        f"Run {run_id} of {work} {found}; its result was not accepted. See: dataflow journal --run {run_id}"
    )


def _is_outdated(tx: Transaction, ending: Ending) -> bool:
    """Return whether the work must be done again because its inputs have changed.

    A withdrawn input makes a successful run's output stale, but a failed run has tried that version.
    """
    done = ending.outcome is RunOutcome.DONE
    query = "finish.count_moved_pins" if done else "finish.count_newer_inputs"
    row = tx.find(query, run_id=ending.run.run_id)
    return bool(row and row[0])


def _settle(tx: Transaction, plan: Plan, ending: Ending, outdated: bool) -> tuple[WorkState, int | None]:
    """Move the work and return its new state; of work that is done, also the incident it belongs to."""
    where = {"work_id": ending.run.work_id, "run_id": ending.run.run_id}
    outcome = ending.outcome
    if outdated:
        row = tx.find("finish.work_outdated", **where)
    elif outcome is RunOutcome.DONE:
        row = tx.find("finish.work_done", **where)
    elif outcome is RunOutcome.FAILED and not ending.final:
        row = tx.find(
            "finish.work_failed",
            reason=ending.reason,
            retries=plan.job.retries,
            retry_delay_seconds=plan.job.retry_delay_seconds,
            **where,
        )
    elif outcome is RunOutcome.LOST:
        row = leases.free_work(tx, reason=ending.reason, **where)
    elif outcome in (RunOutcome.FAILED, RunOutcome.INVALID):
        row = tx.find("finish.work_ended", state=outcome.value, reason=ending.reason, **where)
    else:
        row = tx.find(
            "finish.work_returned", reason=ending.reason, delay_seconds=ending.delay_seconds, **where
        )
    if row is None:
        # Not LeaseLost: that would let the transaction continue, in which the run has been ended.
        raise errors.Conflict(
            f"Run {ending.run.run_id} is live, but {ending.run.job}/{ending.run.dataid} is not its work. "
            "Nothing was changed. See: dataflow doctor"
        )
    return WorkState(row[0]), row[1] if len(row) > 1 else None


def _publish(tx: Transaction, plan: Plan, ending: Ending, stale: bool) -> None:
    given = {publication.dataset: publication for publication in ending.publications}
    for output in plan.outputs:
        publication = given.get(output.dataset.name) or Publication(output.dataset.name)
        version = chunks.Version(publication, ending.run.run_id, stale)
        chunks.publish(tx, output, ending.run.dataid, version)
