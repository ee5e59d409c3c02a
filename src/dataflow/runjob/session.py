"""One call of RunJob from start to end: lock, guard, store, secrets, work, exit code."""

from __future__ import annotations

import os

from dataflow.actions.names import get_plan
from dataflow.errors import StoreError
from dataflow.model.record import replace
from dataflow.model.records import PIPELINE, Claimant, Ending, Plan
from dataflow.model.status import RunOutcome, WorkState
from dataflow.runjob.guard import Guard
from dataflow.runjob.handoff import Handoff, make_claimant
from dataflow.runjob.launch import Launcher
from dataflow.runjob.lock import ClaimantLock
from dataflow.runjob.loop import JobLine
from dataflow.runjob.output import Terminal
from dataflow.runjob.processes import adopt_orphans, keep_freed_memory
from dataflow.runjob.report import Report, explain_nothing
from dataflow.runjob.request import JobRequest, with_canonical_dataid
from dataflow.runjob.spawn import find_command, restore_process_defaults, script_hash
from dataflow.runjob.worker import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.runjob.request import Face
    from dataflow.store.store import Store

INTERRUPTED = 128
FAILED = 1
LOST = 125


def run_job(request: JobRequest, face: Face) -> int:
    """Do the next work of a job, or all of it with `drain`; return RunJob's exit code."""
    restore_process_defaults()
    lock = ClaimantLock.take(request.config.lock_dir, os.urandom(8).hex())
    # Fork the guard before there is a thread or a database connection, so that it inherits neither.
    guard = Guard.start(lock.name, (lock.fileno(),))
    adopt_orphans()
    keep_freed_memory()
    try:
        return _work(request, face, lock, guard)
    finally:
        guard.stop()
        lock.release()


def claimant_of(request: JobRequest, token: str) -> Claimant:
    """Describe this call to the store: host, user, environment, script and its hash."""
    search_path = request.environ.get("PATH", os.defpath)
    path = os.path.abspath(find_command(request.argv[0], search_path, os.getcwd()))
    script = _count_from_project(path, request.config.project_dir)
    if os.path.isabs(script) and "/" not in request.argv[0] and request.argv[0] != PIPELINE:
        script = request.argv[0]  # found on PATH, wherever that is on this machine
    claimant = make_claimant(request.config, token)
    return replace(claimant, script_path=path, script_hash=script_hash(path) or "", job_script=script)


def _count_from_project(path: str, project_dir: str) -> str:
    """Return `./path` for a script in the project, which may be elsewhere on another machine."""
    folder, name = os.path.split(path)
    folder = os.path.relpath(os.path.realpath(folder), os.path.realpath(project_dir))
    return path if folder.split("/")[0] == ".." else os.path.join(".", "" if folder == "." else folder, name)


def _work(request: JobRequest, face: Face, lock: ClaimantLock, guard: Guard) -> int:
    is_shared = request.streams > 1
    terminals = (Terminal(1, is_shared), Terminal(2, is_shared))
    report = Report(terminals[1], request.quiet)
    plan = get_plan(face.store, request.job)
    request = with_canonical_dataid(request, plan)
    _check_lease(request, plan)
    claimant = claimant_of(request, lock.name)
    warn_other_script(request, plan, claimant, report)
    handoff = Handoff(request, face, plan, claimant, report.warn)
    line = JobLine(request, handoff, Launcher(request, guard, terminals))
    worker = Worker(line, face.store, guard, report, terminals)
    try:
        worker.run()
    except BaseException:
        lock.leave_file()
        raise
    code = _exit_code(request, worker, report, face.store)
    if code is None:
        code = _nothing_done(request, face.store, handoff.plan, report)
    for terminal in terminals:
        terminal.flush(None)
    return code


def _check_lease(request: JobRequest, plan: Plan) -> None:
    """Check that a lease given for this call leaves time to renew it and to stop the children."""
    if request.lease_seconds is None and request.grace_seconds is None:
        return
    # start-up: the job's own were checked when it was registered
    from dataflow.actions.job_rules import check_lease

    check_lease(*request.lease_and_grace(plan.job))


def warn_other_script(request: JobRequest, plan: Plan, claimant: Claimant, report: Report) -> None:
    """Warn if the job's command is another one than it was first run with."""
    known, now = plan.script_path, claimant.job_script
    if os.path.isabs(known):
        known = _count_from_project(known, request.config.project_dir)
    if known and known != now and not request.force:  # what is forced runs once
        before = "the pipeline of that name" if plan.is_pipeline else known
        report.warn(
            f"warning: job {plan.job.name} was first run from {before}, now from {now}. "
            f"If that is intended: dataflow job reset-script {plan.job.name}"
        )


def _exit_code(request: JobRequest, worker: Worker, report: Report, store: Store) -> int | None:
    """Return the exit code of what was done; None when nothing was."""
    tally = worker.tally
    if tally.broken is not None:
        report.warn(str(tally.broken))
        return tally.broken.exit_code
    if request.drain and (tally.last or tally.lost) and not worker.signal:
        report.say(f"{request.job}: {tally.describe(count_left(store, request.job))}")
    if tally.lost:
        return LOST
    if worker.signal:
        return INTERRUPTED + worker.signal
    if request.drain and tally.last is not None:
        return FAILED if tally.has_failed_run else 0
    return None if tally.last is None else _code_of(tally.last)


def count_left(store: Store, job: str) -> str:
    """Return how much work is left and how to ask why, as a part of a sentence."""
    from dataflow.actions.next_commands import why_command  # start-up: only with --drain

    try:
        # What is CLAIMABLE and was not claimed is on hold, or comes after other work.
        states = (WorkState.WAITING, WorkState.CLAIMABLE)
        count = sum(store.read.count_open_work(job, state) for state in states)
        # What a schedule skipped stays WAITING until it is forced.
        if count and (skipped := store.read.list_skipped_work().get(get_plan(store, job).job_id)):
            count -= skipped.count
    except StoreError:  # everything is recorded; only this hint is lost
        return ""
    return f", {count:,} left ({why_command(job)})" if count else ", none left"


def _code_of(ending: Ending) -> int:
    """Return the script's own code, or ours if it does not show how the run ended."""
    if ending.outcome is RunOutcome.INTERRUPTED:
        return LOST
    if ending.outcome is RunOutcome.DONE or (ending.outcome is RunOutcome.FAILED and ending.exit_code):
        return ending.exit_code or 0
    return FAILED


def _nothing_done(request: JobRequest, store: Store, plan: Plan, report: Report) -> int:
    """Report why nothing ran, and return the exit code."""
    from dataflow.actions.why import why  # start-up: only when nothing ran

    return explain_nothing(request, why(store, request.config, plan, request.dataid), report.say)
