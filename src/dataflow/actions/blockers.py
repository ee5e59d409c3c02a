"""What blocks work whose inputs are ready: holds, waits, order, limits, readers, newer data."""

from __future__ import annotations

from dataflow.actions.next_commands import (
    follow_command,
    resubmit_command,
    run_command,
    shell,
    why_command,
)
from dataflow.actions.refusals import ask_right, find_repair, in_the_past, is_located_now, question_of
from dataflow.actions.work_case import Reason
from dataflow.model.answers import Question, Verdict
from dataflow.model.job_dataid import previous_job_dataid
from dataflow.model.status import RunOutcome, WorkState
from dataflow.model.wording import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.actions.work_case import WorkCase
    from dataflow.model.records import RunRow, WorkRow
    from dataflow.store.work_reads import Unfinished

SHOWN_RUNS = 5


def list_blockers(case: WorkCase, work: WorkRow, run: RunRow | None) -> list[Reason]:
    """Return every reason why a claim would skip this open work, or its preparation return it."""
    flags = case.store.read.find_claim_flags(work.work_id)
    if flags is None:
        return []
    found = _holds(case, flags.hold, flags.job_hold)
    if waiting := _wait(case, work, run):
        found.append(waiting)
    if flags.ordered and (turn := _turn(case, flags.sort_key)):
        found.append(turn)
    if case.plan.job.pool and (full := _full_pool(case)):
        found.append(full)
    most = 1 if case.plan.one_at_a_time else flags.max_running
    if most and (limit := _limit(case, most)):
        found.append(limit)
    return found + _readers(case) + _newer_snapshots(case)


def list_holds(case: WorkCase, work: WorkRow | None = None) -> list[Reason]:
    """Return the holds on the job and on its work, if that exists."""
    return _holds(case, work is not None and work.hold, case.store.read.is_job_held(case.plan.job_id))


def _holds(case: WorkCase, hold: bool, job_hold: bool) -> list[Reason]:
    job, found = case.plan.job.name, list[Reason]()
    if pause := case.store.read.find_pause():
        by = f"{pause.actor}: {pause.why}" if pause.why else pause.actor
        found.append(Reason(f"everything is paused since {pause.at} (by {by})", "dataflow resume", True))
    for is_held, name, dataids in ((job_hold, f"job {job}", []), (hold, case.name, [case.dataid])):
        if is_held:
            text = f"{name} is on hold{_holder(case, *dataids)}"
            found.append(Reason(text, shell("dataflow", "release", job, *dataids), True))
    return found


def _holder(case: WorkCase, dataid: str = "") -> str:
    """Who put it on hold and why, as the journal has it; "" if those lines were purged."""
    held = case.store.read.find_hold(case.plan.job.name, dataid)
    if held is None:
        return ""
    return f" (by {held.actor}: {held.why})" if held.why else f" (by {held.actor})"


def _wait(case: WorkCase, work: WorkRow, run: RunRow | None) -> Reason | None:
    is_cancelled = run is not None and run.outcome is RunOutcome.CANCELLED
    if (
        work.wait_seconds is not None
        and run
        and is_cancelled
        and case.store.read.has_kill_command(run.run_id)
    ):
        text = (
            f"run {run.run_id} was cancelled, and what it started outside its process may still be "
            "running: the next RunJob with a --kill-command stops it"
        )
        return Reason(text, run_command(case.plan, kill=True), question=Question.SAFE)
    if work.wait_seconds is None or work.wait_seconds <= 0:
        return None  # the next claim promotes it
    wait, command = f"{work.wait_seconds:.0f} s", run_command(case.plan)
    if run is not None and is_cancelled:
        text = f"run {run.run_id} was cancelled and may still be ending: {wait} of its lease left"
        return Reason(text, command, question=Question.SAFE)
    question, text = question_of(work.reason), in_the_past(work.reason) or "it was returned"
    if question is Question.LOCATED and is_located_now(case):
        now = "is there now" if " was not at " in text else "can be now"
        text, command = f"{text}, but {now}", resubmit_command(case.plan.job.name, case.dataid)
    if question is Question.RIGHT:
        right = ask_right(case)
        if right.answer is Verdict.NO:
            text = right.evidence
        else:
            text, command = f"{text}; it is right now", resubmit_command(case.plan.job.name, case.dataid)
    text = f"{text}; the next attempt is in {wait}"
    # A problem that persists says how to repair it; safety is checked again.
    repair = (find_repair(case, question) if question else None) or command
    return Reason(text, repair, question=None if question is Question.SAFE else question)


