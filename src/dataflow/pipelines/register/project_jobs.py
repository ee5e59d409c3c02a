"""Registers all pipelines of a project, as far as they can be registered."""

from __future__ import annotations

from collections.abc import Callable

from dataflow.errors import BadInput, ConfigError, Conflict, UnknownName
from dataflow.pipelines.declare.catalog import Catalog, Definition
from dataflow.pipelines.declare.settings import PipelineSettings
from dataflow.pipelines.register.pipeline_jobs import register_pipelines
from dataflow.store.store import Store

REFUSALS = (BadInput, ConfigError, Conflict, UnknownName)


def register_project(
    store: Store,
    catalog: Catalog,
    settings: PipelineSettings,
    warn: Callable[[str], None],
    wanted: Definition | None = None,
) -> set[str]:
    """Registers all pipelines; warns about those that cannot be and returns their jobs.

    Raises the error of `wanted`, if it cannot be registered.
    """
    refused: set[str] = set()
    try:
        register_pipelines(store, catalog.definitions.values(), settings)
    except REFUSALS:
        if wanted is not None:
            register_pipelines(store, catalog.list_needed(wanted), settings)
        for other in catalog.definitions.values():
            try:
                register_pipelines(store, catalog.list_needed(other), settings)
            except REFUSALS as error:
                place = "" if str(error).startswith(other.place) else f"{other.place}: {other.job}: "
                warn(f"warning: {other.job} is not registered: {place}{error}")
                refused.add(other.job)
    return refused
