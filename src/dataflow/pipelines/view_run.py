"""One run of a view pipeline: SQL over the versions it has pinned, published as one interval's result.

Where all its datasets are in the database it goes to, that database computes it; elsewhere Spark does.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dataflow import failpoints
from dataflow.actions.locations import MANIFEST
from dataflow.errors import BadInput
from dataflow.pipelines.discarding import discarding
from dataflow.pipelines.intervals import interval_of
from dataflow.pipelines.judgement import Judgement
from dataflow.pipelines.lake.manifest import Frame, read_frame
from dataflow.pipelines.leases import refuse_lost
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.shape.sql_types import parse_sql_type
from dataflow.pipelines.spark.frames import as_columns, column_types, run_sql
from dataflow.pipelines.spark.tasks import run_over
from dataflow.pipelines.sql.translation import translate
from dataflow.pipelines.stage import StageFrame
from dataflow.pipelines.targets import destination_of, view_target
from dataflow.pipelines.view_sql import view_select

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun
    from dataflow.pipelines.definitions import ViewDefinition
    from dataflow.pipelines.facilities import Facilities
    from dataflow.pipelines.records import Published, Target
    from dataflow.pipelines.settings import Connection


class ViewRun:
    """A claimed run of a view pipeline."""

    def __init__(self, definition: ViewDefinition, claimed: ClaimedRun, facilities: Facilities) -> None:
        self._definition = definition
        self._claimed = claimed
        self._facilities = facilities
        self._span = interval_of(definition.timing, claimed.dataid)
        self._stop = threading.Event()
        self._tag = f"run-{claimed.run_id}"

    def execute(self) -> None:
        """Does the work; what it gives out is published by the claim when this returns."""
        definition = self._definition
        select = view_select(definition, self._span, self._facilities.constants)
        self._facilities.log(self._claimed.run, select)
        connection = self._facilities.settings.get_connection(definition.target)
        places = self._list_places()
        if all(place.startswith(f"postgresql://{connection.name}/") for place in places.values()):
            published = self._compute_there(connection, select, places)
        elif not definition.materialized:
            raise BadInput(
                f"{definition.place}: materialized = False makes a view in the database of its datasets, and "
                f"they are at {', '.join(places.values())}."
            )
        else:
            published = self._compute_on_spark(select, places)
        self._claimed.record_rows(definition.dataset, published.rows)

    def cancel(self) -> None:
        """Ends the run's Spark jobs, or what the database does for it."""
        self._stop.set()
        self._facilities.interrupt()

    def clean_up(self) -> None:
        """Nothing is left beside what is published."""

    def _list_places(self) -> dict[str, str]:
        """Where each dataset is, at the version this run has pinned."""
        inputs = self._claimed.prepared.inputs
        places = {item.source.dataset.name: item.location for item in inputs}
        return {name: places[name] for name in self._definition.reads}

    def _compute_there(self, connection: Connection, select: str, places: dict[str, str]) -> Published:
        from dataflow.pipelines.postgres.making import make_native_view  # only databases need its driver
        from dataflow.pipelines.postgres.views import stage_select

        destination = destination_of(self._claimed, self._definition.dataset)
        target = make_native_view(connection, self._definition, select, destination)
        target.begin()
        if not self._definition.materialized:
            refuse_lost(self._claimed)
            return target.publish_view(select)
        judgement = Judgement(self._definition.checks, _fields(target.list_columns()))
        with discarding(target):
            judgement.add(stage_select(target, select, places, judgement.wanted, self._stop))
            failpoints.reach("after_stage")
            return self._publish(judgement, target)

    def _compute_on_spark(self, select: str, places: dict[str, str]) -> Published:
        definition = self._definition
        frames = {name: self._open(name, place) for name, place in places.items()}
        schema = {name: dict(frame.columns) for name, frame in frames.items()}
        translated = translate(select, definition.dialect, schema, f"{definition.place}: {definition.job}")
        session = self._facilities.session()
        rows = run_sql(session, translated, frames)
        columns = translated.columns or column_types(rows)
        fields = _fields(columns)
        judgement = Judgement(definition.checks, fields)
        target = view_target(definition, fields, self._claimed, self._facilities)
        target.begin()
        with discarding(target):
            self._facilities.progress.show("computing")
            names = tuple(name for name, _ in columns)
            task = StageFrame(target.writer(), judgement.wanted, names)
            judgement.add(run_over(session, as_columns(rows, columns), task, self._tag))
            failpoints.reach("after_stage")
            return self._publish(judgement, target)

    def _publish(self, judgement: Judgement, target: Target) -> Published:
        judgement.decide_checks(target, None, self._span.end)
        refuse_lost(self._claimed)
        published = target.publish(judgement.list_staged())
        failpoints.reach("after_publish")
        for line in judgement.list_warnings():
            self._facilities.log(self._claimed.run, f"warning: {line}")
        self._claimed.record_checked(self._definition.dataset, judgement.evidence)
        return published

    def _open(self, name: str, place: str) -> Frame:
        if place.endswith(MANIFEST):
            return read_frame(place)
        raise BadInput(
            f"{self._definition.job} reads {name}, at {place}, and writes to {self._definition.target}. "
            "A view of database tables goes to the same database: leave target_db out."
        )


def _fields(columns: tuple[tuple[str, str], ...]) -> tuple[Field, ...]:
    return tuple(Field(name, name, parse_sql_type(kind)) for name, kind in columns)
