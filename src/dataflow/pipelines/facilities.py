"""What every run of a pipeline works with: settings, folders, one Spark session, the run's log."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from dataflow.config.project import STATE_FOLDER
from dataflow.model.url_text import percent_encode
from dataflow.pipelines.spark.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dataflow.config.settings import Config
    from dataflow.model.records import Run
    from dataflow.pipelines.settings import PipelineSettings
    from dataflow.store.store import Store


class Progress(Protocol):
    """Told how a run gets on."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """The stage it is in, and how many pages and rows, of how many if that is known, are through."""


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
        self._session: SparkSession | None = None
        self._lock = threading.Lock()

    @property
    def spark_log(self) -> str:
        """Where Spark and its Java write."""
        return os.path.join(self.config.log_dir, f"spark-{os.getpid()}.log")

    def session(self) -> SparkSession:
        """The worker's session, or a child of it for the run."""
        with self._lock:
            if self._session is None:
                self.progress.show("starting Spark")
                self._session = start_session(self.settings.spark, self.spark_log)
            return self._session

    @property
    def streams(self) -> int:
        """How many tasks work side by side on what arrives."""
        limit = self.environ.get("INGEST_TASK_CONCURRENCY", "")
        cores = os.cpu_count() or 1
        return max(1, int(limit)) if limit.isdecimal() else max(1, cores)

    def staging_folder(self, run: Run, run_id: int) -> str:
        """Where a run of this work keeps what it fetches."""
        return os.path.join(self.staging_of(run.job, run.dataid), str(run_id))

    def staging_of(self, job: str, dataid: str) -> str:
        """Where all runs of one work keep what they fetch."""
        root = os.path.join(self.config.project_dir, STATE_FOLDER, "staging")
        return os.path.join(root, job, percent_encode(dataid))

    def list_earlier(self, run: Run) -> tuple[int, ...]:
        """Earlier runs of the same work since it was last done, newest first."""
        rows = self.store.rows("reading.earlier_runs", work_id=run.work_id, run_id=run.run_id)
        return tuple(row[0] for row in rows)

    def log(self, run: Run, text: str) -> None:
        """Adds a line to the run's log."""
        path = os.path.join(self.config.log_dir, f"{run.run_id}.log")
        os.makedirs(self.config.log_dir, mode=0o700, exist_ok=True)
        with open(
            os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8"
        ) as file:
            file.write(text + "\n")

    def close(self) -> None:
        """Ends the session, if there is one."""
        if self._session is not None:
            self._session.stop()
            self._session = None
