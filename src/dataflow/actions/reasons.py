"""Why work is not running: the reasons, each with the command that deals with it.

They come from the facts that a claim uses (state, hold, limits, order, waits). Nothing here changes
anything.
"""

from __future__ import annotations

import os

from dataflow.actions.blockers import list_blockers, list_holds
from dataflow.actions.changed_inputs import describe_change, describe_older, explain_stale
from dataflow.actions.crashes import list_crashes
from dataflow.actions.declared_commands import command_line, explain_broken, find_declared
from dataflow.actions.missing import list_missing, list_stale
from dataflow.actions.next_commands import (
    follow_command,
    force_command,
    ready_command,
    resubmit_command,
    run_command,
    runner,
    shell,
    why_command,
)
from dataflow.actions.refusals import in_the_past, list_refusals
from dataflow.actions.shortages import describe_incomplete, describe_partial, has_no_pairs
from dataflow.actions.work_case import Reason, WorkCase, why_not_ready
from dataflow.model.grain import Grain
from dataflow.model.mapping import UNCALLING, creates_work
from dataflow.model.record import record, replace
from dataflow.model.status import RunOutcome, Status, WorkState
from dataflow.store.staleness import NEWER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.model.answers import CrashEvidence
    from dataflow.model.records import RunRow, WorkRow

DEEPEST = 6
"""How many producers a missing input is followed back; then `why` of the last is the next command."""


@record
class Explanation:
    """The explanation of one work: its status, the reasons, and the next command."""

    status: Status
    reasons: tuple[Reason, ...]
    missing: tuple[Reason, ...]
    blockers: tuple[Reason, ...]
    run: RunRow | None
    crashes: tuple[CrashEvidence, ...] = ()

    @property
    def text(self) -> str:
        """All reasons as one sentence."""
        return "; ".join([reason.text for reason in self.reasons])

    @property
    def next(self) -> str:
        """The command that deals with the first reason; "" where nothing is left to do."""
        return self.reasons[0].next


def explain(case: WorkCase) -> Explanation:
    """Return the status of one work and why."""
    work = case.store.read.find_work(case.plan.job_id, case.dataid)
    if work is None:
        return _explain_uncalled(case)
    run = case.store.read.find_run(work.run_id) if work.run_id else None
    if work.state is WorkState.RUNNING:
        return Explanation(Status.RUNNING, (_running(case, work, run),), (), (), run)
    if work.state is WorkState.DONE:
        status, reason = _done(case, work, run)
        stale = list_stale(case, _explain_producer) if status is Status.READY else []
        if stale:  # the work is done again once its input is current
            reason = replace(reason, next=stale[0].next)
        return Explanation(status, (reason, *stale), tuple(stale), (), run)
    if work.state in (WorkState.FAILED, WorkState.INVALID):
        held = list_holds(case, work)  # it would stay so after the next command
        crashes = tuple(list_crashes(case, work))
        ended = _quarantined(case, work, crashes) if work.quarantined else _ended(case, work, run)
        stale = list_stale(case, _explain_producer)
        if stale:  # a newer input restarts the work
            ended = replace(ended, next=stale[0].next)
        reasons = (ended, *stale, *held)
        return Explanation(Status(work.state), reasons, tuple(stale), tuple(held), run, crashes)
    return _explain_open(case, work, run)


def _explain_open(case: WorkCase, work: WorkRow, run: RunRow | None) -> Explanation:
    missing = list_missing(case, _explain_producer)
    blockers = list_blockers(case, work, run)
    if not missing:
        known = [reason.question for reason in blockers]
        blockers += [reason for reason in list_refusals(case) if reason.question not in known]
    held = [reason for reason in blockers if reason.is_hold]
    others = [reason for reason in blockers if not reason.is_hold]
    reasons = [*held, *missing, *others]
    if work.missing and not missing:
        text = f"the store counts {work.missing} missing inputs, but all are ready"
        reasons.append(Reason(text, "dataflow doctor"))
    if not reasons:
        reasons.append(_nothing_in_the_way(case, work))
    if not case.depth and (changed := describe_change(case)):
        text = reasons[0].text.removeprefix(f"{NEWER}; ")
        reasons[0] = replace(reasons[0], text=f"{changed}; {text}")
    return Explanation(_status(case, work), tuple(reasons), tuple(missing), tuple(blockers), run)


