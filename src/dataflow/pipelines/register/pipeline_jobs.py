"""Registers pipelines as jobs and datasets of the store, again whenever their definitions change."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, cast

from dataflow.actions import calendar
from dataflow.actions.dataset_rules import is_automatic
from dataflow.actions.names import get_plan
from dataflow.actions.register import register
from dataflow.errors import UnknownName
from dataflow.model.grain import Grain
from dataflow.model.job_dataid import job_dataid
from dataflow.model.records import Dataset, Job
from dataflow.model.wording import did_you_mean, quoted
from dataflow.pipelines.register.intervals import interval_of, written_dataid
from dataflow.pipelines.register.job_datasets import list_datasets, producers_first
from dataflow.pipelines.register.target_rules import get_place_of, refuse_misplaced

if TYPE_CHECKING:
    from dataflow.actions.differences import Change
    from dataflow.actions.registry_draft import Draft, Registry
    from dataflow.pipelines.declare.catalog import Definition
    from dataflow.pipelines.declare.settings import PipelineSettings
    from dataflow.store.store import Store

LEASE_SECONDS = 300.0


def register_pipelines(
    store: Store, definitions: Iterable[Definition], settings: PipelineSettings
) -> list[Change]:
    """Registers the jobs and datasets of these pipelines in one transaction; skips unchanged ones."""
    in_order = producers_first(list(definitions))
    kinds = {definition.job: definition.kind for definition in in_order}
    return register(store, lambda registry: _draft(registry, in_order, settings), kinds)


def _draft(registry: Registry, definitions: list[Definition], settings: PipelineSettings) -> Draft:
    refuse_misplaced(definitions, settings)
    datasets: dict[str, Dataset] = {}
    known = ChainMap(datasets, cast("dict[str, Dataset]", registry.datasets))
    for definition in definitions:
        made = list_datasets(definition, get_place_of(definition, settings), known)
        datasets |= {dataset.name: dataset for dataset in made}
    for definition in definitions:
        _refuse_unknown(definition, known)
    jobs = [job_of(definition) for definition in definitions]
    return registry.draft(datasets.values(), jobs, may_be_over=True)


def _refuse_unknown(definition: Definition, known: Mapping[str, Dataset]) -> None:
    """UnknownName for an input that is not a dataset; inputs from the clock are checked with the job."""
    for item in definition.inputs:
        if item.dataset not in known and not is_automatic(item.dataset):
            raise UnknownName(
                f"{definition.place}: {definition.job}: unknown dataset {quoted(item.dataset)} in "
                f'inputs=["{item.dataset}"].{did_you_mean(item.dataset, known)} Name one that a '
                "pipeline makes, or that is registered: dataflow dataset list"
            )


def call_for(store: Store, definition: Definition, dataid: str) -> str:
    """Creates the work of an interval, even if it is not due; returns its canonical dataid."""
    plan = get_plan(store, definition.job)
    dataid = job_dataid(dataid, plan)
    if not definition.follows_inputs:
        dataid = written_dataid(definition.timing, dataid)
        # raises before work is created that could never be done
        interval_of(definition.timing, dataid, by_day=plan.grain == Grain.DAILY)
    calendar.call_for(store, plan, dataid)
    return dataid


def job_of(definition: Definition) -> Job:
    """The job record of a pipeline."""
    timing = definition.timing
    return Job(
        definition.job,
        inputs=definition.inputs,
        outputs=definition.outputs,
        schedule=timing.schedule,
        start=timing.start,
        end=timing.end,
        catchup=timing.catchup,
        timezone=timing.timezone,
        retries=timing.retries,
        retry_delay_seconds=timing.retry_delay_seconds,
        timeout_seconds=timing.timeout_seconds,
        lease_seconds=LEASE_SECONDS,
    )
