"""The intervals of a pipeline that would run now, and why.

Found by reading if the store has the pipeline as it is and all its due intervals. Otherwise a run is
rehearsed and rolled back; meanwhile nobody else can write to an embedded store. Nothing here, or in what it
calls, changes the store or contacts a source or target.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.locations import absolute_place
from dataflow.actions.names import get_plan
from dataflow.actions.prepare import InputChunk
from dataflow.actions.refusals import list_input_chunks
from dataflow.actions.why import why
from dataflow.actions.work_case import WorkCase
from dataflow.config.settings import Config
from dataflow.model.record import pick, record
from dataflow.model.records import Plan, PlanInput
from dataflow.model.status import WorkState
from dataflow.pipelines.declare.catalog import Catalog, Definition
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.lake.published_files import is_read_whole
from dataflow.pipelines.register.interval_plan import IntervalPlan, PlannedInput, plan_input, plan_interval
from dataflow.pipelines.register.pipeline_jobs import are_registered, call_for, register_pipelines
from dataflow.store.pins import has_several
from dataflow.store.store import Store

SHOWN_OPEN = 100
SHOWN_DONE = 10


@record
class PlannedInterval:
    """One interval: due, waiting, running, done, failed, invalid or held, and why."""

    dataid: str
    state: str
    why: str
    next: str  # the command that goes on


@record
class Outlook:
    """The state of a pipeline's intervals. `dataid` is the one to show in detail, "" if there is none."""

    counts: dict[str, int]
    intervals: tuple[PlannedInterval, ...]
    dataid: str
    plan: IntervalPlan | None  # of that dataid

    @property
    def interval(self) -> PlannedInterval:
        """The interval to show in detail."""
        return next(item for item in self.intervals if item.dataid == self.dataid)


@record
class Scene:
    """The context of a plan: a project's pipelines and settings, and a test for dead processes."""

    catalog: Catalog
    settings: PipelineSettings
    config: Config
    is_dead: Callable[[str], bool] | None = None


def look_ahead(store: Store, definition: Definition, scene: Scene, dataid: str | None = None) -> Outlook:
    """What `dataflow run` would find now: all intervals, or one as with `--dataid`."""

    def look(rehearsed: Store) -> Outlook:
        register_pipelines(rehearsed, scene.catalog.list_needed(definition), scene.settings)
        called = call_for(rehearsed, definition, dataid) if dataid is not None else None
        plan = get_plan(rehearsed, definition.job)
        while add_due_intervals(rehearsed, plan):
            pass
        return _outlook(rehearsed, definition, plan, scene, called)

    if dataid is None and _is_up_to_date(store, definition, scene):
        return _outlook(store, definition, get_plan(store, definition.job), scene, None)
    found: Outlook = store.rehearse(look)
    return found


def _is_up_to_date(store: Store, definition: Definition, scene: Scene) -> bool:
    """Whether a run would neither register anything nor add an interval before its claim."""
    if not are_registered(store, scene.catalog.list_needed(definition), scene.settings):
        return False
    return not store.list_due_calendars(get_plan(store, definition.job).job_id)


def describe_outlook(definition: Definition, outlook: Outlook, detail: Any) -> dict[str, Any]:
    """What would run, and what one interval would do, as JSON."""
    intervals = [pick(one, "dataid", "state", "why") for one in outlook.intervals]
    head = {"pipeline": definition.job, "dataset": definition.dataset, "counts": outlook.counts}
    return head | {"intervals": intervals, "interval": detail}


def _outlook(store: Store, definition: Definition, plan: Plan, scene: Scene, called: str | None) -> Outlook:
    counted = store.read.count_work_by_state(plan.job_id)
    counts = {_word(state, False): count for state, count in counted.items()}
    dataids = [called] if called is not None else _list_dataids(store, plan)
    intervals = [_interval(store, plan, scene, dataid) for dataid in dataids]
    dataid = called or _choose(intervals)
    planned = _plan(store, definition, plan, scene, dataid) if dataid else None
    return Outlook(counts, tuple(intervals), dataid, planned)


def _list_dataids(store: Store, plan: Plan) -> list[str]:
    done = store.read.list_done_dataids(plan.job_id, SHOWN_DONE)
    return [*reversed(done), *store.read.list_open_dataids(plan.job_id, SHOWN_OPEN)]


def _interval(store: Store, plan: Plan, scene: Scene, dataid: str) -> PlannedInterval:
    work = store.read.find_work(plan.job_id, dataid)
    found = why(store, scene.config, plan, dataid, scene.is_dead)
    state = "waiting" if work is None else _word(work.state, bool(work.hold))
    return PlannedInterval(dataid, state, found.verdict.partition(": ")[2] or found.verdict, found.next)


def _word(state: str, hold: bool) -> str:
    known = WorkState(state)
    if hold and known in (WorkState.CLAIMABLE, WorkState.WAITING):
        return "held"
    return "due" if known is WorkState.CLAIMABLE else known.value.lower()


def _choose(intervals: list[PlannedInterval]) -> str:
    """The first interval that would run, else the first open one, else the last one done."""
    for wanted in (("due",), ("running", "waiting", "held", "failed", "invalid")):
        for interval in intervals:
            if interval.state in wanted:
                return interval.dataid
    return intervals[-1].dataid if intervals else ""


def _plan(store: Store, definition: Definition, plan: Plan, scene: Scene, dataid: str) -> IntervalPlan:
    """The plan of a run claimed now."""
    target = scene.settings.get_place(definition.target)
    case = WorkCase(store, scene.config, plan, dataid, scene.is_dead)
    pinned: dict[str, list[InputChunk]] = {}
    for item in list_input_chunks(case):
        if item.pin is not None:
            pinned.setdefault(item.source.dataset.name, []).append(item)
    sources = {source.dataset.name: source for source in plan.inputs}
    inputs = tuple(
        _plan_input(store, sources[name], pinned.get(name, []), scene) for name in definition.reads
    )
    return plan_interval(definition, dataid, inputs, target, scene.catalog.constants)


def _plan_input(store: Store, source: PlanInput, items: list[InputChunk], scene: Scene) -> PlannedInput:
    maker = scene.catalog.find_maker(source.dataset.name)
    declared = maker.declared_columns if maker else None
    item = items[-1] if items else None
    if has_several(source):
        return plan_input(store, source, item, {each.dataid: each.location for each in items}, declared)
    if not is_read_whole(source):
        return plan_input(store, source, item, None, declared)
    ready = [chunk for chunk in store.read.list_published(source.dataset_id) if not chunk.stale]
    places = {one.dataid: absolute_place(one.location, scene.config.project_dir) for one in ready}
    return plan_input(store, source, item, places, declared)
