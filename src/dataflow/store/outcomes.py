"""A run's one accepted outcome: outputs published, work settled, consumers woken, in one transaction."""

from __future__ import annotations

import os

from dataflow import errors
from dataflow.model.mapping import ALL, SIMPLE
from dataflow.model.record import record, replace
from dataflow.model.records import ASK, IGNORE, Publication
from dataflow.model.status import RunOutcome, WorkState
from dataflow.store import chunks, latest_inputs, leases
from dataflow.store.journal import JournalEntry, write_journal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

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
        if any(source.mapping == ALL for source in plan.inputs):
            # A chunk that arrives now either waits for this lock and finds the work tried, or is seen below.
            latest_inputs.lock(tx, plan.job_id)
        elif ending.outcome is not RunOutcome.DONE and _has_several(plan):
            tx.lock("finish.lock_work", work_id=run.work_id)
    if ending.outcome is RunOutcome.DONE:
        # An unread input arrives under this lock: it is seen below, or finds the work done.
        tx.lock("finish.lock_work", work_id=run.work_id)
        if newer := chunks.list_newer_snapshots(tx, plan, run.dataid):
            ending = replace(ending, outcome=RunOutcome.FAILED, reason=newer[0], final=True)
    _end_run(tx, ending)
    moved = _count_moved(tx, plan, ending) if ending.outcome in TRIED else Moved()
    asks = ending.outcome is RunOutcome.DONE and plan.job.on_change == ASK and not moved.wrong
    settled = _settle(tx, plan, ending, outdated=bool(moved.count) and not asks)
    state = settled.state
    if ending.outcome is RunOutcome.DONE:
        _publish(tx, plan, ending, moved)
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
            why=settled.why or ("" if ending.outcome.value == state.value else ending.outcome),
        ),
    )
    if settled.incident_id is not None or state in (WorkState.FAILED, WorkState.INVALID):
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


@record
class Moved:
    """How many inputs have changed since the claim: all, those merely stale, and those found to be wrong."""

    count: int = 0
    stale: int = 0
    wrong: int = 0


def _count_moved(tx: Transaction, plan: Plan, ending: Ending) -> Moved:
    """Count the inputs that have changed since the claim, as far as the job minds.

    A withdrawn input makes a successful run's output stale, but a failed run has tried that version.
    """
    run_id = ending.run.run_id
    if ending.outcome is not RunOutcome.DONE:
        row = tx.find("finish.count_newer_inputs", run_id=run_id)
        moved, several = Moved(row[0] if row else 0), _has_several(plan)
    else:
        *counts, several = tx.find("finish.count_moved_pins", run_id=run_id) or (0, 0, 0, 0)
        moved = Moved(*counts)
    if several and moved.count == moved.stale:
        from dataflow.store import several_inputs  # start-up: few jobs have such inputs

        moved = replace(moved, count=moved.count + several_inputs.has_unread(tx, ending.run))
    # What was made from wrong data is redone whatever its job says about changes.
    return Moved() if plan.job.on_change == IGNORE and not moved.wrong else moved


@record
class Settlement:
    """The new state of work and why; of work that is done, also the incident it belongs to."""

    state: WorkState
    why: str
    incident_id: int | None = None


def _has_several(plan: Plan) -> bool:
    return any(source.mapping not in SIMPLE for source in plan.inputs)


def _settle(tx: Transaction, plan: Plan, ending: Ending, outdated: bool) -> Settlement:
    """Move the work to its new state."""
    row: tuple[Any, ...] | None
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
            retry_delay_seconds=_retry_delay(tx, plan, ending) if plan.job.retries else 0.0,
            **where,
        )
    elif outcome is RunOutcome.LOST:
        lost = leases.Lost(ending.run.run_id, ending.run.work_id, ending.run.dataid, ending.reason)
        row = leases.free_work(tx, lost, plan.job.max_crashes)
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
    if outcome is RunOutcome.LOST and not outdated:
        return Settlement(WorkState(row[0]), row[1])
    return Settlement(WorkState(row[0]), ending.reason, row[1] if len(row) > 1 else None)


def _retry_delay(tx: Transaction, plan: Plan, ending: Ending) -> float:
    """Return when failed work may be tried again, in seconds; different for each, so they do not crowd."""
    from dataflow.model.retries import nominal_delay, with_jitter  # start-up: only failures need it

    row = tx.find("finish.attempts_of", work_id=ending.run.work_id)
    attempts = int(row[0]) + 1 if row else 1
    fraction = int.from_bytes(os.urandom(4), "big") / (2**32 - 1)
    return with_jitter(nominal_delay(plan.job, attempts), fraction)


def _publish(tx: Transaction, plan: Plan, ending: Ending, moved: Moved) -> None:
    given = {publication.dataset: publication for publication in ending.publications}
    for output in plan.outputs:
        publication = given.get(output.dataset.name) or Publication(output.dataset.name)
        version = chunks.Version(publication, ending.run.run_id, moved.count > 0, moved.count > moved.stale)
        chunks.publish(tx, output, ending.run.dataid, version)
