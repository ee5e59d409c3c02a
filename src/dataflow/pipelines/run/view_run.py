"""One run of a view pipeline: SQL over the versions it has pinned, published as one interval's result.

Where all its datasets are in the database it goes to, that database computes it; elsewhere Spark does.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from dataflow import failpoints
from dataflow.actions.claim import pin_ready_chunks
from dataflow.actions.locations import MANIFEST, absolute_place
from dataflow.actions.missing import find_producer
from dataflow.actions.next_commands import resubmit_command, shell
from dataflow.errors import BadInput
from dataflow.pipelines.lake.manifest import Frame, Whole, put_together, read_frame
from dataflow.pipelines.lake.published_files import is_read_whole
from dataflow.pipelines.register.intervals import interval_of
from dataflow.pipelines.register.published_tables import get_partition_column
from dataflow.pipelines.register.view_sql import native_select, native_tables, view_select
from dataflow.pipelines.run.leases import make_patience, refuse_lost, refuse_revoked
from dataflow.pipelines.run.stage_tasks import StageFrame
from dataflow.pipelines.run.targets import destination_of, discarding, find_last_rows, view_target
from dataflow.pipelines.run.verdict import Judgement, checked_fields, fields_of
from dataflow.pipelines.spark.frames import as_columns, column_types, run_sql
from dataflow.pipelines.spark.tasks import run_over, tag_of
from dataflow.pipelines.sql.translation import result_columns, translate

if TYPE_CHECKING:
    from dataflow.actions.prepare import InputChunk
    from dataflow.client import ClaimedRun
    from dataflow.model.records import PlanInput
    from dataflow.pipelines.declare.definitions import ViewDefinition
    from dataflow.pipelines.handover.records import Published, Target
    from dataflow.pipelines.register.settings import Connection
    from dataflow.pipelines.run.facilities import Facilities


SHOWN_CHUNKS = 100
"""So many chunks of a dataset that is read whole are named in the run's log; the store has them all."""


