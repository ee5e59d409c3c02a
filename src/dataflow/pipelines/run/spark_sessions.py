"""The Spark session of this process, started when a run first needs it, and the child session of each run."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dataflow.errors import ConfigError
from dataflow.model.records import Run
from dataflow.model.wording import quoted
from dataflow.pipelines.declare.settings import PipelineSettings
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
    from dataflow.pipelines.run.facilities import Facilities, Progress
    from dataflow.pipelines.spark.annotations import SparkSession

CONCURRENCY = "INGEST_TASK_CONCURRENCY"
MOST_COPIED = 1_000_000
"""Bytes of Spark's own log that are copied to the log of a run."""


class SharedSession:
    """The session of this process, started by the first stream that needs it unless there is one."""

    def __init__(self, log_dir: str) -> None:
        self.log_path = os.path.join(log_dir, f"spark-{os.getpid()}.log")
        self.has_streams = False
        self.session: SparkSession | None = None
        self._lock = threading.Lock()

    def get(self, settings: PipelineSettings, progress: Progress) -> SparkSession:
        """The session."""
        with self._lock:
            if self.session is None:
                progress.show("starting Spark")
                self.session = start_session(settings.spark, self.log_path, progress.paused)
            return self.session

    def stop(self) -> None:
        """Stops the session, if there is one."""
        with self._lock:
            if self.session is not None:
                stop_session(self.session)
                self.session = None


class SparkSessions:
    """One stream's use of the session: a child session for each run."""

    def __init__(self, shared: SharedSession, facilities: Facilities) -> None:
        self.shared = shared
        self.log_path = shared.log_path
        self._facilities = facilities
        self._child: SparkSession | None = None
        self._run: Run | None = None
        self._said_before = 0
        self._slots = 0
        self._lock = threading.Lock()

    @contextmanager
    def running(self, run: Run) -> Iterator[None]:
        """Gives this run its own child session; what Spark logs meanwhile belongs to its log."""
        self._run = run
        self._said_before = os.path.getsize(self.log_path) if os.path.exists(self.log_path) else 0
        try:
            yield
        finally:
            with self._lock:
                if self._child is not None:
                    end_session(self._child)
                self._child = self._run = None

    def get(self) -> SparkSession:
        """The session of the current run; the shared one when none runs."""
        session = self.shared.get(self._facilities.settings, self._facilities.progress)
        with self._lock:
            if self._run is None:
                return session
            if self._child is None:
                self._child = new_session(session)
                place, log = self._facilities.settings.spark.place, self._facilities.log
                log.write(self._run, f"Spark {session.version} at {place}; it writes to {self.log_path}")
                if ui := find_ui(session):
                    log.write(self._run, f"Spark UI: {ui}")
                    self._facilities.progress.show(f"Spark UI: {ui}")
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
            whose = "while this and other runs were at work" if self.shared.has_streams else "of this run"
            self._facilities.log.write(run, f"\nSpark's log {whose} ({self.log_path}):\n{said}")

    @property
    def streams(self) -> int:
        """How many tasks process incoming parts concurrently."""
        limit = self._facilities.environ.get(CONCURRENCY, "")
        if limit and (not limit.isdecimal() or int(limit) < 1):
            raise ConfigError(f"{CONCURRENCY} is {quoted(limit)}; set it to a number such as 4, or unset it.")
        if limit:
            return int(limit)
        if self._facilities.settings.spark.is_local:
            return os.cpu_count() or 1
        self._slots = self._slots or count_slots(self.get())
        return self._slots
