"""Pipelines: their definitions, what they would do next, and where their columns come from.

Their packages are loaded with the first request that needs them, and Spark never is.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dataflow.actions.descriptions import describe_lineage
from dataflow.actions.lineage import BOTH
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import DATAID, LINEAGE
from dataflow.api.shapes import many, nullable, shape, spell, texts
from dataflow.config.packages import installed_packages
from dataflow.model.principal import Permission

if TYPE_CHECKING:
    from dataflow.pipelines.declare.catalog import Catalog
    from dataflow.pipelines.declare.settings import PipelineSettings

PIPELINE = shape(texts("pipeline kind dataset target schedule note") | {"start": "text?", "end": "text?"})
PIPELINES = shape(pipelines=many(PIPELINE), problems="texts")
INTERVAL = shape(dataid="text", state="text", why="text")
DEFINITION = shape(
    texts("pipeline kind dataset place")
    | {"target": {"type": "object"}, "schedule": {"type": "object"}, "checks": "any"}
)
PLAN = shape(
    texts("pipeline dataset"),
    counts=spell("counts"),
    intervals=many(INTERVAL),
    interval=nullable({"type": "object"}),
)
_loading = threading.Lock()  # the files of a project are modules, which threads share


@contextmanager
def _loaded(call: Call) -> Iterator[tuple[Catalog, PipelineSettings]]:
    """The project's pipelines as their files are now, and their settings; errors are without secrets."""
    project = call.project
    folder = project.config.project_dir
    with _loading, installed_packages("Pipelines"):
        from dataflow.pipelines.declare.catalog import Catalog
        from dataflow.pipelines.declare.settings import PipelineSettings

        settings = PipelineSettings(folder, project.environ, project.passphrase)
        with settings.secrets.hidden_in_errors():
            yield Catalog(folder, project.environ), settings


def list_pipelines(call: Call) -> Any:
    with _loaded(call) as (catalog, settings):
        from dataflow.pipelines.show.description import list_briefly

        return {"pipelines": list_briefly(catalog, settings), "problems": catalog.problems}


def show_pipeline(call: Call) -> Any:
    with _loaded(call) as (catalog, settings):
        from dataflow.pipelines.show.description import describe

        return settings.secrets.redact_all(describe(catalog.get(call.path["pipeline"]), settings))


def plan_pipeline(call: Call) -> Any:
    with _loaded(call) as (catalog, settings):
        from dataflow.pipelines.run.facilities import Facilities
        from dataflow.pipelines.show.plan import Scene, describe_outlook, look_ahead
        from dataflow.pipelines.show.statements import describe_interval
        from dataflow.service.pipeline_process import SilentProgress

        definition, config = catalog.get(call.path["pipeline"]), call.project.config
        scene = Scene(catalog, settings, config, call.project.is_gone)
        facilities = Facilities(config, call.store, settings, catalog.constants, SilentProgress())
        outlook = look_ahead(call.store, definition, scene, call.query["dataid"])
        detail = describe_interval(outlook.plan, facilities) if outlook.plan else None
        return describe_outlook(definition, outlook, settings.secrets.redact_all(detail))


def show_columns(call: Call) -> Any:
    with _loaded(call) as (catalog, _):
        from dataflow.pipelines.show.columns import trace_columns

        return describe_lineage(trace_columns(catalog, call.path["dataset"], BOTH, 0))


_ONE = f"{PREFIX}/pipelines/{{pipeline}}"
ROUTES = (
    Route(
        *("GET", f"{PREFIX}/pipelines", Permission.READ, "List pipelines and the errors in their files"),
        list_pipelines,
        PIPELINES,
    ),
    Route("GET", _ONE, Permission.READ, "Show the definition of a pipeline", show_pipeline, DEFINITION),
    Route(
        *("GET", f"{_ONE}/plan", Permission.READ, "Show which intervals would run, and their SQL"),
        plan_pipeline,
        PLAN,
        (DATAID,),
    ),
    Route(
        *("GET", f"{PREFIX}/datasets/{{dataset}}/columns", Permission.READ),
        "Show where the columns of a dataset come from",
        show_columns,
        LINEAGE,
    ),
)
