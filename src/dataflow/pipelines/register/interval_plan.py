"""Decides what a run of one interval does; nothing else decides it.

A run executes the plan, `plan` prints it, `preview` samples it and `why` cites it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import cast

from dataflow.actions.next_commands import resubmit_command, shell
from dataflow.actions.prepare import InputChunk
from dataflow.errors import BadInput, UnknownColumns
from dataflow.model.cron import ONCE
from dataflow.model.location import Location
from dataflow.model.mapping import SAME, SEVERAL_WORDS, word_of
from dataflow.model.record import record, replace
from dataflow.model.records import PYTHON, VIEW, Dataset, PlanInput
from dataflow.model.url_text import percent_encode
from dataflow.pipelines.declare.catalog import Definition
from dataflow.pipelines.declare.definitions import ViewDefinition
from dataflow.pipelines.handover.connection import Connection
from dataflow.pipelines.handover.published_table import interval_table
from dataflow.pipelines.lake.manifest import Frame, Whole, put_together, read_frame
from dataflow.pipelines.register.pipeline_jobs import location_of
from dataflow.pipelines.register.published_tables import get_partition_column
from dataflow.pipelines.register.spans import Span, find_start_before, interval_of
from dataflow.pipelines.shape.checks import Check
from dataflow.pipelines.sql.macros import TemplateInterval
from dataflow.pipelines.sql.translation import Translated, translate
from dataflow.pipelines.sql.views import build_select
from dataflow.store.store import Store

SPARK = "spark"


@record
class PlannedInput:
    """A dataset that an interval reads, at the pinned version; no version if nothing covers it yet."""

    dataset: Dataset
    job: str  # its producer
    dataid: str = ""
    version: int = 0
    location: str = ""
    chunks: Mapping[str, str] | None = None  # location by dataid, oldest first, of a dataset read whole
    declared: Mapping[str, str] | None = None  # its columns, if the project's files declare them

    @property
    def place(self) -> Location:
        """Its location, or its future one if it is not published yet."""
        return Location(self.location or self.dataset.location)

    def __str__(self) -> str:
        if not self.location:
            return "nothing that covers it is published"
        count = f"{len(self.chunks)} chunks, the newest " if self.chunks and len(self.chunks) > 1 else ""
        return f"{count}{self.dataid} version {self.version}"

    def open(self, reader: str) -> Frame | Whole:
        """Its files, for Spark to read; BadInput if it is in a database."""
        if not self.place.is_manifest:
            again = f"{resubmit_command(self.job, self.dataid)} && {shell('dataflow', 'run', self.job)}"
            raise BadInput(
                f"{reader} reads {self.dataset.name} from a lake, but its last version is at "
                f"{self.location}, published before target_db was changed. Publish it again first: {again}"
            )
        if self.chunks is not None:
            return put_together(map(read_frame, reversed(list(self.chunks.values()))))
        return read_frame(self.location)


@record
class SparkSteps:
    """A view's SELECT as Spark runs it, and the published frames that it reads."""

    translated: Translated
    frames: dict[str, Frame | Whole]


@record
class IntervalPlan:
    """One interval: its engine, inputs, SQL, target, location and checks."""

    definition: Definition
    dataid: str
    span: Span | None  # None for a Python job, whose dataid may not be an interval
    target: Connection
    location: str  # of the result; {run_id} stands for the run
    engine: str  # spark, or the connection of the database that computes a view
    inputs: tuple[PlannedInput, ...]
    checks: tuple[Check, ...]  # without those of columns that only its rows show
    select: str = ""  # of a view, in its own dialect, with templates rendered
    tables: Mapping[str, str] = {}  # the tables a database reads, by dataset

    @property
    def is_native(self) -> bool:
        """True if a database computes the view rather than Spark."""
        return bool(self.tables)

    def translate(self) -> SparkSteps:
        """The SELECT as Spark SQL; UnknownColumns if the columns of an input are not known yet."""
        definition = cast("ViewDefinition", self.definition)
        frames = {one.dataset.name: one.open(definition.job) for one in self.inputs if one.location}
        schema = {
            one.dataset.name: dict(frames[one.dataset.name].columns) if one.location else _declared(one)
            for one in self.inputs
        }
        return SparkSteps(translate(self.select, definition.sql.dialect, schema, definition.origin), frames)