def _turn(case: WorkCase, key: str) -> Reason | None:
    """Apply the claim's rule: nothing overtakes the first unfinished work, and no gap is skipped."""
    job, job_id = case.plan.job.name, case.plan.job_id
    first = case.store.read.find_first_unfinished(job_id)
    if first is not None and first.dataid != case.dataid:
        return _after(case, first)
    before = previous_job_dataid(case.dataid, case.plan)
    if before is None or not case.store.read.has_earlier_work(job_id, key):
        return None
    if case.store.read.find_work_state(job_id, before) is WorkState.DONE:
        return None
    return Reason(
        f"job {job} is ordered, and {before}, which comes first, has no work yet",
        why_command(job, before),
    )


def _after(case: WorkCase, first: Unfinished) -> Reason:
    job, dataid = case.plan.job.name, first.dataid
    if first.state in (WorkState.FAILED, WorkState.INVALID):
        command = resubmit_command(job, dataid)
    elif first.state is WorkState.RUNNING:
        command = follow_command(first.run_id)
    else:
        command = why_command(job, dataid)
    return Reason(f"job {job} is ordered, and {dataid}, which is {first.state}, comes first", command)


def _limit(case: WorkCase, most: int) -> Reason | None:
    found = case.store.read.list_runs_at_work(case.plan.job_id, case.plan.one_at_a_time)
    if len(found) < most:
        return None
    shown = ", ".join(map(str, found[:SHOWN_RUNS])) + (" …" if len(found) > SHOWN_RUNS else "")
    text = f"job {case.plan.job.name} may have {most} running at a time; still running or ending: {shown}"
    return Reason(text, follow_command(found[0]))


def _full_pool(case: WorkCase) -> Reason | None:
    """Return who uses the job's pool, if it has no room."""
    pool = case.plan.job.pool
    size, uses = case.store.read.find_pool_size(pool), case.store.read.list_pool_uses(pool)
    if size is None or len(uses) < size:
        return None
    by: dict[str, list[str]] = {}
    for use in uses:
        by.setdefault(use.job, []).append(str(use.run_id))
    parts = []
    for job, ids in by.items():
        more = " …" if len(ids) > SHOWN_RUNS else ""
        parts.append(f"{job} ({plural(len(ids), 'run')} {', '.join(ids[:SHOWN_RUNS])}{more})")
    text = f"pool {pool} is full: {len(uses)} of {size} in use by {', '.join(parts)}"
    return Reason(text, follow_command(uses[0].run_id))


def _readers(case: WorkCase) -> list[Reason]:
    """Return the live readers of a chunk that the script would overwrite in place."""
    found = []
    for output in case.plan.outputs:
        if output.dataset.staged:
            continue
        chunk = case.find_chunk(output.dataset_id)
        if chunk is None or chunk.version == 0:
            continue
        if output.dataset.is_overwritten:
            readers = case.store.read.list_dataset_readers(output.dataset_id)
        else:
            readers = case.store.read.list_chunk_readers(chunk.chunk_id)
        for run_id in readers:
            name = f"{output.dataset.name}/{case.dataid}"
            text = f"{name} is being consumed by run {run_id}"
            found.append(Reason(text, follow_command(run_id), question=Question.SAFE))
    return found


def _newer_snapshots(case: WorkCase) -> list[Reason]:
    """Return the newer snapshots in place; a run that would overwrite them with older data is refused."""
    newer = case.store.read.list_newer_snapshots(case.plan, case.dataid)
    command = run_command(case.plan)
    return [Reason(f"{text}: this dataid will be refused", command, question=Question.SAFE) for text in newer]
