"""What every run of a pipeline uses: settings, store, logs, staging folders and one Spark session."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from typing import Protocol, Self

from dataflow.config.settings import Config
from dataflow.model.location import run_folder
from dataflow.model.records import Run
from dataflow.model.url_text import percent_encode
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.run.spark_sessions import SharedSession, SparkSessions
from dataflow.private_files import STATE_FOLDER, open_with_folder
from dataflow.runjob.environment import own_secrets
from dataflow.secrets.known import KnownSecrets
from dataflow.store.run_reads import EarlierRun
from dataflow.store.store import Store


class Progress(Protocol):
    """Receives the progress of a run."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Shows the stage, and the pages and rows done so far, with the total if it is known."""

    def end(self) -> None:
        """The run is over."""

    def paused(self) -> AbstractContextManager[object]:
        """Keeps other threads from printing meanwhile."""

    def beside(self) -> Progress:
        """The progress of another run that is under way at the same time."""


class PipelineLog:
    """Writes the logs of runs, without secrets."""

    def __init__(self, folder: str, secrets: KnownSecrets) -> None:
        self._folder = folder
        self._secrets = secrets
        self.problem = ""  # why a line is missing from the run's log

    def write(self, run: Run, text: str) -> None:
        """Adds a line to the run's log.

        If it cannot be written the run continues: what it may have published matters more.
        """
        path = os.path.join(self._folder, f"{run.run_id}.log")
        try:
            with open(path, "a", encoding="utf-8", opener=open_with_folder) as file:
                file.write(self.redact(text) + "\n")
        except OSError as error:
            self.problem = f"{path} cannot be written: {error.strerror or error}."

    def redact(self, text: str) -> str:
        """The text without any secret that was looked up or decrypted so far."""
        return self._secrets.redact_text(text)


class StagingFolders:
    """The folders where runs keep what they fetch until it is published."""

    def __init__(self, project_dir: str, store_id: str) -> None:
        self._root = os.path.join(project_dir, STATE_FOLDER, "staging")
        self._store_id = store_id

    def of_work(self, job: str, dataid: str) -> str:
        """The folder of all runs of one work."""
        return os.path.join(self._root, job, percent_encode(dataid))

    def of_run(self, run: Run, earlier: EarlierRun | None = None) -> str:
        """The folder of a run, or of an earlier run of the same work."""
        who = earlier or run
        name = run_folder(who.run_id, who.claimant, self._store_id)
        return os.path.join(self.of_work(run.job, run.dataid), name)

    def remove_until(self, run: Run) -> None:
        """Removes the folders of a run and of all earlier runs of the same work in this store."""
        root = self.of_work(run.job, run.dataid)
        own = re.compile(rf"([0-9]+)-{self._store_id[:8]}-[0-9a-f]{{16}}")
        for found in map(own.fullmatch, os.listdir(root) if os.path.isdir(root) else ()):
            if found and int(found[1]) <= run.run_id:
                shutil.rmtree(os.path.join(root, found[0]), ignore_errors=True)


class Facilities:
    """One worker's, or one stream's of it."""

    def __init__(
        self,
        config: Config,
        store: Store,
        settings: PipelineSettings,
        constants: Mapping[str, object],
        progress: Progress,
    ) -> None:
        self.config = config
        self.settings = settings
        self.environ = settings.environ
        self.constants = constants  # for templates
        settings.secrets.add(*own_secrets(settings.environ, config).values())
        self.staging = StagingFolders(config.project_dir, store.read.get_store_id())
        self._equip(store, progress, SharedSession(config.log_dir))

    def share_session(self, other: Facilities) -> None:
        """Uses the Spark session of another one, which may have been started already."""
        self._equip(self.store, self.progress, other.spark.shared)

    def beside(self, store: Store) -> Self:
        """The same for another thread, on its own connection; they share the Spark session."""
        other = copy(self)
        self.spark.shared.has_streams = True
        other._equip(store, self.progress.beside(), self.spark.shared)
        return other

    @contextmanager
    def running(self, run: Run) -> Iterator[None]:
        """Gives a run its own Spark session, log and progress."""
        self.log.problem = ""
        try:
            with self.spark.running(run):
                yield
        finally:
            self.progress.end()

    def _equip(self, store: Store, progress: Progress, session: SharedSession) -> None:
        """Sets what each stream has for itself."""
        self.store = store
        self.progress = progress
        self.log = PipelineLog(self.config.log_dir, self.settings.secrets)
        self.spark = SparkSessions(session, self)
