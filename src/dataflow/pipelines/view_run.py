"""One run of a view pipeline: SQL over the versions it has pinned, published as one interval's result."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dataflow import failpoints
from dataflow.errors import BadInput
from dataflow.pipelines.intervals import interval_of
from dataflow.pipelines.judgement import Judgement
from dataflow.pipelines.lake.manifest import Frame, read_frame
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.sql_types import parse_sql_type
from dataflow.pipelines.spark.frames import as_columns, column_types, run_sql
from dataflow.pipelines.spark.tasks import run_over
from dataflow.pipelines.sql.translation import translate
from dataflow.pipelines.stage import StageFrame
from dataflow.pipelines.targets import view_target
from dataflow.pipelines.view_sql import view_select

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun
    from dataflow.pipelines.definitions import ViewDefinition
    from dataflow.pipelines.facilities import Facilities


class ViewRun:
    """A claimed run of a view pipeline."""

    def __init__(self, definition: ViewDefinition, claimed: ClaimedRun, facilities: Facilities) -> None:
        self._definition = definition
        self._claimed = claimed
        self._facilities = facilities
        self._span = interval_of(definition.timing, claimed.dataid)
        self._tag = f"run-{claimed.run_id}"
        self._cancelled = threading.Event()

    def execute(self) -> None:
        """Does the work; what it gives out is published by the claim when this returns."""
        definition, claimed = self._definition, self._claimed
        frames = self._list_frames()
        schema = {name: dict(frame.columns) for name, frame in frames.items()}
        select = view_select(definition, self._span, self._facilities.constants)
        self._facilities.log(claimed.run, select)
        translated = translate(select, definition.dialect, schema, f"{definition.place}: {definition.job}")
        session = self._facilities.session().newSession()
        rows = run_sql(session, translated, frames)
        columns = translated.columns or column_types(rows)
        fields = tuple(Field(name, name, parse_sql_type(kind)) for name, kind in columns)
        judgement = Judgement(definition.checks, fields)
        target = view_target(definition, fields, claimed, self._facilities)
        target.begin()
        try:
            task = StageFrame(target.writer(), judgement.wanted)
            self._facilities.progress.show("computing")
            judgement.add(run_over(session, as_columns(rows, columns), task, self._tag))
            failpoints.reach("after_stage")
            judgement.decide_checks(target, None, self._span.end)
            published = target.publish(judgement.list_staged())
            failpoints.reach("after_publish")
        finally:
            target.discard()
        for line in judgement.list_warnings():
            self._facilities.log(claimed.run, f"warning: {line}")
        claimed.record_rows(definition.dataset, published.rows)
        claimed.record_checked(definition.dataset, judgement.evidence)

    def cancel(self) -> None:
        """Ends the run's Spark jobs."""
        self._facilities.session().interruptTag(self._tag)

    def clean_up(self) -> None:
        """Nothing is left beside what is published."""

    def _list_frames(self) -> dict[str, Frame]:
        """The files of each dataset at the version this run has pinned."""
        found = {}
        for item in self._claimed.prepared.inputs:
            name = item.source.dataset.name
            if name not in self._definition.reads:
                continue  # its calendar
            if not item.location.endswith("_manifest.json"):
                raise BadInput(
                    f"{name} is at {item.location}, which is no lake; {self._definition.job} cannot read it."
                )
            found[name] = read_frame(item.location)
        return found
