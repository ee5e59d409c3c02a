"""What every run of a pipeline uses: settings, store, logs, staging folders and one Spark session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from dataflow.model.record import record
from dataflow.pipelines.run.run_files import PipelineLog, StagingFolders
from dataflow.pipelines.run.spark_sessions import SparkSessions
from dataflow.runjob.environment import own_secrets

if TYPE_CHECKING:
    from dataflow.config.settings import Config
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.store.store import Store


class Progress(Protocol):
    """Receives the progress of a run."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Shows the stage, and the pages and rows done so far, with the total if it is known."""


class Silence:
    """Discards progress."""

    def show(self, stage: str, pages: int = 0, rows: int = 0, total: int | None = None) -> None:
        """Shows nothing."""


@record
class ProjectValues:
    """The context a project's files are read in: the environment, and the constants for templates."""

    environ: Mapping[str, str]
    constants: Mapping[str, object]
    _hidden = ("environ",)


class Facilities:
    """One worker's."""

    def __init__(
        self,
        config: Config,
        store: Store,
        settings: PipelineSettings,
        values: ProjectValues,
        progress: Progress,
    ) -> None:
        self.config = config
        self.store = store
        self.settings = settings
        self.environ, self.constants = values.environ, values.constants
        self.progress = progress
        settings.secrets.add(*own_secrets(values.environ, config.store_url).values())
        self.log = PipelineLog(config.log_dir, settings.secrets)
        self.staging = StagingFolders(config.project_dir, store.read.get_store_id())
        self.spark = SparkSessions(config.log_dir, settings, values.environ, self.log, progress)
