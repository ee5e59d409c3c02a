"""The pipeline worker: claims, runs and finishes one interval after another, as RunJob does."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from dataflow import failpoints
from dataflow.actions.next_commands import resubmit_command, shell
from dataflow.errors import (
    DataFlowError,
    FilesFailed,
    InputMoved,
    JobFailed,
    LeaseLost,
    SparkFailed,
    SparkGone,
)
from dataflow.model.records import DATASET, PYTHON, VIEW
from dataflow.model.status import WorkState
from dataflow.model.wording import plural
from dataflow.pipelines.register.pipeline_jobs import call_for
from dataflow.pipelines.run.dataset_run import DatasetRun
from dataflow.pipelines.run.leases import watched
from dataflow.pipelines.run.python_run import PythonRun
from dataflow.pipelines.run.view_run import ViewRun
from dataflow.pipelines.spark.session import explained
from dataflow.runjob.handoff import RETRY_WAIT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.client import ClaimedRun, Flow
    from dataflow.pipelines.declare.catalog import Definition
    from dataflow.pipelines.run.facilities import Facilities


class PipelineRun(Protocol):
    """One claimed run of any kind of pipeline."""

    warning: str
    """A warning to report although the run succeeded; usually ""."""

    def execute(self) -> None:
        """Does the work; the claim publishes the output when this returns."""

    def cancel(self) -> None:
        """Stops the work soon; called from another thread."""

    def clean_up(self) -> None:
        """Removes what is no longer needed once the run is published."""


KINDS: dict[str, Any] = {DATASET: DatasetRun, VIEW: ViewRun, PYTHON: PythonRun}
"""The class that runs each kind of pipeline."""
TRACED = (SparkFailed, JobFailed, FilesFailed)
"""Errors raised by the project's code: the log gets their traceback."""


class Outcome:
    """The results of the intervals a worker took."""

    def __init__(self) -> None:
        self.done = self.failed = 0
        self.error: DataFlowError | None = None


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
        self._retries_at: list[float] = []
        self._is_broken = False
        self.outcome = Outcome()

    def run(self, drain: bool, dataid: str | None, timeout_seconds: float | None = None) -> Outcome:
        """Runs the next interval, all of them with `drain`, or the given one, due or not."""
        KINDS[self._definition.kind].refuse_impossible(self._definition, self._facilities)
        if dataid is not None:
            dataid = call_for(self._facilities.store, self._definition, dataid)
        self._timeout_seconds = timeout_seconds
        while (self._run_one(dataid) and drain) or self._waited_for_retry(drain):
            pass
        return self.outcome

    def _waited_for_retry(self, drain: bool) -> bool:
        """Waits for the retry of an interval that failed here, if one is due soon; False otherwise."""
        if not drain or not self._retries_at or self._is_broken:
            return False
        self._retries_at.sort()
        time.sleep(max(0.0, self._retries_at.pop(0) - time.monotonic()))
        return True

    def _expect_retry(self, claimed: ClaimedRun, error: DataFlowError) -> None:
        work = self._facilities.store.read.find_work(claimed.run.job_id, claimed.dataid)
        if isinstance(error, InputMoved) or work is None or work.state is not WorkState.WAITING:
            return
        if work.wait_seconds is not None and work.wait_seconds <= RETRY_WAIT_SECONDS:
            self._retries_at.append(time.monotonic() + work.wait_seconds)

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
                run = self._make_run(claimed)
                self._facilities.spark.begin(claimed.run)
                with (
                    watched(claimed, run.cancel),
                    self._files_explained(),
                    explained(f"dataflow logs {claimed.run_id}"),
                ):
                    run.execute()
                failpoints.reach("before_finish")
            run.clean_up()
            self.outcome.done += 1
            seconds = time.monotonic() - began_at
            if not self._quiet:
                rows = told_rows(claimed.rows)
                self._say(f"{job} {claimed.dataid}: done{rows} in {seconds:.1f} s (run {claimed.run_id})")
            if run.warning:
                self._say(f"{job} {claimed.dataid}: warning: {run.warning}")
            self._say_log_problem()
        except LeaseLost as error:
            self.outcome.error = error
            self._is_broken = True
            self._say(f"{job}: {error}")
            return False
        except DataFlowError as error:
            if claimed is None:
                raise
            self._failed(claimed, error)
            self._is_broken = isinstance(error, SparkGone)
            return not self._is_broken
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

    def _failed(self, claimed: ClaimedRun, error: DataFlowError) -> None:
        self.outcome.failed += 1
        self.outcome.error = error
        job, dataid = claimed.run.job, claimed.dataid
        self._expect_retry(claimed, error)
        self._facilities.log.write(claimed.run, self._logged(error))
        if isinstance(error, SparkFailed):
            self._facilities.spark.keep_log(claimed.run)
        self._say(f"{job} {dataid}: {error}")
        self._say_log_problem()
        self._say(f"log: dataflow logs {claimed.run_id}    why: {shell('dataflow', 'why', job, dataid)}")
        again, following = resubmit_command(job, dataid), self._flow.why(job, dataid).next
        if following == again:  # `run` alone does not retry failed work
            following = f"{again} && {shell('dataflow', 'run', job)}"
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

    def _make_run(self, claimed: ClaimedRun) -> PipelineRun:
        run: PipelineRun = KINDS[self._definition.kind](self._definition, claimed, self._facilities)
        return run


def told_rows(rows: Mapping[str, int]) -> str:
    """The row counts, per output if there are several; "" if they are not known."""
    if len(rows) < 2:
        return "".join(f", {count:,} {plural(count, 'row')}" for count in rows.values())
    return "".join(f", {count:,} {plural(count, 'row')} of {dataset}" for dataset, count in rows.items())
