"""Pipelines: their definitions, what they would do next, and where their columns come from.

Child processes load the files, so no handler needs a connection to the store, and Spark never starts.
"""

from __future__ import annotations

from typing import Any

from dataflow.api.pipeline_questions import ask
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import DATAID, LINEAGE
from dataflow.api.shapes import many, nullable, shape, spell, texts
from dataflow.model.principal import Permission

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


def list_pipelines(call: Call) -> Any:
    return ask(call.project, "list")


def show_pipeline(call: Call) -> Any:
    return ask(call.project, "show", call.path["pipeline"])


def plan_pipeline(call: Call) -> Any:
    return ask(call.project, "plan", call.path["pipeline"], call.query["dataid"])


def show_columns(call: Call) -> Any:
    return ask(call.project, "columns", call.path["dataset"])


_ONE = f"{PREFIX}/pipelines/{{pipeline}}"
ROUTES = (
    Route(
        *("GET", f"{PREFIX}/pipelines", Permission.READ, "List pipelines and the errors in their files"),
        list_pipelines,
        PIPELINES,
        needs_store=False,
    ),
    Route(
        *("GET", _ONE, Permission.READ, "Show the definition of a pipeline", show_pipeline, DEFINITION),
        needs_store=False,
    ),
    Route(
        *("GET", f"{_ONE}/plan", Permission.READ, "Show which intervals would run, and their SQL"),
        plan_pipeline,
        PLAN,
        (DATAID,),
        needs_store=False,
    ),
    Route(
        *("GET", f"{PREFIX}/datasets/{{dataset}}/columns", Permission.READ),
        "Show where the columns of a dataset come from",
        show_columns,
        LINEAGE,
        needs_store=False,
    ),
)
