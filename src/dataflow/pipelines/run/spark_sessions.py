"""One worker's Spark session, started when a run first needs it, and the child session of each run."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dataflow.errors import ConfigError
from dataflow.model.wording import quoted
from dataflow.pipelines.spark.session import (
    count_slots,
    end_session,
    find_ui,
    new_session,
    start_session,
    stop_session,
)
from dataflow.pipelines.spark.tasks import tag_of
from dataflow.private_files import open_private

if TYPE_CHECKING:
    from dataflow.model.records import Run
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.pipelines.run.facilities import Progress
    from dataflow.pipelines.run.run_files import PipelineLog
    from dataflow.pipelines.spark.annotations import SparkSession

CONCURRENCY = "INGEST_TASK_CONCURRENCY"
MOST_COPIED = 1_000_000
"""Bytes of Spark's own log that are copied to the log of a run."""


class SparkSessions:
    """The session, and the run that uses it."""

    def __init__(
        self,
        log_dir: str,
        settings: PipelineSettings,
        environ: Mapping[str, str],
        log: PipelineLog,
        progress: Progress,
    ) -> None:
        self._settings = settings
        self._environ = environ
        self._log = log
        self._progress = progress
        self._session: SparkSession | None = None
        self._child: SparkSession | None = None
        self._run: Run | None = None
        self._said_before = 0
        self._slots = 0
        self._lock = threading.Lock()
        self.log_path = os.path.join(log_dir, f"spark-{os.getpid()}.log")

    def lend(self, session: SparkSession) -> None:
        """Uses an existing session."""
        self._session = session

    def begin(self, run: Run) -> None:
        """Starts a child session for this run; Spark's log belongs to the run from now on."""
        with self._lock:
            self._end_child()
            self._run = run
            self._log.problem = ""
            self._said_before = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
            if self._session is not None:
                self._announce(self._session)

    def get(self) -> SparkSession:
        """The session of the current run; the worker's own before the first run."""
        with self._lock:
            if self._session is None:
                self._progress.show("starting Spark")
                self._session = start_session(self._settings.spark, self.log_path)
                self._announce(self._session)
            if self._run is None:
                return self._session
            if self._child is None:
                self._child = new_session(self._session)
            self._child.addTag(tag_of(self._run.run_id))  # for what this thread runs in it
            return self._child

    def interrupt(self) -> None:
        """Cancels everything the run has under way on Spark; called from another thread."""
        with self._lock:
            if self._child is not None:
                self._child.interruptAll()

    def keep_log(self, run: Run) -> None:
        """Copies what Spark logged since the run started to the run's log."""
        try:
            with open(self.log_path, "rb", opener=open_private) as file:
                length = file.seek(0, os.SEEK_END)
                if file.seek(max(self._said_before, length - MOST_COPIED)) > self._said_before:
                    file.readline()  # a partial line may start inside a secret
                said = file.read().decode(errors="replace").strip()
        except FileNotFoundError:
            return
        if said:
            self._log.write(run, f"\nSpark's log of this run ({self.log_path}):\n{said}")

    @property
    def streams(self) -> int:
        """How many tasks process incoming parts concurrently."""
        limit = self._environ.get(CONCURRENCY, "")
        if limit and (not limit.isdecimal() or int(limit) < 1):
            raise ConfigError(f"{CONCURRENCY} is {quoted(limit)}; set it to a number such as 4, or unset it.")
        if limit:
            return int(limit)
        if self._settings.spark.is_local:
            return os.cpu_count() or 1
        self._slots = self._slots or count_slots(self.get())
        return self._slots

    def close(self) -> None:
        """Stops the session, if there is one."""
        with self._lock:
            self._end_child()
            if self._session is not None:
                stop_session(self._session)
                self._session = None

    def _announce(self, session: SparkSession) -> None:
        if self._run is None:
            return
        place = self._settings.spark.place
        self._log.write(self._run, f"Spark {session.version} at {place}; it writes to {self.log_path}")
        if ui := find_ui(session):
            self._log.write(self._run, f"Spark UI: {ui}")
            self._progress.show(f"Spark UI: {ui}")

    def _end_child(self) -> None:
        if self._child is not None:
            end_session(self._child)
            self._child = None