def _explain_uncalled(case: WorkCase) -> Explanation:
    """Explain work that does not exist because no chunk has called for it."""
    if _is_too_early(case):
        job = case.plan.job
        text = f"there is no work {case.name}, because job {job.name} starts at {job.start}"
        command = shell("dataflow", "job", "add", job.name, "--start", case.dataid)
        if case.plan.is_pipeline:  # each run registers it again, as its class declares it
            command = run_command(case.plan, case.dataid)
        return Explanation(Status.PENDING, (Reason(text, command),), (), (), None)
    missing = list_missing(case, _explain_producer)
    text = f"there is no work {case.name} yet"
    if not missing:
        reason = Reason(f"{text}: the job has no inputs", force_command(case.plan, case.dataid))
        if case.plan.inputs:
            reason = Reason(f"{text}, although all its inputs are ready", "dataflow doctor")
        return Explanation(Status.PENDING, (reason,), (), (), None)
    first = missing[0]
    held = list_holds(case)
    reasons = (Reason(f"{text}; {first.text}", first.next), *missing[1:], *held)
    return Explanation(Status.PENDING, reasons, tuple(missing), tuple(held), None)


def _is_too_early(case: WorkCase) -> bool:
    """Return whether no chunk creates the work because it is before the job's start."""
    plan = case.plan
    calling = [source.mapping for source in plan.inputs if source.mapping not in UNCALLING]
    where = (case.dataid, plan.job.start or None, Grain(plan.grain))
    return bool(calling) and not any(creates_work(mapping, *where) for mapping in calling)


def _explain_producer(case: WorkCase) -> Reason:
    """Explain a missing input by its producer, followed back to the first cause."""
    name = case.plan.job.name
    if case.depth >= DEEPEST:
        return Reason(f"job {name} has not produced it", why_command(name, case.dataid))
    found = explain(case)
    if found.status is Status.READY:
        return Reason(f"job {name} has finished it", resubmit_command(name, case.dataid))
    if found.run is not None and found.status in (Status.FAILED, Status.INVALID):
        reason = found.run.reason or "no reason was recorded"
        text = f"job {name} {found.status} in run {found.run.run_id} ({reason})"
        return Reason(text.replace(" INVALID", " is INVALID"), found.next)
    if found.reasons[0].is_hold:
        return replace(found.reasons[0], is_hold=False)
    stale = "it is STALE, and " if found.status is Status.STALE else ""
    if (stale or found.status is Status.PENDING) and found.missing:
        text = f"job {name} waits for {found.missing[0].text.removeprefix('waits for ')}"
        return Reason(f"{stale}{text}", found.next)
    if stale and case.store.read.find_work_state(case.plan.job_id, case.dataid) is WorkState.DONE:
        return Reason(f"{stale}job {name} {found.reasons[0].text}", found.next)
    if stale and not found.blockers:
        return Reason(f"{stale}job {name} will make it again", found.next)
    return Reason(f"job {name} is {found.status} ({found.reasons[0].text})", found.next)


def _nothing_in_the_way(case: WorkCase, work: WorkRow) -> Reason:
    first = case.store.read.find_first_claimable(case.plan.job_id, case.plan.job.order)
    history = f"{in_the_past(work.reason)}; " if work.reason else ""
    partial = describe_incomplete(case)
    if broken := explain_broken(case):
        return replace(broken, text=f"{history}{broken.text}{partial}")
    if first is None or first == case.dataid or case.plan.job.ordered:
        declared = bool(find_declared(case))
        taker = runner(case.plan, declared)
        text = f"{history}nothing blocks it, and the next {taker} takes it{partial}"
        is_known = case.plan.script_path or not declared
        return Reason(text, run_command(case.plan) if is_known else command_line(case))
    text = f"{history}it runs after {first}" if history else f"nothing blocks it, but {first} comes first"
    text += partial
    return Reason(text, run_command(case.plan, case.dataid))


def _status(case: WorkCase, work: WorkRow) -> Status:
    """Return the status that `dataflow chunks` shows for the first output of open work."""
    if work.hold:
        return Status.HOLD
    if work.resubmitted:
        return Status.RESUBMIT
    chunks = [case.find_chunk(output.dataset_id) for output in case.plan.outputs]
    return Status.STALE if any(chunk and chunk.stale for chunk in chunks) else Status.PENDING


def _running(case: WorkCase, work: WorkRow, run: RunRow | None) -> Reason:
    if run is None or run.outcome is not RunOutcome.RUNNING:
        found = "is not in the store" if run is None else f"has ended as {run.outcome}"
        return Reason(f"under run {work.run_id}, but that {found}", "dataflow doctor")
    text = f"run {run.run_id} on {run.host} since {run.started_at}"
    if case.is_gone(run):
        return _taken_over(case, run, f"{text}, but its process is gone", f" on {run.host}")
    if run.lease_left_seconds is None or run.lease_left_seconds <= 0:
        return _taken_over(case, run, f"{text}, but its lease has lapsed", "")
    left = f"{run.lease_left_seconds:.0f} s of its lease left"
    return Reason(f"{text}, attempt {run.attempt}, {left}", follow_command(run.run_id))


