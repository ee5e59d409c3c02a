"""What every run of a pipeline uses: settings, store, logs, staging folders and one Spark session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from typing import TYPE_CHECKING, Protocol

from dataflow.model.record import record
from dataflow.pipelines.run.run_files import PipelineLog, StagingFolders
from dataflow.pipelines.run.spark_sessions import SharedSession, SparkSessions
from dataflow.runjob.environment import own_secrets

if TYPE_CHECKING:
    from dataflow.config.settings import Config
    from dataflow.model.records import Run
    from dataflow.pipelines.declare.settings import PipelineSettings
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


class Silence:
    """Discards progress."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Shows nothing."""

    def end(self) -> None:
        """Shows nothing."""

    def paused(self) -> AbstractContextManager[object]:
        """Keeps nobody from printing."""
        return nullcontext()

    def beside(self) -> Progress:
        """The same."""
        return self


@record
class ProjectValues:
    """The context a project's files are read in: the environment, and the constants for templates."""

    environ: Mapping[str, str]
    constants: Mapping[str, object]
    _hidden = ("environ",)


class Facilities:
    """One worker's, or one stream's of it."""

    def __init__(
        self,
        config: Config,
        store: Store,
        settings: PipelineSettings,
        values: ProjectValues,
        progress: Progress,
    ) -> None:
        self.config = config
        self.settings = settings
        self.environ, self.constants = values.environ, values.constants
        settings.secrets.add(*own_secrets(values.environ, config.store_url).values())
        self.staging = StagingFolders(config.project_dir)
        self._equip(store, progress, SharedSession(config.log_dir))

    def beside(self, store: Store) -> Facilities:
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
        self.spark = SparkSessions(session, self.settings, self.environ, self.log, progress)
