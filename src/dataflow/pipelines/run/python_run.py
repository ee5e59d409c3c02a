"""One run of a Python job: calls its function with the run, then publishes what it wrote."""

from __future__ import annotations

import os
import threading
import traceback
from typing import TYPE_CHECKING

from dataflow.actions.dataset_rules import is_automatic
from dataflow.client import ClaimedRun
from dataflow.errors import BadInput, DataFlowError, InputMoved, JobFailed
from dataflow.model.grain import Grain
from dataflow.model.mapping import LATEST
from dataflow.model.records import JobInput, PlanInput
from dataflow.model.wording import plural
from dataflow.pipelines.declare.definitions import JobDefinition
from dataflow.pipelines.declare.loader import importable
from dataflow.pipelines.lake.manifest import Columns, Frame, Whole
from dataflow.pipelines.lake.parquet_target import LakeTarget
from dataflow.pipelines.register.published_tables import list_tables, read_tables
from dataflow.pipelines.register.spans import Span, interval_of, span_of
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.job_run import Facts, JobRun, PinnedInput
from dataflow.pipelines.run.outputs import Outputs
from dataflow.pipelines.run.pipeline_run import PipelineRun, refuse_lost
from dataflow.pipelines.run.targets import destination_of, lake_target
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.spark.frames import open_frame, open_whole
from dataflow.pipelines.spark.session import is_spark_error
from dataflow.pipelines.spark.tasks import tag_of
from dataflow.store.pins import has_several

if TYPE_CHECKING:
    from dataflow.pipelines.spark.annotations import DataFrame, SparkSession


