"""One call of `dataflow worker` from start to end: lock, guard, definitions, work, exit code."""

from __future__ import annotations

import os
import queue

from dataflow.config.project import PROJECT_FILE
from dataflow.model.record import record
from dataflow.model.wording import counted
from dataflow.notify.notifier import Notifier
from dataflow.notify.senders import Place
from dataflow.runjob.guard import Guard
from dataflow.runjob.lock import ClaimantLock
from dataflow.runjob.output import Terminal
from dataflow.runjob.processes import adopt_orphans
from dataflow.runjob.session import FAILED, INTERRUPTED
from dataflow.runjob.spawn import restore_process_defaults
from dataflow.service.definitions import Definitions
from dataflow.service.pipeline_child import PipelineChild
from dataflow.service.project_files import ProjectFiles
from dataflow.service.report import Silent, WorkerReport
from dataflow.service.roster import Roster
from dataflow.service.worker import ServiceWorker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from dataflow.runjob.request import Face
    from dataflow.service.request import View, WorkerRequest
    from dataflow.store.store import Store


@record
class Equipment:
    """What a worker works with."""

    store: Store
    lock: ClaimantLock
    guard: Guard
    report: WorkerReport
    terminals: tuple[Terminal, Terminal]
    definitions: Definitions
    pipelines: PipelineChild
    told: queue.SimpleQueue[str]  # what the notifier's thread has to say; only the main thread writes it


def run_worker(request: WorkerRequest, face: Face, messages: Terminal, view: View | None = None) -> int:
    """Work on all jobs of this machine; return the exit code. `messages` is where the worker speaks."""
    _refuse_idle(request)
    restore_process_defaults()
    os.chdir(request.config.project_dir)  # commands and their paths start there
    lock = ClaimantLock.take(request.config.lock_dir, os.urandom(8).hex())
    # Fork the guard before there is a thread or a database connection, so that it inherits neither.
    guard = Guard.start(lock.name, (lock.fileno(),))
    adopt_orphans()
    try:
        return _work(request, face, lock, guard, (messages, view))
    finally:
        guard.stop()
        lock.release()


def _refuse_idle(request: WorkerRequest) -> None:
    """Raise the error of a worker that can have nothing to do, before anything is written."""
    roster = Roster(request.globs)
    roster.set_commands(request.config.commands)
    problem = roster.find_problem(os.path.join(request.config.project_dir, PROJECT_FILE))
    if problem is not None and not ProjectFiles(request.config.project_dir).has_pipelines:
        raise problem


def _work(
    request: WorkerRequest,
    face: Face,
    lock: ClaimantLock,
    guard: Guard,
    shown: tuple[Terminal, View | None],
) -> int:
    messages, view = shown
    report = WorkerReport(messages, request.quiet)
    terminals = (Silent(), Silent())
    definitions = Definitions(request, face, guard, report, terminals)
    pipelines = PipelineChild(request, guard, report)
    if definitions.files.has_pipelines:
        definitions.roster.set_pipelines(pipelines.load())
    if problem := definitions.roster.find_problem(os.path.join(request.config.project_dir, PROJECT_FILE)):
        pipelines.end()
        raise problem
    told: queue.SimpleQueue[str] = queue.SimpleQueue()
    equipment = Equipment(face.store, lock, guard, report, terminals, definitions, pipelines, told)
    worker = ServiceWorker(request, equipment, view)
    jobs, streams = counted(len(definitions.roster), "job"), counted(request.streams, "stream")
    report.say(f"worker {lock.name}: {jobs}, {streams}")
    # Only now: threads must not exist when the guard is forked.
    place = Place(request.config, request.environ, face.passphrase)
    notifier = Notifier(face.store.separate, place, told.put, quiet=True)
    notifier.start()
    try:
        worker.run()
    except BaseException:
        lock.leave_file()
        raise
    finally:
        notifier.stop(lambda: worker.signals.stops_work, looks_last=request.until_idle)
        worker.tell()
        messages.flush(1.0)
    if worker.leaves_runs:
        lock.leave_file()
    if worker.signals.stops_work:
        return INTERRUPTED + worker.signal
    if not request.until_idle:
        return 0
    if (problem := definitions.roster.find_unserved()) is not None:
        return problem.exit_code
    return FAILED if worker.tally.runs_failed else 0
