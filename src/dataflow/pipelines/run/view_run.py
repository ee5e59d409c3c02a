"""One run of a view pipeline: SQL over the pinned versions, published as the result of one interval.

If all its datasets are in the target database, that database computes it; otherwise Spark does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from dataflow import failpoints
from dataflow.actions.claim import pin_ready_chunks
from dataflow.actions.locations import absolute_place
from dataflow.actions.prepare import InputChunk
from dataflow.model.records import Pin, PlanInput
from dataflow.model.step_times import StepTimes
from dataflow.model.wording import plural
from dataflow.pipelines.declare.definitions import ViewDefinition
from dataflow.pipelines.handover.records import Published, Target, TaskReport
from dataflow.pipelines.lake.published_files import is_read_whole
from dataflow.pipelines.register.interval_plan import IntervalPlan, PlannedInput, plan_input, plan_interval
from dataflow.pipelines.register.published_tables import get_partition_column
from dataflow.pipelines.run.pipeline_run import PipelineRun, make_patience, refuse_lost, refuse_revoked
from dataflow.pipelines.run.stage_tasks import StageFrame
from dataflow.pipelines.run.targets import destination_of, discarding, pipeline_target
from dataflow.pipelines.run.verdict import Judgement, checked_field, fields_of
from dataflow.pipelines.run.view_trial import refuse_impossible
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.statistics import Wanted
from dataflow.pipelines.spark.frames import as_columns, column_types, run_sql
from dataflow.pipelines.spark.tasks import run_over, tag_of
from dataflow.pipelines.sql.translation import result_columns
from dataflow.store.pins import has_several

Stage = Callable[[Wanted], list[TaskReport]]
SHOWN_CHUNKS = 100
"""Up to this many chunks of a dataset that is read whole are logged; the store has all of them."""


class ViewRun(PipelineRun):
    """A claimed run of a view pipeline."""

    _definition: ViewDefinition

    refuse_impossible = staticmethod(refuse_impossible)

    def execute(self) -> None:
        definition, facilities = self._definition, self._facilities
        target = facilities.settings.get_connection(definition.target)
        chunks: dict[str, list[InputChunk]] = {}
        for item in self._claimed.prepared.inputs:
            chunks.setdefault(item.source.dataset.name, []).append(item)
        inputs = tuple(self._plan_input(chunks[name]) for name in definition.reads)
        plan = plan_interval(definition, self._claimed.dataid, inputs, target, facilities.constants)
        self.log(plan.select)
        published = self._compute_there(plan) if plan.is_native else self._compute_on_spark(plan)
        if definition.materialized:  # the row count of a plain view depends on when it is read
            self._claimed.record_rows(definition.dataset, published.rows)

    def _plan_input(self, items: list[InputChunk]) -> PlannedInput:
        """A dataset at the version, or versions, that this run has pinned."""
        item = items[-1]
        chunks: dict[str, str] | None = None
        if has_several(item.source):
            chunks = {each.dataid: each.location for each in items}
            self._log_chunks(item.source, [each.pin for each in items if each.pin])
        elif is_read_whole(item.source):
            chunks = self._pin_all(item.source)
        return plan_input(self._facilities.store, item.source, item, chunks)

    def _compute_there(self, plan: IntervalPlan) -> Published:
        from dataflow.pipelines.postgres.native_views import Pinned, stage_select
        from dataflow.pipelines.register.databases import make_native_view  # only databases need the driver

        destination = destination_of(self._claimed, self._definition.dataset, self._facilities.store)
        target = make_native_view(plan, destination)
        target.last_look = lambda: refuse_revoked(self._claimed, self._facilities.store)
        target.patience = make_patience(self._claimed, self._facilities)
        target.begin()
        if not self._definition.materialized:
            refuse_lost(self._claimed)
            return target.publish_view(plan.select)
        reads = {
            plan.tables[one.dataset.name]: Pinned(one.location, one.chunks, get_partition_column(one.dataset))
            for one in plan.inputs
        }
        fields = tuple(checked_field(column.name, column.sql_type) for column in target.table.columns)
        return self._publish(
            plan, target, fields, lambda wanted: stage_select(target, plan.select, reads, wanted, self._stop)
        )

    def _compute_on_spark(self, plan: IntervalPlan) -> Published:
        steps = plan.translate()
        session = self._facilities.spark.get()
        session.conf.set("spark.sql.runSQLOnFiles", "false")  # names refer to datasets, never to files
        rows = run_sql(session, steps.translated, steps.frames)
        columns = result_columns(steps.translated, plan.target.is_lake) or column_types(rows)
        fields = fields_of(columns)
        target = pipeline_target(plan, fields, self._claimed, self._facilities)
        target.begin()

        def stage(wanted: Wanted) -> list[TaskReport]:
            self._facilities.progress.show("computing")
            task = StageFrame(target.writer(), wanted, tuple(name for name, _ in columns))
            return run_over(session, as_columns(rows, columns), task, tag_of(self._claimed.run_id))

        return self._publish(plan, target, fields, stage)

    def _publish(
        self, plan: IntervalPlan, target: Target, fields: tuple[Field, ...], stage: Stage
    ) -> Published:
        """Stages, checks and publishes the rows; again from the start after an outage of the target."""
        span = plan.span
        assert span is not None

        def act() -> tuple[Judgement, Published]:
            judgement, times = Judgement(plan.checks, fields), StepTimes()
            judgement.add(stage(judgement.wanted))
            failpoints.reach("after_stage")
            times.end("shape")
            judgement.decide_checks(target, self._find_last_rows(self._definition.dataset), span.end)
            times.end("check")
            refuse_lost(self._claimed)
            published = target.publish(judgement.list_staged())
            failpoints.reach("after_publish")
            times.end("publish")
            self.log(str(times))
            return judgement, published

        with discarding(target):
            judgement, published = make_patience(self._claimed, self._facilities).repeat(act)
        for line in judgement.list_warnings():
            self.log(f"warning: {line}")
        self._claimed.record_checked(self._definition.dataset, judgement.evidence)
        return published

    def _pin_all(self, source: PlanInput) -> dict[str, str]:
        """Pins all chunks that are ready now, as the claim pinned the newest; returns their locations.

        None is purged meanwhile, and publishing one again makes the result stale.
        """
        prepared = self._claimed.prepared
        pins = pin_ready_chunks(self._facilities.store, prepared.plan, prepared.run, source)
        self._log_chunks(source, pins)
        return {pin.dataid: absolute_place(pin.location, prepared.project_dir) for pin in pins}

    def _log_chunks(self, source: PlanInput, pins: Sequence[Pin]) -> None:
        versions = [f"{pin.dataid}@{pin.version}" for pin in pins]
        if len(versions) > SHOWN_CHUNKS:
            versions[SHOWN_CHUNKS // 2 : -SHOWN_CHUNKS // 2] = ["…"]
        count = f"{len(pins)} {plural(len(pins), 'chunk')}"
        self.log(f"reads {count} of {source.dataset.name}: {' '.join(versions)}")
