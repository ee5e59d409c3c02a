"""A worker's side of the process that runs its pipelines on one warm Spark session."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys

from dataflow.model.record import record
from dataflow.runjob.processes import (
    TOKEN_VARIABLE,
    boottime,
    join_tokens,
    kill_escaped,
    signal_group,
)
from dataflow.service.request import ActiveRun
from dataflow.service.roster import FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS
from dataflow.service.wire import Wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from dataflow.runjob.guard import Guard
    from dataflow.service.report import WorkerReport
    from dataflow.service.request import WorkerRequest
    from dataflow.service.signals import WorkerSignals

MODULE = "dataflow.service.pipeline_process"
FOREVER_SECONDS = 1e9
"""The guard ends the process with the worker; the leases of its runs it keeps itself."""
GRACE_SECONDS = 10.0
END_SECONDS = 20.0
"""How long Spark may take to stop."""


@record
class PipelineEnd:
    """A run of a pipeline that has ended, or a claim that found nothing."""

    job: str
    found: bool
    done: bool


class PipelineChild:
    """The process, started when it is needed; it ends by itself when it has been idle for long."""

    def __init__(self, request: WorkerRequest, guard: Guard, report: WorkerReport) -> None:
        self._request = request
        self._guard = guard
        self._report = report
        self._wire: Wire | None = None
        self._pid = 0
        self._pidfd = -1
        self._token = ""
        self._serial = 0
        self.is_loading = False
        self._needs_reload = False  # the last load met an outage, or its process died
        self._jobs: list[str] | None = None
        self._asked: list[str] = []  # jobs whose claim has not been answered
        self._running: dict[int, ActiveRun] = {}
        self._ended: list[PipelineEnd] = []
        self._is_stopping = self._is_killed = False
        self._paused_until = 0.0
        self._pause_seconds = FIRST_PAUSE_SECONDS

    @property
    def busy(self) -> int:
        """How many streams it takes."""
        return len(self._asked) + len(self._running)

    @property
    def is_busy(self) -> bool:
        """Whether it claims or runs something."""
        return self.busy > 0

    def list_doing(self) -> list[ActiveRun]:
        """Return its runs."""
        return list(self._running.values())

    def may_run(self, job: str) -> bool:
        """Return whether to ask for work of a pipeline; not while its last claim is unanswered."""
        return job not in self._asked and not self.is_loading and boottime() >= self._paused_until

    def take_jobs(self) -> list[str] | None:
        """Return the names of the pipelines, if they were loaded since the last call."""
        jobs, self._jobs = self._jobs, None
        return jobs

    def take_ended(self) -> list[PipelineEnd]:
        """Return what has ended since the last call."""
        ended, self._ended = self._ended, []
        return ended

    def load(self) -> list[str]:
        """Start the process, wait until it has loaded the pipelines, and return their names."""
        self._start()
        while self.is_loading and self._wire is not None:
            self.handle(self._wire.fileno())
        return self.take_jobs() or []

    def reload(self) -> None:
        """Have it load the pipelines again."""
        if self._wire is None:
            self._start()
        elif self._wire.send({"load": True}):
            self.is_loading = True

    def run(self, job: str) -> None:
        """Have it claim and run the next interval of a pipeline."""
        if self._wire is None:
            self._start()
        self._asked.append(job)
        if self._wire is None or not self._wire.send({"run": job}):
            self._clean_up()

    def list_fds(self) -> list[int]:
        """Return what becomes readable when it has something to say, or has ended."""
        return [] if self._wire is None else [self._wire.fileno(), self._pidfd]

    def handle(self, fd: int) -> None:
        """React to an event."""
        assert self._wire is not None
        messages = self._wire.receive() if fd == self._wire.fileno() else None
        for message in messages or ():
            self._take(message)
        if messages is None:
            self._clean_up()

    def keep_promises(self, signals: WorkerSignals) -> None:
        """Hand its runs back when the worker has to; load again what could not be loaded."""
        is_due = self._needs_reload and not self.is_loading and boottime() >= self._paused_until
        if is_due and not signals.stops_claims:
            self.reload()
        if self._wire is None:
            return
        if signals.stops_work and not self._is_stopping:
            self._is_stopping = True
            os.kill(self._pid, signal.SIGTERM)
        if signals.hurries and not self._is_killed:
            self._is_killed = True
            signal_group(self._pid, signal.SIGKILL)

    def end(self) -> None:
        """End the process; what it still runs is killed."""
        if self._wire is None:
            return
        if not self.is_busy:
            self._wire.close()
            poller = select.poll()
            poller.register(self._pidfd, select.POLLIN)
            poller.poll(END_SECONDS * 1000)
        self._clean_up()

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._serial += 1
        self._token = self._guard.new_token()
        environ = dict(self._request.environ)
        environ[TOKEN_VARIABLE] = join_tokens(environ.get(TOKEN_VARIABLE, ""), self._token)
        kill_at = boottime() + FOREVER_SECONDS
        self._guard.expect(self._token, kill_at, GRACE_SECONDS)
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-m", MODULE],
                environ,
                file_actions=[(os.POSIX_SPAWN_DUP2, theirs.fileno(), 0), (os.POSIX_SPAWN_DUP2, 2, 1)],
                setsid=True,
                setsigmask=(),
                setsigdef=(signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
            )
        except OSError as error:
            ours.close()
            self._guard.forget(self._token)
            self._report.once(f"The process of the pipelines cannot be started: {error.strerror}.")
            self._pause(needs_reload=True)
            return
        finally:
            theirs.close()
        self._pidfd = os.pidfd_open(self._pid)
        self._guard.watch(self._token, self._pid, kill_at, GRACE_SECONDS)
        self._wire = Wire(ours)
        self.is_loading, self._is_stopping, self._is_killed = True, False, False
        self._wire.send(
            {
                "claimant": f"{self._guard.name}{self._serial:04x}",
                "store": self._request.store_url,
                "cwd": self._request.cwd,
                "spark_idle_seconds": self._request.spark_idle_seconds,
                "quiet": self._request.quiet,
            }
        )

    def _take(self, message: dict[str, Any]) -> None:
        if "say" in message:
            self._report.once(message["say"]) if message.get("once") else self._report.warn(message["say"])
        elif "jobs" in message:
            self._jobs, self.is_loading = message["jobs"], False
            if message.get("again"):
                self._pause(needs_reload=True)
            else:
                self._needs_reload, self._pause_seconds = False, FIRST_PAUSE_SECONDS
        elif "claimed" in message:
            self._answered(message["claimed"])
            run_id = message["run_id"]
            self._running[run_id] = ActiveRun(message["claimed"], message["dataid"], run_id, boottime())
        elif "ended" in message:
            if self._running.pop(message["run_id"], None) is None:
                self._answered(message["ended"])
            self._ended.append(PipelineEnd(message["ended"], message["found"], message["done"]))

    def _answered(self, job: str) -> None:
        if job in self._asked:
            self._asked.remove(job)

    def _clean_up(self) -> None:
        """Clean up after the process: its lock shows others that its runs are dead."""
        if self._pid:
            kill_escaped(self._token, self._pid)
            self._guard.forget(self._token)
            _, status = os.waitpid(self._pid, 0)
            os.close(self._pidfd)
            # What was wrong while it loaded it has said itself, unless it was killed.
            if status and not self._is_stopping and (not self.is_loading or os.WIFSIGNALED(status)):
                self._report.warn("The process of the pipelines has died; it is started again when needed.")
            if status and not self._is_stopping:
                self._pause(needs_reload=self.is_loading)
        if self._wire is not None:
            self._wire.close()
        self._pid, self._pidfd, self._wire = 0, -1, None
        self.is_loading = False
        # A request that it did not answer is made again; its runs are found dead through their lock.
        self._asked, self._running = [], {}

    def _pause(self, needs_reload: bool) -> None:
        """Leave it alone for a while, longer each time; what it has not loaded it loads after that."""
        self._needs_reload = self._needs_reload or needs_reload
        self._paused_until = boottime() + self._pause_seconds
        self._pause_seconds = min(self._pause_seconds * 2, LONGEST_PAUSE_SECONDS)
