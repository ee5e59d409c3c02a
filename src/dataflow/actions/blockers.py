"""What keeps a claim from work whose inputs are there: holds, waits, order, limits, readers, newer data."""

from __future__ import annotations

from dataflow.actions.next_commands import (
    follow_command,
    resubmit_command,
    run_command,
    shell,
    why_command,
)
from dataflow.actions.prepare import list_newer_snapshots
from dataflow.actions.refusals import find_repair, question_of
from dataflow.actions.work_case import Reason
from dataflow.model.answers import Question
from dataflow.model.dataid import previous_dataid
from dataflow.model.grain import Grain
from dataflow.model.status import RunOutcome, WorkState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.work_case import WorkCase
    from dataflow.model.records import RunRow, WorkRow

SHOWN_RUNS = 5


def list_blockers(case: WorkCase, work: WorkRow, run: RunRow | None) -> list[Reason]:
    """Every reason for which a claim would leave this open work alone, or its preparation hand it back."""
    flags = case.store.find("explain.flags", work_id=work.work_id)
    if flags is None:
        return []
    hold, job_hold, max_running, ordered, key = flags
    found = _holds(case, bool(hold), bool(job_hold))
    if waiting := _wait(case, work, run):
        found.append(waiting)
    if ordered and (turn := _turn(case, key)):
        found.append(turn)
    most = 1 if case.plan.one_at_a_time else max_running
    if most and (limit := _limit(case, most)):
        found.append(limit)
    return found + _readers(case) + _newer_snapshots(case)


def list_job_holds(case: WorkCase) -> list[Reason]:
    """The hold on the job itself, for work that does not exist yet."""
    row = case.store.find("explain.job_hold", job_id=case.plan.job_id)
    return _holds(case, False, row is not None and bool(row[0]))


def _holds(case: WorkCase, hold: bool, job_hold: bool) -> list[Reason]:
    job = case.plan.job.name
    found = []
    if job_hold:
        text = f"job {job} is on hold{_holder(case, '')}"
        found.append(Reason(text, shell("dataflow", "release", job), True))
    if hold:
        text = f"{case.name} is on hold{_holder(case, case.dataid)}"
        found.append(Reason(text, shell("dataflow", "release", job, case.dataid), True))
    return found


def _holder(case: WorkCase, dataid: str) -> str:
    """Who put it on hold and why, as the journal has it; "" if those lines were purged."""
    row = case.store.find("explain.held_by", job=case.plan.job.name, dataid=dataid)
    if row is None:
        return ""
    actor, why = row
    return f" (by {actor}: {why})" if why else f" (by {actor})"


def _wait(case: WorkCase, work: WorkRow, run: RunRow | None) -> Reason | None:
    if work.wait_seconds is not None and run is not None and run.outcome is RunOutcome.CANCELLED:
        row = case.store.find("explain.has_kill_command", run_id=run.run_id)
        if row is not None and row[0]:
            text = (
                f"run {run.run_id} was cancelled, and what it started outside its process may still be at "
                "work: the next RunJob with a --kill-command ends it"
            )
            return Reason(text, run_command(case.plan, kill=True), question=Question.SAFE)
    if work.wait_seconds is None or work.wait_seconds <= 0:
        return None  # the next claim promotes it
    wait, command = f"{work.wait_seconds:.0f} s", run_command(case.plan)
    if run is not None and run.outcome is RunOutcome.CANCELLED:
        text = f"run {run.run_id} was cancelled and may still be ending: {wait} of its lease are left"
        return Reason(text, command, question=Question.SAFE)
    text = f"{work.reason or 'it was handed back'}; the next try is in {wait}"
    question = question_of(work.reason)
    # What is still so says how to repair it; what kept it from being safe then is looked for again.
    repair = (find_repair(case, question) if question else None) or command
    return Reason(text, repair, question=None if question is Question.SAFE else question)


def _turn(case: WorkCase, key: str) -> Reason | None:
    """The same rule as the claim's: nothing overtakes the first unfinished, and no gap is jumped over."""
    job, job_id = case.plan.job.name, case.plan.job_id
    first = case.store.find("explain.first_unfinished", job_id=job_id)
    if first is not None and first[0] != case.dataid:
        return _after(case, *first)
    before = previous_dataid(case.dataid, Grain(case.plan.grain), case.plan.timezone)
    if before is None or case.store.find("claim.earlier_work", job_id=job_id, sort_key=key) is None:
        return None
    state = case.store.find("claim.state_of", job_id=job_id, dataid=before)
    if state is not None and state[0] == WorkState.DONE:
        return None
    return Reason(
        f"job {job} is ordered, and nothing has called for {before}, which comes first",
        why_command(job, before),
    )


def _after(case: WorkCase, dataid: str, state: str, run_id: int) -> Reason:
    job = case.plan.job.name
    if state in (WorkState.FAILED, WorkState.INVALID):
        command = resubmit_command(job, dataid)
    elif state == WorkState.RUNNING:
        command = follow_command(run_id)
    else:
        command = why_command(job, dataid)
    return Reason(f"job {job} is ordered, and {dataid}, which is {state}, comes first", command)


def _limit(case: WorkCase, most: int) -> Reason | None:
    where = {"job_id": case.plan.job_id, "outliving": case.plan.one_at_a_time}
    found = [row[0] for row in case.store.rows("claim.at_work", **where)]
    if len(found) < most:
        return None
    shown = ", ".join(map(str, found[:SHOWN_RUNS])) + (" …" if len(found) > SHOWN_RUNS else "")
    text = f"job {case.plan.job.name} may have {most} running, and run {shown} is, or is still ending"
    return Reason(text, follow_command(found[0]))


def _readers(case: WorkCase) -> list[Reason]:
    """Live readers of a chunk that the script would overwrite in place."""
    found = []
    for output in case.plan.outputs:
        if output.dataset.staged:
            continue
        chunk = case.find_chunk(output.dataset_id)
        if chunk is None or chunk.version == 0:
            continue
        if output.dataset.is_overwritten:
            readers = case.store.rows("claim.place_readers", dataset_id=output.dataset_id, run_id=0)
        else:
            readers = case.store.rows("claim.readers", chunk_id=chunk.chunk_id, run_id=0)
        for (run_id,) in readers:
            name = f"{output.dataset.name}/{case.dataid}"
            text = f"{name} is being consumed by run {run_id}"
            found.append(Reason(text, follow_command(run_id), question=Question.SAFE))
    return found


def _newer_snapshots(case: WorkCase) -> list[Reason]:
    """A snapshot written in place must not go back in time; a run that would do so is refused for good."""
    newer = list_newer_snapshots(case.store, case.plan, case.dataid)
    command = run_command(case.plan)
    return [Reason(f"{text}: this one will be refused", command, question=Question.SAFE) for text in newer]
