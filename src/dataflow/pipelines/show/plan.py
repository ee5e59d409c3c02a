"""Which intervals of a pipeline would run now, and why: found by the steps of a run itself, and undone.

Nothing here, or in what it calls, leaves a trace in the store or goes to a source or target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dataflow.actions.calendar import add_due_intervals
from dataflow.actions.locations import absolute_place
from dataflow.actions.names import get_plan
from dataflow.actions.refusals import list_input_chunks
from dataflow.actions.why import why
from dataflow.actions.work_case import WorkCase
from dataflow.model.record import record
from dataflow.model.status import WorkState
from dataflow.pipelines.declare.catalog import list_reads
from dataflow.pipelines.lake.published_files import is_in_lake, is_read_whole
from dataflow.pipelines.register.pipeline_jobs import call_for, register_pipelines

if TYPE_CHECKING:
    from collections.abc import Callable

    from dataflow.actions.prepare import InputChunk
    from dataflow.config.settings import Config
    from dataflow.model.records import Plan
    from dataflow.pipelines.declare.catalog import Catalog, Definition
    from dataflow.pipelines.register.settings import PipelineSettings
    from dataflow.store.store import Store

SHOWN_OPEN = 100
SHOWN_DONE = 10

WORDS = {WorkState.CLAIMABLE: "due"}
HELD = "held"


@record
class PlannedInterval:
    """One interval: due, waiting, running, done, failed, invalid or held, and why."""

    dataid: str
    state: str
    why: str


@record
class PlannedInput:
    """A dataset the interval would read: which version, and where; no location when nothing covers it yet."""

    dataset: str
    version: str = ""
    location: str = ""
    all_locations: tuple[str, ...] = ()  # where all ready chunks are read, in order


@record
class Outlook:
    """How a pipeline's intervals stand. `dataid` is the one to look at closer, "" when there is none."""

    counts: dict[str, int]
    intervals: tuple[PlannedInterval, ...]
    dataid: str
    inputs: tuple[PlannedInput, ...]

    def why(self) -> str:
        """Why the interval looked at is where it is."""
        return next((item.why for item in self.intervals if item.dataid == self.dataid), "")


@record
class Scene:
    """Where to look: a project's pipelines and settings, and who is certainly dead on this machine."""

    catalog: Catalog
    settings: PipelineSettings
    config: Config
    is_dead: Callable[[str], bool] | None = None


def look_ahead(store: Store, definition: Definition, scene: Scene, dataid: str | None = None) -> Outlook:
    """What `dataflow run` would find now, for all intervals or, as `--dataid` calls for it, for one."""

    def look(rehearsed: Store) -> Outlook:
        register_pipelines(rehearsed, scene.catalog.list_needed(definition), scene.settings)
        called = call_for(rehearsed, definition, dataid) if dataid is not None else None
        plan = get_plan(rehearsed, definition.job)
        while add_due_intervals(rehearsed, plan):
            pass
        return _outlook(rehearsed, definition, plan, scene, called)

    found: Outlook = store.rehearse(look)
    return found


def _outlook(store: Store, definition: Definition, plan: Plan, scene: Scene, called: str | None) -> Outlook:
    counted = store.read.count_work_by_state(plan.job_id)
    counts = {_word(state, False): count for state, count in counted.items()}
    if called is not None:
        intervals = [_interval(store, plan, scene, called)]
    else:
        intervals = _list_intervals(store, plan, scene)
    dataid = called or _choose(intervals)
    inputs = _list_inputs(store, definition, plan, scene, dataid) if dataid else ()
    return Outlook(counts, tuple(intervals), dataid, inputs)


def _list_intervals(store: Store, plan: Plan, scene: Scene) -> list[PlannedInterval]:
    done = store.read.list_done_dataids(plan.job_id, SHOWN_DONE)
    still_open = store.read.list_open_dataids(plan.job_id, SHOWN_OPEN)
    return [_interval(store, plan, scene, dataid) for dataid in [*reversed(done), *still_open]]


def _interval(store: Store, plan: Plan, scene: Scene, dataid: str) -> PlannedInterval:
    work = store.read.find_work(plan.job_id, dataid)
    found = why(store, scene.config, plan, dataid, scene.is_dead)
    state = "waiting" if work is None else _word(work.state, bool(work.hold))
    return PlannedInterval(dataid, state, found.verdict.partition(": ")[2] or found.verdict)


def _word(state: str, hold: bool) -> str:
    known = WorkState(state)
    if hold and known in (WorkState.CLAIMABLE, WorkState.WAITING):
        return HELD
    return WORDS.get(known, known.value.lower())


def _choose(intervals: list[PlannedInterval]) -> str:
    """The first that would run, else the first that is open, else the last that is done."""
    for wanted in (("due",), ("running", "waiting", "held", "failed", "invalid")):
        for interval in intervals:
            if interval.state in wanted:
                return interval.dataid
    return intervals[-1].dataid if intervals else ""


def _list_inputs(
    store: Store, definition: Definition, plan: Plan, scene: Scene, dataid: str
) -> tuple[PlannedInput, ...]:
    """What a claim made now would pin."""
    reads = list_reads(definition)
    if not reads:
        return ()
    chunks = list_input_chunks(WorkCase(store, scene.config, plan, dataid, scene.is_dead))
    pinned = {
        item.source.dataset.name: _planned_input(store, item, scene.config.project_dir)
        for item in chunks
        if item.pin is not None
    }
    return tuple(pinned.get(name, PlannedInput(name)) for name in reads)


def _planned_input(store: Store, item: InputChunk, project_dir: str) -> PlannedInput:
    assert item.pin is not None
    name, version = item.source.dataset.name, f"{item.dataid} version {item.pin.version}"
    if not is_read_whole(item.source):
        return PlannedInput(name, version, item.location)
    published = store.read.list_published(item.source.dataset_id)
    places = tuple(absolute_place(chunk.location, project_dir) for chunk in published if not chunk.stale)
    count = f"{len(places)} chunks, the newest " if len(places) > 1 else ""
    return PlannedInput(
        name, count + version, item.location, places if is_in_lake(item.source.dataset) else ()
    )
