"""One call of RunJob from beginning to end: lock, guard, store, secrets, work, exit code."""

from __future__ import annotations

import os

from dataflow.actions.names import get_plan
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.record import replace
from dataflow.model.records import Claimant
from dataflow.model.status import RunOutcome
from dataflow.model.url_text import list_secret_parameters
from dataflow.runjob.environment import Given, inherited_environment, own_secrets
from dataflow.runjob.guard import Guard
from dataflow.runjob.launch import Launcher
from dataflow.runjob.lock import ClaimantLock
from dataflow.runjob.orphans import adopt_orphans
from dataflow.runjob.report import Report
from dataflow.runjob.spawn import find_command, restore_process_defaults, script_hash
from dataflow.runjob.terminal import Terminal
from dataflow.runjob.worker import Worker
from dataflow.secrets.redaction import Redactor
from dataflow.store.leases import boot_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.model.records import Ending, Plan
    from dataflow.runjob.request import Face, JobRequest
    from dataflow.store.store import Store

INTERRUPTED = 128
FAILED = 1
LOST = 125


def run_job(request: JobRequest, face: Face) -> int:
    """Does the next work of a job, or all of it with `drain`, and gives RunJob's exit code."""
    restore_process_defaults()
    lock = ClaimantLock.take(request.config.lock_dir, os.urandom(8).hex())
    # The guard is forked before there is a thread or a database connection, so that it holds neither.
    guard = Guard.start(lock.name, (lock.fileno(),))
    adopt_orphans()
    try:
        return _work(request, face, lock, guard)
    finally:
        guard.stop()
        lock.release()


def claimant_of(request: JobRequest, token: str) -> Claimant:
    """Who asks: host, user, environment, script and its hash."""
    config = request.config
    path = os.path.abspath(
        find_command(request.argv[0], request.environ.get("PATH", os.defpath), os.getcwd())
    )
    identity = (token, config.host, boot_id(), os.getpid(), config.user, config.environment)
    return Claimant(*identity, path, script_hash(path) or "")


def open_passwords(plan: Plan, passphrase: Callable[[], str]) -> dict[str, str]:
    """The passwords of the job's own datasets and of no others, by dataset name."""
    datasets = [*(item.dataset for item in plan.inputs), *(item.dataset for item in plan.outputs)]
    records = {dataset.name: dataset.encryptedpass for dataset in datasets if dataset.encryptedpass}
    if not records:
        return {}
    from dataflow.secrets.cipher import decrypt  # start-up: only jobs with passwords pay for it

    return {name: decrypt(record, passphrase(), f"dataset:{name}") for name, record in records.items()}


def _work(request: JobRequest, face: Face, lock: ClaimantLock, guard: Guard) -> int:
    terminals = (Terminal(1), Terminal(2))
    report = Report(terminals[1], request.quiet)
    plan = get_plan(face.store, request.job)
    request = with_canonical_dataid(request, plan)
    _check_lease(request, plan)
    claimant = claimant_of(request, lock.name)
    _warn_other_path(plan, claimant, report)
    launcher = Launcher(request, guard, terminals, plan, lambda plan: _given(request, plan, face))
    worker = Worker(request, face.store, plan, claimant, launcher)
    try:
        worker.run(terminals, report)
    except BaseException:
        lock.leave_file()
        raise
    code = _exit_code(request, face.store, worker, report)
    for terminal in terminals:
        terminal.flush(None)
    return code


def _given(request: JobRequest, plan: Plan, face: Face) -> Given:
    """What every child is given: our environment without our secrets, its own datasets' passwords."""
    secrets = own_secrets(request.environ, request.config.store_url)
    passwords = open_passwords(plan, face.passphrase)
    local = request.config.environments.get(plan.job.name, {})
    environ = {} if request.clean_env else request.environ
    locations = [item.dataset.location for item in plan.inputs] + [
        item.dataset.location for item in plan.outputs
    ]
    signed = [secret for location in locations for secret in list_secret_parameters(location)]
    redactor = Redactor([*passwords.values(), *secrets.values(), *signed, *face.list_secrets()])
    return Given(inherited_environment(environ, secrets, local), passwords, redactor)


def with_canonical_dataid(request: JobRequest, plan: Plan) -> JobRequest:
    """The request with its dataid as the job's grain writes it; BadInput if it is none."""
    if request.dataid is None:
        return request
    return replace(request, dataid=canonical_dataid(request.dataid, Grain(plan.grain), plan.timezone))


def _check_lease(request: JobRequest, plan: Plan) -> None:
    """A lease given for this call must still leave time to renew it and to end the children."""
    if request.lease_seconds is None and request.grace_seconds is None:
        return
    # start-up: the job's own were checked when it was registered
    from dataflow.actions.job_rules import check_lease

    job = plan.job
    check_lease(
        job.lease_seconds if request.lease_seconds is None else request.lease_seconds,
        job.grace_seconds if request.grace_seconds is None else request.grace_seconds,
    )


def _warn_other_path(plan: Plan, claimant: Claimant, report: Report) -> None:
    if plan.script_path and plan.script_path != claimant.script_path:
        before = "the pipeline of that name" if plan.is_pipeline else plan.script_path
        report.warn(
            f"warning: job {plan.job.name} was first run from {before}, now from {claimant.script_path}"
        )


def _exit_code(request: JobRequest, store: Store, worker: Worker, report: Report) -> int:
    tally = worker.tally
    if tally.broken is not None:
        report.warn(str(tally.broken))
        return tally.broken.exit_code
    if tally.lost:
        return LOST
    if worker.signal:
        return INTERRUPTED + worker.signal
    if request.drain and tally.last is not None:
        report.say(f"{request.job}: {tally.done} done, {tally.failed} failed; nothing more to claim")
        return FAILED if tally.failed else 0
    if tally.last is not None:
        return _code_of(tally.last)
    return _nothing_done(request, store, worker.plan, report)


def _code_of(ending: Ending) -> int:
    """The script's own code, or ours where it does not tell how the run ended."""
    if ending.outcome is RunOutcome.INTERRUPTED:
        return LOST
    if ending.outcome is RunOutcome.DONE or (ending.outcome is RunOutcome.FAILED and ending.exit_code):
        return ending.exit_code or 0
    return FAILED


def _nothing_done(request: JobRequest, store: Store, plan: Plan, report: Report) -> int:
    """Says why nothing ran: already done is success, anything else is waiting."""
    from dataflow.actions.why import why  # start-up: only when nothing ran

    found = why(store, request.config, plan, request.dataid)
    report.say(f"{request.job}: {found.verdict}")
    if found.next:
        report.say(f"next: {found.next}")
    return 0 if found.verdict.startswith("READY") else request.waiting_exit_code