class PythonRun(PipelineRun):
    """A claimed run of a Python job."""

    _definition: JobDefinition

    def __init__(self, definition: JobDefinition, claimed: ClaimedRun, facilities: Facilities) -> None:
        super().__init__(definition, claimed, facilities)
        self._span = _span_of(definition, claimed)
        self._lock = threading.Lock()
        self._tables: dict[str, Frame | Whole] = {}  # inputs in PostgreSQL that were read
        self._outputs = Outputs(self._make_target, tag_of(claimed.run_id), self.log)

    def execute(self) -> None:
        run = JobRun(_facts_of(self._definition, self._claimed, self._span), self)
        try:
            with self._outputs:
                with importable(self._facilities.config.project_dir):
                    self._call(run)
                run.refuse_unwritten(self._definition.place)
                refuse_lost(self._claimed)
                self._facilities.progress.show("publishing")
                for dataset, (published, evidence) in self._outputs.publish().items():
                    self._claimed.record_rows(dataset, published.rows)
                    self._claimed.record_checked(dataset, evidence)
                    self.log(f"published {published.rows} {plural(published.rows, 'row')} of {dataset}")
        finally:  # what this run, and killed runs before it, read from tables
            self._facilities.staging.remove_until(self._claimed.run)

    def session(self) -> SparkSession:
        """The session of this run alone."""
        return self._facilities.spark.get()

    def read_table(self, source: PinnedInput) -> DataFrame:
        """The rows of an input in PostgreSQL, as published by its pinned run; read once, into files."""
        with self._lock:  # threads may read inputs concurrently
            if source.name not in self._tables:
                self._facilities.progress.show(f"reading {source.name}")
                self._tables[source.name] = self._copy_table(source)
        found = self._tables[source.name]
        if isinstance(found, Frame):
            return open_frame(self.session(), found)
        return open_whole(self.session(), found)

    def stage(self, dataset: str, frame: DataFrame, checks: tuple[Check, ...]) -> None:
        """Stages and checks an output in the lake."""
        self._facilities.progress.show(f"writing {dataset}")
        end = self._span.end if self._span else None
        self._outputs.stage(dataset, frame, checks, self._find_last_rows(dataset), end)

    def _copy_table(self, source: PinnedInput) -> Frame | Whole:
        items = [each for each in self._claimed.prepared.inputs if _name_of(each.source) == source.name]
        item = items[-1]
        store, dataset, dataset_id = self._facilities.store, item.source.dataset, item.source.dataset_id
        several = has_several(item.source)
        places = [(each.dataid, each.location) for each in items]
        tables = list_tables(store, dataset_id, dataset, places, shows_dataid=several)
        newest = store.read.find_newest_ready(dataset_id)
        is_parted = any(table.partition_column or table.is_interval for table in tables)
        if several and not is_parted:
            raise BadInput(
                f"{source.name} reads several chunks, but the table of {dataset.name} does not say which "
                f'chunk a row belongs to. Set mode = "partition" without merging where it is made.'
            )
        if not is_parted and item.source.mapping != LATEST and newest and newest.dataid != item.dataid:
            raise BadInput(
                f"{item.name} is no longer in its table, which holds {newest.dataid} now. Read "
                f'the newest, inputs=["{dataset.name}:latest"], or keep the rows of each dataid where '
                f'{dataset.name} is made: mode = "partition" without merging, or target_db = "lake".'
            )
        run = self._claimed.run
        folder = os.path.join(self._facilities.staging.of_run(run), "tables", str(len(self._tables)))
        try:
            frames = read_tables(tables, self._facilities.settings, folder, self._stop)
        except InputMoved as error:
            raise InputMoved(
                f"{error} The work waits until the run that publishes {dataset.name} ends: "
                f"dataflow chunks {dataset.name}"
            ) from error
        return Whole(tuple(reversed(frames))) if len(frames) > 1 else frames[0]

    def _call(self, run: JobRun) -> None:
        self._facilities.progress.show("running")
        try:
            self._definition.function(run)
        except DataFlowError:
            raise
        except SystemExit as error:  # exit code 0 included: a caller would take it for success
            raise JobFailed(f"{self._place_of(error)}: it called sys.exit({error.code!r})") from error
        except Exception as error:
            if is_spark_error(error):
                error.add_note(f"{self._place_of(error)}: ")  # becomes part of the error message
                raise
            words = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise JobFailed(f"{self._place_of(error)}: {words}") from error

    def _place_of(self, error: BaseException) -> str:
        """The last line in the project's files that led to an error."""
        folder = os.path.join(self._facilities.config.project_dir, "")
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            if frame.filename.startswith(folder):
                return f"{frame.filename.removeprefix(folder)}:{frame.lineno}"
        return self._definition.place

    def _make_target(self, dataset: str, columns: Columns) -> LakeTarget:
        destination = destination_of(self._claimed, dataset, self._facilities.store)
        return lake_target(self._claimed, destination, columns, self._facilities.spark)


def _span_of(definition: JobDefinition, claimed: ClaimedRun) -> Span | None:
    if definition.timing.gives_intervals:
        return interval_of(definition.timing, claimed.dataid)
    plan = claimed.prepared.plan
    return span_of(claimed.dataid, Grain(plan.grain), plan.timezone)


def _name_of(source: PlanInput) -> str:
    return str(JobInput(source.dataset.name, source.mapping))


def _facts_of(definition: JobDefinition, claimed: ClaimedRun, span: Span | None) -> Facts:
    sources = []
    for source in claimed.prepared.plan.inputs:
        dataset = source.dataset
        places = tuple(
            [item.location for item in claimed.prepared.inputs if item.source.position == source.position]
        )
        if places and not is_automatic(dataset.name):
            several = places if has_several(source) else ()
            sources.append(PinnedInput(_name_of(source), dataset.name, places[-1], dataset.format, several))
    return Facts(
        job=definition.job,
        dataid=claimed.dataid,
        run_id=claimed.run_id,
        sources=tuple(sources),
        outputs=dict(claimed.prepared.outputs),
        declared=tuple(str(item) for item in definition.inputs),
        span=span,
        hint=f"They are declared at {definition.place}.",
    )
