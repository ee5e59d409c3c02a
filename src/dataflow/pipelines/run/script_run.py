"""`dataflow.spark_run()`: the run of a PySpark script started by RunJob.

RunJob publishes what the script writes when the script succeeds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dataflow.actions.dataset_rules import is_automatic
from dataflow.actions.input_rules import OF_JOB_GRAIN
from dataflow.actions.locations import is_local
from dataflow.actions.shell_names import shell_name
from dataflow.config.project import get_working_dir
from dataflow.config.settings import load_config
from dataflow.errors import BadInput
from dataflow.model.grain import Grain
from dataflow.model.location import Location, lake_location
from dataflow.model.mapping import SAME, SEVERAL_WORDS, word_of
from dataflow.model.records import JobInput
from dataflow.model.wording import plural
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.handover.records import Destination, Target
from dataflow.pipelines.lake.manifest import Columns, Frame
from dataflow.pipelines.lake.parquet_target import FolderTarget, LakeTarget
from dataflow.pipelines.lake.published_files import tell_place
from dataflow.pipelines.register.spans import Span, span_of
from dataflow.pipelines.run.job_run import Facts, JobRun, PinnedInput
from dataflow.pipelines.run.outputs import Outputs
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.spark.frames import count_bad_rows
from dataflow.pipelines.spark.session import find_session, start_session
from dataflow.pipelines.spark.tasks import tag_of

if TYPE_CHECKING:
    from dataflow.pipelines.spark.annotations import DataFrame, SparkSession

CONTEXT = "DATAFLOW_CONTEXT"


@contextmanager
def spark_run(session: SparkSession | None = None) -> Iterator[JobRun]:
    """The run for which RunJob started this script; its outputs are complete when the body ends.

    Uses the given Spark session, an existing one, or a new one that ends with the body.
    """
    facts = _read_facts(os.environ)
    script = ScriptRun(facts, session, os.environ)
    run = JobRun(facts, script)
    try:
        with script.outputs:
            ended: SystemExit | None = None
            try:
                yield run
            except SystemExit as error:
                if error.code:
                    raise
                ended = error  # the script claims success, so its outputs must exist
            run.refuse_unwritten()
            script.publish()
            if ended is not None:
                raise ended
    finally:
        script.close()


class ScriptRun:
    """The environment of a script's run: a session, its log, and staging at the locations RunJob gave."""

    def __init__(self, facts: Facts, session: SparkSession | None, environ: Mapping[str, str]) -> None:
        self._facts = facts
        self._session = session
        self._environ = environ
        self._is_own = False
        self.outputs = Outputs(self._make_target, tag_of(facts.run_id), self.log)

    def session(self) -> SparkSession:
        """The session of the script."""
        if self._session is None:
            self._session = find_session(self._environ)
        if self._session is None:
            config = load_config(get_working_dir(), self._environ)
            settings = PipelineSettings(config.project_dir, self._environ, lambda: "")
            log_path = os.path.join(config.log_dir, f"spark-{os.getpid()}.log")
            self._session = start_session(settings.spark, log_path)
            self._is_own = True
        return self._session

    def read_table(self, source: PinnedInput) -> DataFrame:
        """Raises BadInput: a script has no connections."""
        raise BadInput(
            f"{source.name} {tell_place(source.location)}, but run.read reads only the lake and "
            "Parquet in a script. Read it in a Python job (@dataflow.job), or by JDBC with run.spark. Or "
            'publish it to the lake (target_db = "lake").'
        )

    def stage(self, dataset: str, frame: DataFrame, checks: tuple[Check, ...]) -> None:
        """Stages and checks an output at the location that RunJob gave for it."""
        place = self._facts.outputs[dataset]
        if any(isinstance(check, Check) and check.kind == "at_least" for check in checks):
            raise BadInput(
                f"{dataset}: at_least needs the previous version, which a script does not know. Use "
                "minimum_rows, or turn the script into a Python job in pipelines/."
            )
        if is_local(place):
            span = self._facts.span
            self.outputs.stage(dataset, frame, checks, None, span.end if span else None)
        elif checks or Location(place).is_manifest:
            raise BadInput(
                f"{dataset} goes to {place}, which is not on this machine. Only a plain Parquet folder "
                "without checks can be written there."
            )
        else:
            frame.write.mode("overwrite").parquet(place)

    def log(self, text: str) -> None:
        """Prints a line: RunJob keeps what a script prints in the run's log."""
        print(text, flush=True)

    def publish(self) -> None:
        """Moves all outputs to their locations, for RunJob to publish."""
        for dataset, (published, _) in self.outputs.publish().items():
            self.log(f"wrote {published.rows} {plural(published.rows, 'row')} of {dataset}")

    def close(self) -> None:
        """Ends the session if it was started for this run."""
        if self._is_own and self._session is not None:
            self._session.stop()

    def _make_target(self, dataset: str, columns: Columns) -> Target:
        facts, place = self._facts, self._facts.outputs[dataset]
        if not place:
            raise BadInput(
                f"{dataset} has no location. Set one: dataflow dataset add {dataset} "
                f"--location '{lake_location('lake')}'"
            )

        def count(check: Check, frame: Frame) -> tuple[int, list[str]]:
            return count_bad_rows(self.session(), check, frame)

        if not Location(place).is_manifest:
            return FolderTarget(place, facts.run_id, columns, count)
        destination = Destination(dataset, facts.dataid, "", facts.run_id, "")
        return LakeTarget(place, destination, columns, count)


