"""Which target a run's rows go to, made from the definition and its connection; clearing its staging."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dataflow.errors import DataFlowError, InvalidData
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.record import replace
from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
from dataflow.pipelines.handover.records import Destination, Target, claim_of
from dataflow.pipelines.lake.parquet_target import LakeTarget
from dataflow.pipelines.register.published_tables import get_store_id
from dataflow.pipelines.run.leases import make_patience, refuse_revoked
from dataflow.pipelines.shape.fields import Field
from dataflow.pipelines.spark.frames import count_bad_rows

if TYPE_CHECKING:
    from dataflow.client import ClaimedRun
    from dataflow.model.records import PlanOutput
    from dataflow.pipelines.postgres.table_target import PostgresTarget
    from dataflow.pipelines.run.facilities import Facilities
    from dataflow.store.store import Store


def destination_of(claimed: ClaimedRun, dataset: str, store: Store) -> Destination:
    """Which chunk a run writes, and what may be replaced by it."""
    found = _output_of(claimed, dataset)
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
        store_id=get_store_id(store),
        job=claimed.run.job,
        claim=claim_of(claimed.run.claimant),
        newest_run=find_newest_run(store),
        newest=(newest.dataid, sort_key(newest.dataid, Grain(output.grain))) if newest else ("", ""),
    )


def _output_of(claimed: ClaimedRun, dataset: str) -> PlanOutput:
    return next(item for item in claimed.prepared.plan.outputs if item.dataset.name == dataset)


def find_newest_run(store: Store) -> int:
    """The last run that a status store has given an id."""
    return store.read.get_newest_run_id()


def find_last_rows(claimed: ClaimedRun, dataset: str, facilities: Facilities) -> int | None:
    """How many rows the version before has: the same chunk's, or the newest snapshot's before it."""
    output = _output_of(claimed, dataset)
    pair = (claimed.dataid, sort_key(claimed.dataid, Grain(output.dataset.grain)))
    is_snapshot = output.dataset.mode == "snapshot"
    return facilities.store.read.find_last_rows(output.dataset_id, pair, is_snapshot)


def lake_target(
    claimed: ClaimedRun,
    destination: Destination,
    columns: tuple[tuple[str, str], ...],
    facilities: Facilities,
) -> LakeTarget:
    """A run's part of the lake; passes over its staged files are made by the worker's session."""
    return LakeTarget(
        claimed.location(destination.dataset),
        destination,
        columns,
        lambda check, frame: count_bad_rows(facilities.session(), check, frame),
    )


def view_target(
    definition: ViewDefinition, fields: tuple[Field, ...], claimed: ClaimedRun, facilities: Facilities
) -> Target:
    """The target of a view pipeline's run that Spark computes."""
    destination = destination_of(claimed, definition.dataset, facilities.store)
    connection = facilities.settings.get_connection(definition.target)
    if connection.is_lake:
        columns = tuple((field.column, field.type.sql) for field in fields)
        return lake_target(claimed, destination, columns, facilities)
    from dataflow.pipelines.register.databases import (
        make_view_target,  # only those who write to it need its driver
    )

    target = make_view_target(connection, definition, fields, destination, facilities.streams)
    return _reached(target, claimed, facilities)


def dataset_target(
    definition: DatasetDefinition, fields: tuple[Field, ...], claimed: ClaimedRun, facilities: Facilities
) -> Target:
    """The target of a dataset pipeline's run."""
    destination = destination_of(claimed, definition.dataset, facilities.store)
    destination = replace(destination, inputs=definition.fingerprint)
    connection = facilities.settings.get_connection(definition.target)
    if connection.is_lake:
        columns = tuple((field.column, field.type.sql) for field in fields)
        return lake_target(claimed, destination, columns, facilities)
    from dataflow.pipelines.register.databases import (
        make_table_target,  # only those who write to it need its driver
    )

    target = make_table_target(connection, definition, fields, destination, facilities.streams)
    return _reached(target, claimed, facilities)


def _reached(target: PostgresTarget, claimed: ClaimedRun, facilities: Facilities) -> Target:
    """The target as Spark's tasks can reach it: themselves, or by way of files that this process copies."""
    target.last_look = lambda: refuse_revoked(claimed, facilities.store)
    target.patience = make_patience(claimed, facilities)
    folder = facilities.staging_folder(claimed.run, claimed.run_id)
    if not facilities.settings.spark.copy_on_driver:
        target.task_folder = folder
        return target
    from dataflow.pipelines.postgres.relay import RelayTarget  # only those who write to it need its driver

    return RelayTarget(target, os.path.join(folder, "rows"))


@contextmanager
def discarding(target: Target) -> Iterator[None]:
    """Staging is cleared when the body ends; what is INVALID stays there, to be looked at.

    Whether it can be cleared changes nothing about how the body ended: the next run clears up, too.
    """
    try:
        yield
    except InvalidData:
        raise
    except BaseException:
        _discard(target)
        raise
    _discard(target)


def _discard(target: Target) -> None:
    try:
        target.discard()
    except DataFlowError:
        pass