def _taken_over(case: WorkCase, run: RunRow, text: str, where: str) -> Reason:
    """Explain who takes over a dead run: work that may outlive its process needs a kill command."""
    if case.store.read.has_kill_command(run.run_id):
        text = f"{text}: the next RunJob with a --kill-command{where} takes it over"
        return Reason(text, run_command(case.plan, kill=True))
    taker = runner(case.plan, bool(find_declared(case)))
    return Reason(f"{text}: the next {taker}{where} takes it over", run_command(case.plan))


def _done(case: WorkCase, work: WorkRow, run: RunRow | None) -> tuple[Status, Reason]:
    again = resubmit_command(case.plan.job.name, case.dataid)
    if work.reason:
        by = f"({work.reason})"
    elif run is not None and run.outcome is RunOutcome.DONE:
        by = f"by run {run.run_id} on {run.host} at {run.ended_at}"
    else:
        by = f"at {work.modified_at}"
    published = []
    for output in case.plan.outputs:
        name = f"{output.dataset.name}/{case.dataid}"
        chunk = case.find_chunk(output.dataset_id)
        if chunk is not None and chunk.is_stale:
            return Status.STALE, explain_stale(case, f"done {by}, but {name}", chunk)
        if chunk is None or not chunk.is_ready:
            found = why_not_ready(chunk) if chunk else "is not in the store"
            return Status.PENDING, Reason(f"done {by}, but {name} {found}", again)
        published.append(f"{name} is at version {chunk.version}{describe_older(case, chunk)}")
    if run is not None and (partial := describe_partial(case, run)):
        published.append(partial)
    return Status.READY, Reason("; ".join([f"already done {by}", *published]), "")


def _ended(case: WorkCase, work: WorkRow, run: RunRow | None) -> Reason:
    """Explain why work is FAILED or INVALID, where its log is, and what is still readable."""
    parts = []
    reason = work.reason or "no reason was recorded"
    if run is None:
        parts.append(reason)
    else:
        parts.append(f"run {run.run_id} on {run.host}: {_with_exit_code(reason, run.exit_code)}")
        log = os.path.join(case.config.log_dir, f"{run.run_id}.log")
        if run.host == case.config.host and os.path.exists(log):
            parts.append(f"its log is {log}")
    for output in case.plan.outputs:
        chunk = case.find_chunk(output.dataset_id)
        if chunk and chunk.is_ready:
            parts.append(f"version {chunk.version} of {output.dataset.name}/{case.dataid} is still readable")
    return Reason("; ".join(parts), resubmit_command(case.plan.job.name, case.dataid))


def _quarantined(case: WorkCase, work: WorkRow, crashes: Sequence[CrashEvidence]) -> Reason:
    """Explain which runs the work has killed, with the last lines of their logs on this machine."""
    parts = [work.reason]
    for crash in crashes:
        lines = f": {' | '.join(crash.last_lines)}" if crash.last_lines else ""
        parts.append(f"run {crash.run_id} on {crash.host} was found dead at {crash.ended_at}{lines}")
    return Reason("; ".join(parts), resubmit_command(case.plan.job.name, case.dataid))


def _with_exit_code(reason: str, exit_code: int | None) -> str:
    if exit_code == 0 and "succeeded" not in reason:
        return f"{reason.rstrip('.')} (the script itself succeeded)"
    known = not exit_code or str(exit_code) in reason
    return (reason if known else f"{reason.rstrip('.')}, exit code {exit_code}").rstrip(".")


def list_callers(case: WorkCase) -> list[Reason]:
    """Return what would create work for a job that has none: one reason per input."""
    from dataflow.actions.missing import next_interval

    reasons = []
    for source in case.plan.inputs:
        if source.mapping in UNCALLING:
            continue
        name = source.dataset.name
        if has_no_pairs(case, source):
            load = shell("dataflow", "job", "pairs", case.plan.job.name, name)
            reasons.append(Reason(f"{name}:pairs has no list yet", f"{load} FILE"))
        elif reason := next_interval(case, source):
            reasons.append(reason)
        elif producer := case.store.read.find_producer(source.dataset_id):
            reasons.append(
                Reason(f"no chunk of {name} is ready; job {producer} produces it", why_command(producer))
            )
        else:
            reasons.append(Reason(f"no chunk of {name} is ready", ready_command(name, "DATAID")))
    if not reasons:
        command = shell("dataflow", "force", case.plan.job.name) + ", followed by a dataid, -- and its script"
        if case.plan.is_pipeline:
            command = run_command(case.plan, "DATAID")
        return [Reason("it has no inputs", command)]
    return reasons


def without_work(case: WorkCase) -> Explanation:
    """Explain a job without work."""
    reasons = list_callers(case)
    first = replace(reasons[0], text=f"job {case.plan.job.name} has no work: {reasons[0].text}")
    held = list_holds(case)
    return Explanation(Status.PENDING, (first, *reasons[1:], *held), tuple(reasons), tuple(held), None)
