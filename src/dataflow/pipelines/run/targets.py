"""The target of a run, made from the definition and its connection; clears its staging."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from dataflow.client import ClaimedRun
from dataflow.errors import BadInput, DataFlowError, InvalidData
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.location import claim_of
from dataflow.model.record import replace
from dataflow.model.records import PYTHON
from dataflow.pipelines.declare.catalog import Definition
from dataflow.pipelines.declare.definitions import DatasetDefinition
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.handover.records import Destination, Target
from dataflow.pipelines.lake.manifest import Columns
from dataflow.pipelines.lake.parquet_target import LakeTarget
from dataflow.pipelines.register.interval_plan import IntervalPlan
from dataflow.pipelines.run.facilities import Facilities
from dataflow.pipelines.run.pipeline_run import make_patience, output_of, refuse_revoked
from dataflow.pipelines.run.spark_sessions import SparkSessions
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.spark.frames import count_bad_rows
from dataflow.store.store import Store

if TYPE_CHECKING:
    from dataflow.pipelines.postgres.table_target import PostgresTarget


def destination_of(claimed: ClaimedRun, dataset: str, store: Store) -> Destination:
    """The chunk a run writes, and what it may replace."""
    found = output_of(claimed, dataset)
    output = found.dataset
    pins = [f"{item.name}@{item.pin.version}" for item in claimed.prepared.inputs if item.pin]
    newest = store.read.find_newest_ready(found.dataset_id)
    return Destination(
        dataset,
        claimed.dataid,
        sort_key(claimed.dataid, Grain(output.grain)),
        claimed.run_id,
        output.mode,
        inputs=" ".join(pins),
        store_id=store.read.get_store_id(),
        job=claimed.run.job,
        claim=claim_of(claimed.run.claimant),
        newest_run=store.read.get_newest_run_id(),
        newest=(newest.dataid, sort_key(newest.dataid, Grain(output.grain))) if newest else ("", ""),
    )


def lake_target(
    claimed: ClaimedRun, destination: Destination, columns: Columns, spark: SparkSessions
) -> LakeTarget:
    """A run's target in the lake; the worker's session scans its staged files."""
    location = claimed.location(destination.dataset)
    return LakeTarget(location, destination, columns, lambda *asked: count_bad_rows(spark.get(), *asked))


def pipeline_target(
    plan: IntervalPlan, fields: tuple[Field, ...], claimed: ClaimedRun, facilities: Facilities
) -> Target:
    """The target of a pipeline's run that Spark computes."""
    definition = plan.definition
    destination = destination_of(claimed, definition.dataset, facilities.store)
    if isinstance(definition, DatasetDefinition):  # of others, the versions of its inputs identify the rows
        destination = replace(destination, inputs=definition.fingerprint)
    if plan.target.is_lake:
        columns = tuple((field.column, field.type.sql) for field in fields)
        return lake_target(claimed, destination, columns, facilities.spark)
    from dataflow.pipelines.register.databases import make_target  # only database targets need the driver

    target = make_target(plan, fields, destination, facilities.spark.streams)
    return _reached(target, claimed, facilities)


def _reached(target: PostgresTarget, claimed: ClaimedRun, facilities: Facilities) -> Target:
    """The target as Spark's tasks reach it: directly, or through files that this process copies."""
    target.last_look = lambda: refuse_revoked(claimed, facilities.store)
    target.patience = make_patience(claimed, facilities)
    folder = facilities.staging.of_run(claimed.run)
    if not facilities.settings.spark.copy_on_driver:
        target.task_folder = folder
        return target
    from dataflow.pipelines.postgres.relay import RelayTarget  # only database targets need the driver

    return RelayTarget(target, os.path.join(folder, "rows"))


@contextmanager
def discarding(target: Target | None) -> Iterator[None]:
    """Clears staging when the body ends; INVALID output is kept for inspection."""
    try:
        yield
    except InvalidData:
        target = None
        raise
    finally:
        if target is not None:
            with suppress(DataFlowError):  # then the next run clears it
                target.discard()


def take_tables_over(store: Store, definition: Definition, settings: PipelineSettings) -> int:
    """Takes over a pipeline's tables; returns how many dataids were another store's. BadInput in the lake."""
    setting = settings.get_connection(definition.target)
    if definition.kind == PYTHON or setting.is_lake:
        raise BadInput(
            f"{definition.job} writes to the lake ({definition.target}), where each store has its own files: "
            f"there is nothing to take over. Run it: dataflow run {definition.job}"
        )
    from dataflow.pipelines.postgres.ledger import take_over
    from dataflow.pipelines.postgres.transactions import transaction  # only databases need the driver

    with transaction(setting) as session:
        ids = store.read.get_store_id(), store.read.get_newest_run_id()
        return take_over(session, definition.schema, definition.dataset, *ids)
