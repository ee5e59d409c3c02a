"""What every run of a pipeline works with: settings, folders, one Spark session, the run's log."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from dataflow.errors import ConfigError
from dataflow.model.url_text import percent_encode
from dataflow.model.wording import quoted
from dataflow.pipelines.handover.records import Earlier, claim_of
from dataflow.pipelines.spark.session import (
    count_slots,
    end_session,
    find_ui,
    new_session,
    start_session,
    stop_session,
)
from dataflow.pipelines.spark.tasks import tag_of
from dataflow.private_files import STATE_FOLDER, open_private, open_with_folder
from dataflow.runjob.environment import own_secrets

if TYPE_CHECKING:
    from dataflow.config.settings import Config
    from dataflow.model.records import Run
    from dataflow.pipelines.register.settings import PipelineSettings
    from dataflow.pipelines.spark.annotations import SparkSession
    from dataflow.store.store import Store


CONCURRENCY = "INGEST_TASK_CONCURRENCY"
MOST_COPIED = 1_000_000
"""So much of what Spark said during a run, in bytes, is kept in the run's log."""


class Progress(Protocol):
    """Told how a run gets on."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """The stage it is in, and how many pages and rows, of how many if that is known, are through."""


class Silence:
    """A progress nobody looks at."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Shows nothing."""


class Facilities:
    """One worker's; the session is started when a run first needs it."""

    def __init__(
        self,
        config: Config,
        store: Store,
        settings: PipelineSettings,
        surroundings: tuple[Mapping[str, str], Mapping[str, object]],
        progress: Progress,
    ) -> None:
        self.config = config
        self.store = store
        self.settings = settings
        self.environ, self.constants = surroundings
        self.progress = progress
        settings.secrets.add(*own_secrets(self.environ, config.store_url).values())
        self._session: SparkSession | None = None
        self._child: SparkSession | None = None
        self._run: Run | None = None
        self._said_before = 0
        self._slots = 0
        self._lock = threading.Lock()
        self.log_problem = ""  # why the log of the run lacks a line

    @property
    def spark_log(self) -> str:
        """Where Spark and its Java write."""
        return os.path.join(self.config.log_dir, f"spark-{os.getpid()}.log")

    def begin(self, run: Run) -> None:
        """From here on the session is a child of this run's own, and what Spark says belongs to it."""
        with self._lock:
            self._end_child()
            self._run = run
            self.log_problem = ""
            self._said_before = os.path.getsize(self.spark_log) if os.path.exists(self.spark_log) else 0
            if self._session is not None:
                self._announce(self._session)

    def session(self) -> SparkSession:
        """The session of the run that has begun; the worker's own before any has."""
        with self._lock:
            if self._session is None:
                self.progress.show("starting Spark")
                self._session = start_session(self.settings.spark, self.spark_log)
                self._announce(self._session)
            if self._run is None:
                return self._session
            if self._child is None:
                self._child = new_session(self._session)
            self._child.addTag(tag_of(self._run.run_id))  # for what this thread does in it
            return self._child

    def interrupt(self) -> None:
        """Ends whatever the run has under way on Spark; from another thread."""
        with self._lock:
            if self._child is not None:
                self._child.interruptAll()

    def keep_spark_log(self, run: Run) -> None:
        """Adds what Spark has said since the run began to the run's log."""
        try:
            with open(self.spark_log, "rb", opener=open_private) as file:
                length = file.seek(0, os.SEEK_END)
                if file.seek(max(self._said_before, length - MOST_COPIED)) > self._said_before:
                    file.readline()  # the rest of a line may begin within a secret
                said = file.read().decode(errors="replace").strip()
        except FileNotFoundError:
            return
        if said:
            self.log(run, f"\nWhat Spark said meanwhile ({self.spark_log}):\n{said}")

    @property
    def streams(self) -> int:
        """How many tasks work side by side on what arrives."""
        limit = self.environ.get(CONCURRENCY, "")
        if limit and (not limit.isdecimal() or int(limit) < 1):
            raise ConfigError(f"{CONCURRENCY} is {quoted(limit)}; give it a number such as 4, or unset it.")
        if limit:
            return int(limit)
        if self.settings.spark.is_local:
            return os.cpu_count() or 1
        self._slots = self._slots or count_slots(self.session())
        return self._slots

    def staging_folder(self, run: Run, run_id: int) -> str:
        """Where a run of this work keeps what it fetches."""
        return os.path.join(self.staging_of(run.job, run.dataid), str(run_id))

    def list_staging(self, run: Run) -> list[str]:
        """The staging folders of a run and of all runs of its work before it."""
        root = self.staging_of(run.job, run.dataid)
        names = os.listdir(root) if os.path.isdir(root) else []
        return [os.path.join(root, name) for name in names if name.isdecimal() and int(name) <= run.run_id]

    def staging_of(self, job: str, dataid: str) -> str:
        """Where all runs of one work keep what they fetch."""
        root = os.path.join(self.config.project_dir, STATE_FOLDER, "staging")
        return os.path.join(root, job, percent_encode(dataid))

    def list_earlier(self, run: Run) -> tuple[Earlier, ...]:
        """Earlier runs of the same work since it was last done, newest first."""
        runs = self.store.read.list_earlier_runs(run.work_id, run.run_id)
        return tuple(Earlier(one.run_id, claim_of(one.claimant), not one.called_since) for one in runs)

    def log(self, run: Run, text: str) -> None:
        """Adds a line to the run's log, without secrets.

        Where there is no room for it the run goes on: what it may have published counts for more.
        """
        path = os.path.join(self.config.log_dir, f"{run.run_id}.log")
        try:
            with open(path, "a", encoding="utf-8", opener=open_with_folder) as file:
                file.write(self.redact(text) + "\n")
        except OSError as error:
            self.log_problem = f"{path} cannot be written: {error.strerror or error}."

    def redact(self, text: str) -> str:
        """The text without any secret that was looked up or opened so far."""
        return self.settings.secrets.redact_text(text)

    def close(self) -> None:
        """Ends the session, if there is one."""
        with self._lock:
            self._end_child()
            if self._session is not None:
                stop_session(self._session)
                self._session = None

    def _announce(self, session: SparkSession) -> None:
        if self._run is None:
            return
        self.log(
            self._run,
            f"Spark {session.version} at {self.settings.spark.place}; it writes to {self.spark_log}",
        )
        if ui := find_ui(session):
            self.log(self._run, f"Spark UI: {ui}")
            self.progress.show(f"Spark UI: {ui}")

    def _end_child(self) -> None:
        if self._child is not None:
            end_session(self._child)
            self._child = None