def _read_facts(environ: Mapping[str, str]) -> Facts:
    """The facts that RunJob wrote for its script; BadInput if RunJob did not start it."""
    path = environ.get(CONTEXT, "")
    if not path:
        raise BadInput(f"No run: {CONTEXT} is not set. Start this script with RunJob.")
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            found: dict[str, Any] = json.load(file)
    except (OSError, ValueError) as error:
        raise BadInput(
            f"{CONTEXT} names {path}, which cannot be read: {error}. Spark's driver must run where RunJob "
            "does: spark-submit --deploy-mode client."
        ) from error
    sources: dict[str, PinnedInput] = {}
    for item in found["inputs"]:
        dataset, location, format = item["dataset"], item["location"], _told(found, item, "format")
        name = str(JobInput(dataset, item["mapping"]))
        several: tuple[str, ...] = ()
        if word_of(item["mapping"]) in SEVERAL_WORDS:
            several = (*(sources[name].locations if name in sources else ()), location)
        if not is_automatic(dataset):
            sources[name] = PinnedInput(name, dataset, location, format, several)
    return Facts(
        job=found["job"],
        dataid=found["dataid"],
        run_id=found["run_id"],
        sources=tuple(sources.values()),
        outputs={item["dataset"]: item["location"] for item in found["outputs"]},
        declared=None,
        span=_span(found),
        hint=f"See: dataflow job show {found['job']}",
    )


def _span(found: dict[str, Any]) -> Span | None:
    """The interval of the dataid, by an input that has the job's grain, or else an output."""
    for item in found["inputs"]:
        if word_of(item["mapping"]) in OF_JOB_GRAIN:
            grain = Grain(_told(found, item, "grain"))
            return span_of(found["dataid"], grain, _told(found, item, "timezone"))
    for item in found["outputs"] if found["inputs"] else ():
        output = item | {"mapping": SAME}
        grain = Grain(_told(found, output, "grain"))
        return span_of(found["dataid"], grain, _told(found, output, "timezone"))
    return None


def _told(found: dict[str, Any], item: dict[str, Any], field: str) -> str:
    """The value of an input's variable in the run's environment."""
    word = word_of(item["mapping"])
    plain, own = (shell_name(f"{item['dataset']}{part}_{field}") for part in ("", f"_{word}"))
    told: dict[str, str] = found["environment"]
    if word == SAME:
        return told.get(plain, "")
    # Of an input with several chunks it has the plain name, unless another use of the dataset does.
    return told.get(own, told.get(plain, "") if word in SEVERAL_WORDS else "")
