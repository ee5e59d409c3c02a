"""A project with pipelines, run in this process on the tests' one Spark session."""

from __future__ import annotations

import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from dataflow.cli.progress import PipelineProgress
from dataflow.client import Flow
from dataflow.config.settings import load_config
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.lake.manifest import read_frame
from dataflow.pipelines.register.pipeline_jobs import register_pipelines
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.streams import Outcome
from dataflow.pipelines.run.worker import PipelineWorker
from dataflow.runjob.presence import Presence
from dataflow.store.opener import open_store
from dataflow.store.store import Store

HAWK = {"HAWK_ID": "me", "HAWK_KEY": "a-long-enough-key"}


class SharedSession(Facilities):
    """Facilities on a session that is there already."""

    def lend(self, session: SparkSession) -> SharedSession:
        self.spark.shared.session = session
        return self


class Workshop:
    """One project folder with its store."""

    def __init__(self, path: Path, spark: SparkSession) -> None:
        self.path = path
        self.spark = spark
        self.said: list[str] = []
        self.environ: dict[str, str] = dict(HAWK)
        path.mkdir(exist_ok=True)
        (path / "dataflow.toml").touch()
        (path / "pipelines").mkdir(exist_ok=True)
        self.presence: Presence | None = None  # of the newest run
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        if self._store is None:
            config = load_config(str(self.path), {})
            self._store = open_store(config.store_url, config.actor, config.store_schema)
        return self._store

    def use(self, file: str) -> None:
        """Uses another SQLite store from now on."""
        (self.path / "dataflow.toml").write_text(f'store = "sqlite:///.dataflow/{file}"\n')
        self._store = None

    def write(self, name: str, text: str) -> None:
        """Writes a file of pipelines."""
        (self.path / "pipelines" / name).write_text(textwrap.dedent(text))

    def catalog(self) -> Catalog:
        return Catalog(str(self.path), self.environ)

    def register(self) -> None:
        """Registers all pipelines of the project."""
        catalog = self.catalog()
        assert not catalog.problems, catalog.problems
        register_pipelines(self.store, catalog.definitions.values(), self.settings())

    def settings(self) -> PipelineSettings:
        return PipelineSettings(str(self.path), self.environ, lambda: "")

    def run(self, name: str, dataid: str | None = None, drain: bool = False, streams: int = 1) -> Outcome:
        """Runs intervals of a pipeline, as `dataflow run NAME` does."""
        self.register()
        catalog = self.catalog()
        config = load_config(str(self.path), {})
        store = open_store(config.store_url, config.actor, config.store_schema)
        settings = self.settings()
        with Flow(config, store, settings.secrets) as flow:
            self.presence = flow.presence
            facilities = SharedSession(config, store, settings, catalog.constants, PipelineProgress()).lend(
                self.spark
            )
            worker = PipelineWorker(flow, facilities, catalog.get(name), self.said.append)
            return worker.run(drain, dataid, streams=streams)

    def log(self) -> str:
        """What the runs so far have left in their logs."""
        return "".join(path.read_text() for path in (self.path / ".dataflow" / "logs").glob("*.log"))

    def resubmit(self, job: str, dataid: str) -> None:
        """Has an interval done again."""
        plan = self.store.find_plan(job)
        assert plan is not None
        self.store.resubmit(plan, [(dataid, sort_key(dataid, Grain(plan.grain)))], "a test wants it")

    def let_the_lease_lapse(self) -> None:
        """As if the five minutes of the lease were over."""
        self.poke("update run set lease_until = 0")

    def poke(self, statement: str) -> None:
        """Changes the SQLite store behind its back."""
        with closing(apsw.Connection(str(self.path / ".dataflow" / "dataflow.db"))) as store:
            store.set_busy_timeout(30_000)
            store.execute(statement)

    def chunk(self, dataset: str, dataid: str) -> Any:
        """The published chunk of a dataset: status, version and location."""
        chunks = self.store.read.list_chunks(self._dataset_id(dataset))
        return next((chunk for chunk in chunks if chunk.dataid == dataid), None)

    def rows(self, dataset: str, dataid: str) -> list[dict[str, Any]]:
        """The published rows of a chunk in the lake."""
        location = self.path / self.chunk(dataset, dataid).location
        frame = read_frame(str(location))
        tables = [pq.ParquetFile(path).read() for path in frame.files]
        return pa.concat_tables(tables).to_pylist() if tables else []

    def _dataset_id(self, dataset: str) -> int:
        found = self.store.find_dataset(dataset)
        assert found is not None
        return found[0]