class ViewRun:
    """A claimed run of a view pipeline."""

    def __init__(self, definition: ViewDefinition, claimed: ClaimedRun, facilities: Facilities) -> None:
        self._definition = definition
        self._claimed = claimed
        self._facilities = facilities
        self._span = interval_of(definition.timing, claimed.dataid)
        self._stop = threading.Event()
        self._tag = tag_of(claimed.run_id)
        self.warning = ""
        self._all_places: dict[str, dict[str, str]] = {}  # of datasets read whole, by dataid, oldest first

    def execute(self) -> None:
        """Does the work; what it gives out is published by the claim when this returns."""
        definition = self._definition
        connection = self._facilities.settings.get_connection(definition.target)
        inputs = self._list_inputs()
        places = {name: item.location for name, item in inputs.items()}
        for name, item in inputs.items():
            if is_read_whole(item.source):
                self._pin_all(name, item.source)
        if all(place.startswith(f"postgresql://{connection.name}/") for place in places.values()):
            dataid, constants = self._claimed.dataid, self._facilities.constants
            select = self._log(native_select(definition, self._span, constants, dataid))
            published = self._compute_there(connection, select, inputs)
        elif not definition.materialized:
            raise BadInput(
                f"{definition.place}: materialized = False makes a view in the database of its datasets, and "
                f"they are at {', '.join(places.values())}."
            )
        else:
            select = self._log(view_select(definition, self._span, self._facilities.constants))
            published = self._compute_on_spark(select, inputs)
        if definition.materialized:  # a plain view has as many rows as whoever reads it finds
            self._claimed.record_rows(definition.dataset, published.rows)

    def cancel(self) -> None:
        """Ends the run's Spark jobs, or what the database does for it."""
        self._stop.set()
        self._facilities.interrupt()

    def clean_up(self) -> None:
        """Nothing is left beside what is published."""

    def _log(self, select: str) -> str:
        self._facilities.log(self._claimed.run, select)
        return select

    def _list_inputs(self) -> dict[str, InputChunk]:
        """What it reads of each dataset, at the version this run has pinned."""
        inputs = {item.source.dataset.name: item for item in self._claimed.prepared.inputs}
        return {name: inputs[name] for name in self._definition.reads}

    def _compute_there(self, connection: Connection, select: str, inputs: dict[str, InputChunk]) -> Published:
        from dataflow.pipelines.postgres.views import Pinned, stage_select
        from dataflow.pipelines.register.databases import make_native_view  # only databases need its driver

        destination = destination_of(self._claimed, self._definition.dataset, self._facilities.store)
        target = make_native_view(connection, self._definition, select, destination)
        target.last_look = lambda: refuse_revoked(self._claimed, self._facilities.store)
        target.patience = make_patience(self._claimed, self._facilities)
        target.begin()
        if not self._definition.materialized:
            refuse_lost(self._claimed)
            return target.publish_view(select)
        tables = native_tables(self._definition, self._claimed.dataid)
        reads = {
            tables[name]: Pinned(
                item.location, self._all_places.get(name), get_partition_column(item.source.dataset)
            )
            for name, item in inputs.items()
        }

        def stage_and_publish() -> Published:
            judgement = Judgement(self._definition.checks, checked_fields(target.list_columns()))
            judgement.add(stage_select(target, select, reads, judgement.wanted, self._stop))
            failpoints.reach("after_stage")
            return self._publish(judgement, target)

        with discarding(target):
            return make_patience(self._claimed, self._facilities).repeat(stage_and_publish)

    def _compute_on_spark(self, select: str, inputs: dict[str, InputChunk]) -> Published:
        definition = self._definition
        frames = {name: self._open(name, item) for name, item in inputs.items()}
        schema = {name: dict(frame.columns) for name, frame in frames.items()}
        translated = translate(select, definition.dialect, schema, f"{definition.place}: {definition.job}")
        session = self._facilities.session()
        session.conf.set("spark.sql.runSQLOnFiles", "false")  # a name is a dataset's, never a file's
        rows = run_sql(session, translated, frames)
        connection = self._facilities.settings.get_connection(definition.target)
        columns = result_columns(translated, connection.is_lake) or column_types(rows)
        fields = fields_of(columns)
        target = view_target(definition, fields, self._claimed, self._facilities)
        target.begin()

        def stage_and_publish() -> Published:
            judgement = Judgement(definition.checks, fields)
            self._facilities.progress.show("computing")
            task = StageFrame(target.writer(), judgement.wanted, tuple(name for name, _ in columns))
            judgement.add(run_over(session, as_columns(rows, columns), task, self._tag))
            failpoints.reach("after_stage")
            return self._publish(judgement, target)

        with discarding(target):
            return make_patience(self._claimed, self._facilities).repeat(stage_and_publish)

    def _publish(self, judgement: Judgement, target: Target) -> Published:
        last_rows = find_last_rows(self._claimed, self._definition.dataset, self._facilities)
        judgement.decide_checks(target, last_rows, self._span.end)
        refuse_lost(self._claimed)
        published = target.publish(judgement.list_staged())
        failpoints.reach("after_publish")
        for line in judgement.list_warnings():
            self._facilities.log(self._claimed.run, f"warning: {line}")
        self._claimed.record_checked(self._definition.dataset, judgement.evidence)
        return published

    def _open(self, name: str, item: InputChunk) -> Frame | Whole:
        if item.location.endswith(MANIFEST):
            if name in self._all_places:
                return put_together(map(read_frame, reversed(self._all_places[name].values())))
            return read_frame(item.location)
        maker = find_producer(self._facilities.store, item.source.dataset_id) or "JOB"
        raise BadInput(
            f"{self._definition.job} reads {name} from a lake, and its last version is at {item.location}, "
            "where it was published before target_db was changed. Publish it anew first: "
            f"{resubmit_command(maker, item.dataid)} && {shell('dataflow', 'run', maker)}"
        )

    def _pin_all(self, name: str, source: PlanInput) -> None:
        """Pins all chunks that are ready now, as the claim has pinned the newest.

        None is purged meanwhile, and one that is published anew makes the result stale.
        """
        prepared = self._claimed.prepared
        pins = pin_ready_chunks(self._facilities.store, prepared.plan, prepared.run, source)
        versions = [f"{pin.dataid}@{pin.version}" for pin in pins]
        if len(versions) > SHOWN_CHUNKS:
            versions[SHOWN_CHUNKS // 2 : -SHOWN_CHUNKS // 2] = ["…"]
        self._facilities.log(self._claimed.run, f"reads {len(pins)} chunks of {name}: {' '.join(versions)}")
        self._all_places[name] = {
            pin.dataid: absolute_place(pin.location, prepared.project_dir) for pin in pins
        }
