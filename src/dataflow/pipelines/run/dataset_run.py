"""One run of a dataset pipeline: fetch, shape, stage, check, publish."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from itertools import chain

from dataflow import failpoints
from dataflow.client import ClaimedRun
from dataflow.errors import InvalidData
from dataflow.model.location import claim_of
from dataflow.model.record import replace
from dataflow.model.step_times import StepTimes
from dataflow.model.wording import plural
from dataflow.pipelines.declare.definitions import DatasetDefinition
from dataflow.pipelines.declare.sources import Http
from dataflow.pipelines.handover.records import REJECTS, Part, Published, Target, TaskReport, write_rejects
from dataflow.pipelines.register.interval_plan import plan_interval
from dataflow.pipelines.register.spans import Span
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.pipeline_run import PipelineRun, make_patience, refuse_lost
from dataflow.pipelines.run.source_reader import Feeder, SourceReader
from dataflow.pipelines.run.stage_tasks import StageParts
from dataflow.pipelines.run.targets import discarding, pipeline_target
from dataflow.pipelines.run.verdict import Judgement
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.inference import infer_fields
from dataflow.pipelines.shape.shaped import RejectPolicy, first_rows
from dataflow.pipelines.shape.statistics import Wanted
from dataflow.pipelines.spark.tasks import run_tasks, tag_of
from dataflow.private_files import open_with_folder

KEPT_REJECTS = 1000
"""Up to this many rejected rows are kept per run, or as many as may be rejected if that is more."""
MOST_REJECTS = 20_000
"""Up to this many are kept if a share of the rows may be rejected, because they are held in memory."""


class DatasetRun(PipelineRun):
    """A claimed run of a dataset pipeline."""

    _definition: DatasetDefinition

    def __init__(self, definition: DatasetDefinition, claimed: ClaimedRun, facilities: Facilities) -> None:
        super().__init__(definition, claimed, facilities)
        target = facilities.settings.get_connection(definition.target)
        self._plan = plan_interval(definition, claimed.dataid, (), target, facilities.constants)
        assert self._plan.span is not None
        self._span: Span = self._plan.span
        self._begin_try()
        self._counting = threading.Lock()

    @staticmethod
    def refuse_impossible(definition: DatasetDefinition, facilities: Facilities) -> None:
        """Raises ConfigError for anything every run would lack, before one is claimed."""
        facilities.settings.spark.refuse_unshared()
        if isinstance(definition.source, Http):
            definition.source.check_environment(facilities.environ)

    def execute(self) -> None:
        definition, claimed = self._definition, self._claimed
        source = self._open_source()
        fields = definition.mapped
        if definition.has_others:
            fields = infer_fields(fields, source.first_body(), source.kind, source.results_key)
        target = pipeline_target(self._plan, fields, claimed, self._facilities)
        earlier = self._facilities.store.read.list_earlier_runs(claimed.run.work_id, claimed.run_id)
        claims = {each.run_id: claim_of(each.claimant) for each in earlier if not each.called_since}
        published = target.begin(claims)
        with discarding(target):
            if published is None:
                sources = chain([source], iter(self._open_again, None))
                published = make_patience(claimed, self._facilities).repeat(
                    lambda: self._make(next(sources), fields, target)
                )
            else:
                rows = f"{published.rows} {plural(published.rows, 'row')}"
                self.log(f"an earlier run published {rows} before it died")
                claimed.record_checked(definition.dataset, "checked by the run that published it, which died")
        claimed.record_rows(definition.dataset, published.rows)

    def _begin_try(self) -> None:
        self._stop = threading.Event()
        self._kept = KeptRejects(self._definition.rejects)
        self._pages = self._rows = 0

    def _open_source(self) -> SourceReader:
        return SourceReader(self._definition, self._span, self._claimed, self._facilities, self._stop)

    def _open_again(self) -> SourceReader:
        """Reopens the source for another attempt; staged pages of an API are kept."""
        self._begin_try()
        return self._open_source()

    def _make(self, source: SourceReader, fields: tuple[Field, ...], target: Target) -> Published:
        judgement, times = Judgement(self._plan.checks, fields), StepTimes()
        try:
            judgement.add(self._stage(source, fields, target, judgement.wanted))
            failpoints.reach("after_stage")
            times.end("fetch and shape")  # at the same time
            self._judge(judgement, target)
            times.end("check")
            self._facilities.progress.show("publishing", self._pages, judgement.rows)
            refuse_lost(self._claimed)
            published = target.publish(judgement.list_staged(), judgement.list_rejects())
        except InvalidData as error:
            self._keep_rejects(judgement)
            source.close(str(error))
            raise
        failpoints.reach("after_publish")
        times.end("publish")
        self._claimed.record_checked(self._definition.dataset, judgement.evidence)
        self.log(f"published {published.rows} {plural(published.rows, 'row')}")
        self.log(str(times))
        warnings = []
        if judgement.rejected:
            warnings.append(f"{judgement.left_out}; {self._count_kept(judgement)} in {self._rejects_place()}")
        if absent := judgement.list_absent():
            warnings.append(f"no row of the source has: {', '.join(absent)}")
        self.warning = "; ".join(warnings)
        if warnings:
            self.log(f"warning: {self.warning}")
        return published

    def _stage(
        self, source: SourceReader, fields: tuple[Field, ...], target: Target, wanted: Wanted
    ) -> list[TaskReport]:
        source.wait_for_first()  # an unreachable source is reported before Spark starts
        session = self._facilities.spark.get()
        shaper = source.shaper(fields, target.wants_uuid_bytes)
        writer = target.writer()

        def work(parts: tuple[Part, ...]) -> TaskReport:
            task = StageParts(parts, shaper, writer, wanted, self._kept.left)
            (report,) = run_tasks(session, [task], tag_of(self._claimed.run_id))
            assert isinstance(report, TaskReport)
            _refuse_miscounted(parts, report)
            with self._counting:
                self._rows += report.rows_read
                self._facilities.progress.show("shaping", self._pages, self._rows, source.total)
            return self._kept.take(report)

        return Feeder(work, self._facilities.spark.streams, self._stop).run(self._counted(source))

    def _counted(self, source: SourceReader) -> Iterator[Part]:
        for part in source.parts():
            with self._counting:
                self._pages += 1
                self._facilities.progress.show("fetching", self._pages, self._rows, source.total)
            yield part
            failpoints.reach("after_page")
        failpoints.reach("after_fetch")

    def _judge(self, judgement: Judgement, target: Target) -> None:
        self._facilities.progress.show("checking", self._pages, judgement.rows)
        for line in judgement.list_drift():
            self.log(line)
        judgement.decide_rejects(self._definition.rejects)
        judgement.decide_checks(target, self._find_last_rows(self._definition.dataset), self._span.end)
        for line in judgement.list_warnings():
            self.log(f"warning: {line}")

    def _rejects_place(self) -> str:
        """The location of the rejected rows of a published run."""
        definition = self._definition
        if self._plan.target.is_lake:
            return os.path.join(os.path.dirname(self._claimed.location(definition.dataset)), REJECTS)
        from dataflow.pipelines.postgres.rejects_table import rejects_name  # only databases need the driver

        return f"table {definition.schema}.{rejects_name(definition.dataset)} of {definition.target}"

    def _count_kept(self, judgement: Judgement) -> str:
        """How many rejected rows are kept; the caller adds where."""
        kept = self._kept.rows
        if kept == judgement.rejected:
            return "it is" if kept == 1 else "they are"
        return f"{kept} of them {'is' if kept == 1 else 'are'}"

    def _keep_rejects(self, judgement: Judgement) -> None:
        """Writes the rejected rows beside the fetched pages, for inspection."""
        rejects = judgement.list_rejects()
        if not rejects:
            return
        path = os.path.join(self._facilities.staging.of_run(self._claimed.run), REJECTS)
        write_rejects(path, rejects, open_with_folder)
        self.log(f"rejected {plural(judgement.rejected, 'row')}: {self._count_kept(judgement)} in {path}")


def _refuse_miscounted(parts: tuple[Part, ...], report: TaskReport) -> None:
    """Raises InvalidData unless as many rows were read from the parts as were counted when fetched."""
    rows = [part.rows for part in parts]
    if -1 not in rows and sum(rows) != report.rows_read:
        raise InvalidData(
            f"Parts {parts[0].number} to {parts[-1].number} had {sum(rows)} rows when fetched, but "
            f"{report.rows_read} when read. Check the key of the results: {parts[0].path}"
        )


class KeptRejects:
    """Counts the kept rejects of one run, over all its tasks; used by several threads."""

    def __init__(self, policy: RejectPolicy) -> None:
        limit = policy.limit
        self._most = max(KEPT_REJECTS, int(limit)) if limit >= 1 or not limit else MOST_REJECTS
        self._lock = threading.Lock()
        self.rows = 0

    @property
    def left(self) -> int:
        """How many rows a task that starts now may keep."""
        return self._most - self.rows

    def take(self, report: TaskReport) -> TaskReport:
        """The report, cut to the rejects that still fit: other tasks may have used up the limit meanwhile."""
        with self._lock:
            kept = first_rows(report.rejects, self.left)
            self.rows += len({(one.part, one.row) for one in kept})
        return replace(report, rejects=kept)
