"""The pipeline worker: claims, runs and finishes one interval after another, as RunJob does."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy

from dataflow import failpoints
from dataflow.actions.next_commands import resubmit_command, shell
from dataflow.client import ClaimedRun, Flow
from dataflow.errors import DataFlowError, FilesFailed, JobFailed, LeaseLost, SparkFailed, SparkGone
from dataflow.model.records import DATASET, PYTHON, VIEW
from dataflow.model.wording import plural
from dataflow.pipelines.declare.catalog import Definition
from dataflow.pipelines.register.pipeline_jobs import call_for
from dataflow.pipelines.run.dataset_run import DatasetRun
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.pipeline_run import PipelineRun, watched
from dataflow.pipelines.run.python_run import PythonRun
from dataflow.pipelines.run.streams import Outcome, Streams
from dataflow.pipelines.run.view_run import ViewRun
from dataflow.pipelines.spark.session import explained

KINDS: dict[str, type[PipelineRun]] = {DATASET: DatasetRun, VIEW: ViewRun, PYTHON: PythonRun}
"""The class that runs each kind of pipeline."""
TRACED = (SparkFailed, JobFailed, FilesFailed)
"""Errors raised by the project's code: the log gets their traceback."""


class PipelineWorker:
    """Runs the intervals of one pipeline."""

    def __init__(
        self,
        flow: Flow,
        facilities: Facilities,
        definition: Definition,
        say: Callable[[str], None],
        quiet: bool = False,
    ) -> None:
        self._flow = flow
        self._facilities = facilities
        self._definition = definition
        self._tell = say
        self._quiet = quiet  # print only warnings and errors
        self._timeout_seconds: float | None = None
        self._streams = Streams()

    def run(
        self, drain: bool, dataid: str | None, timeout_seconds: float | None = None, streams: int = 1
    ) -> Outcome:
        """Runs the next interval, all of them with `drain`, or the given one, due or not.

        With `drain`, up to `streams` intervals run at the same time, each in a thread and on a connection of
        its own. They share the Spark session, the claimant and its heartbeat.
        """
        KINDS[self._definition.kind].refuse_impossible(self._definition, self._facilities)
        if dataid is not None:
            dataid = call_for(self._facilities.store, self._definition, dataid)
        self._timeout_seconds = timeout_seconds
        if not drain:
            self._run_one(dataid)
        elif streams == 1:
            self._streams.drain(lambda: self._run_one(None))
        else:
            self._streams.drain_in_threads([self._drain_beside] * streams, self._flow.presence)
        return self._streams.outcome

    def _drain_beside(self) -> None:
        """Drains in this thread, on its own connection to the store."""
        beside = copy(self)
        store = self._facilities.store.separate()
        beside._facilities = self._facilities.beside(store)
        with self._flow.beside(store) as beside._flow:
            self._streams.drain(lambda: beside._run_one(None))

    def _run_one(self, dataid: str | None) -> bool:
        """Claims and runs one interval; False if there was none."""
        job = self._definition.job
        began_at = time.monotonic()
        claimed: ClaimedRun | None = None
        try:
            with self._flow.claim(job, dataid, self._timeout_seconds) as claimed:
                if claimed is None:
                    return False
                failpoints.reach("after_claim")
                run = KINDS[self._definition.kind](self._definition, claimed, self._facilities)
                with (
                    self._facilities.running(claimed.run),
                    watched(claimed, run.cancel),
                    self._files_explained(),
                    explained(f"dataflow logs {claimed.run_id}"),
                ):
                    run.execute()
                failpoints.reach("before_finish")
            self._facilities.staging.remove_until(claimed.run)
            self._streams.count_done(claimed.run.work_id)
            self._say_done(claimed, run.warning, time.monotonic() - began_at)
        except LeaseLost as error:
            self._streams.stop_claiming(error)
            self._say(f"{job}: {error}")
            return False
        except DataFlowError as error:
            if claimed is None:
                raise
            self._failed(claimed, error)
            if isinstance(error, SparkGone):
                self._streams.stop_claiming(error)
        except Exception as error:
            if claimed is not None:  # unexpected: always log it
                self._facilities.log.write(claimed.run, "".join(traceback.format_exception(error)))
            raise
        return True

    @contextmanager
    def _files_explained(self) -> Iterator[None]:
        """Turns a system error about a file into FilesFailed, with its name and what to do."""
        try:
            yield
        except OSError as error:
            named = f"{error.filename}: " if error.filename else ""
            folder = self._facilities.config.project_dir
            raise FilesFailed(
                f"{named}{error.strerror or error}. Check the file, and the free space and permissions in "
                f"{folder}."
            ) from error

    def _say_done(self, claimed: ClaimedRun, warning: str, seconds: float) -> None:
        interval = f"{claimed.run.job} {claimed.dataid}"
        with self._facilities.progress.paused():
            if not self._quiet:
                rows = told_rows(claimed.rows)
                self._say(f"{interval}: done{rows} in {seconds:.1f} s (run {claimed.run_id})")
            if warning:
                self._say(f"{interval}: warning: {warning}")
            self._say_log_problem()

    def _failed(self, claimed: ClaimedRun, error: DataFlowError) -> None:
        job, dataid = claimed.run.job, claimed.dataid
        work = self._facilities.store.read.find_work(claimed.run.job_id, dataid)
        self._streams.count_failed(error, work)
        self._facilities.log.write(claimed.run, self._logged(error))
        if isinstance(error, SparkFailed):
            self._facilities.spark.keep_log(claimed.run)
        again, following = resubmit_command(job, dataid), self._flow.why(job, dataid).next
        if following == again:  # `run` alone does not retry failed work
            following = f"{again} && {shell('dataflow', 'run', job)}"
        with self._facilities.progress.paused():
            self._say(f"{job} {dataid}: {error}")
            self._say_log_problem()
            self._say(f"log: dataflow logs {claimed.run_id}    why: {shell('dataflow', 'why', job, dataid)}")
            self._say(f"next, once that is fixed: {following}")

    def _say_log_problem(self) -> None:
        if self._facilities.log.problem:
            self._say(f"warning: {self._facilities.log.problem}")

    def _logged(self, error: DataFlowError) -> str:
        """The error for the run's log: one sentence, then a traceback if the project's code raised it."""
        sentence = f"{error.code}: {error}"
        if self._facilities.environ.get("DATAFLOW_DEBUG"):
            return f"{sentence}\n\n{''.join(traceback.format_exception(error))}"
        if not isinstance(error, TRACED):
            return sentence
        cause = error.__cause__ or error
        folder = os.path.join(self._facilities.config.project_dir, "")
        own = [
            f"  {frame.filename.removeprefix(folder)}:{frame.lineno}: {frame.line}"
            for frame in traceback.extract_tb(cause.__traceback__)
            if frame.filename.startswith(folder)
        ]
        return "\n".join([sentence, *own, "", *map(str.rstrip, traceback.format_exception(cause))])

    def _say(self, text: str) -> None:
        self._tell(self._facilities.log.redact(text))


def told_rows(rows: Mapping[str, int]) -> str:
    """The row counts, per output if there are several; "" if they are not known."""
    if len(rows) < 2:
        return "".join(f", {count:,} {plural(count, 'row')}" for count in rows.values())
    return "".join(f", {count:,} {plural(count, 'row')} of {dataset}" for dataset, count in rows.items())