def plan_interval(
    definition: Definition,
    dataid: str,
    inputs: tuple[PlannedInput, ...],
    target: Connection,
    constants: Mapping[str, object],
) -> IntervalPlan:
    """Decide what a run of one interval does; BadInput if no run is possible."""
    location = location_of(target, definition.schema, definition.table_of(dataid))
    location = location.replace("{dataset}", definition.dataset)
    location = location.replace("{encoded_dataid}", percent_encode(dataid))
    span = None if definition.kind == PYTHON else interval_of(definition.timing, dataid)
    checks = definition.all_checks
    plan = IntervalPlan(definition, dataid, span, target, location, SPARK, inputs, checks)
    return _plan_view(plan, constants) if definition.kind == VIEW else plan


def _plan_view(plan: IntervalPlan, constants: Mapping[str, object]) -> IntervalPlan:
    """Add the engine and SQL of a view: the database that holds all its inputs computes it, else Spark."""
    definition = cast("ViewDefinition", plan.definition)
    assert plan.span is not None
    if not goes_native(definition, [one.place for one in plan.inputs]):
        if not definition.materialized:
            raise BadInput(
                f"{definition.place}: materialized = False creates a view in the database of its datasets, "
                f"but they are at {', '.join(str(one.place) for one in plan.inputs)}."
            )
        return replace(plan, select=view_select(definition, plan.span, constants))
    if definition.sql.dialect != "postgres":
        raise BadInput(
            f'{definition.origin}.dialect is "{definition.sql.dialect}", but all its datasets '
            f"are in {definition.target}, which runs PostgreSQL's SQL. Write it in that and remove dialect, "
            'or move the datasets to the lake, where Spark computes it: target_db = "lake".'
        )
    for item, one in zip(definition.inputs, plan.inputs, strict=False):
        if word_of(item.mapping) in SEVERAL_WORDS and not get_partition_column(one.dataset):
            raise BadInput(
                f"{definition.place}: reads {item}, but the table of {item.dataset} does not say which chunk "
                'a row belongs to. Set mode = "partition" without merging where it is made, or move it to '
                "the lake."
            )
    tables = {
        item.dataset: interval_table(item.dataset, plan.dataid) if item.mapping == SAME else item.dataset
        for item in definition.inputs
    }
    select = view_select(definition, plan.span, constants, tables)
    return replace(plan, engine=definition.target, select=select, tables=tables)


def goes_native(definition: ViewDefinition, places: Iterable[Location]) -> bool:
    """True if the database of the result holds everything a view reads, and so computes it."""
    return all(place.connection == definition.target for place in places)


def plan_input(
    store: Store,
    source: PlanInput,
    item: InputChunk | None,
    chunks: Mapping[str, str] | None = None,
    declared: Mapping[str, str] | None = None,
) -> PlannedInput:
    """An input as a claim pins it; `chunks` are all locations of a dataset that is read whole."""
    job = store.read.find_producer(source.dataset_id) or "JOB"
    if item is None or item.pin is None:
        return PlannedInput(source.dataset, job, declared=declared)
    return PlannedInput(source.dataset, job, item.dataid, item.pin.version, item.location, chunks)


def view_select(
    definition: ViewDefinition,
    span: Span,
    constants: Mapping[str, object],
    tables: Mapping[str, str] | None = None,
) -> str:
    """The view's SQL with its templates rendered for the interval; BadInput if it is not one SELECT.

    `tables` maps its datasets to table names in a database.
    """
    renamed = {name: table for name, table in (tables or {}).items() if name != table}
    timing = definition.timing
    has_dates = timing.schedule != ONCE or bool(timing.start)
    before = find_start_before(timing, span)
    interval = TemplateInterval(span.start, span.end, timing.timezone, before, has_dates)
    own = {"table_name": definition.reads[0], "view_name": definition.dataset}
    named = {name: value for name, value in own.items() if name not in definition.sql.params}
    return build_select(replace(definition.sql, tables=renamed), interval, named | dict(constants))


def _declared(item: PlannedInput) -> dict[str, str]:
    """The columns of a dataset that is not published yet, from its mapping."""
    if item.declared is None:
        raise UnknownColumns(
            f"Nothing of {item.dataset.name} that covers this interval is published, so its columns are not "
            f"known. Run it first: dataflow run {item.job}"
        )
    return dict(item.declared)
