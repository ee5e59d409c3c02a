"""Pipelines, and one pipeline: its definition, its SQL, its plan, where its columns come from."""

from __future__ import annotations

from typing import Any

from dataflow.api.fields import STRING, Field
from dataflow.api.pipeline_questions import ask
from dataflow.api.route import Call
from dataflow.api.routes.pipelines import list_pipelines
from dataflow.web.page import Page

SQL_PARTS = ("query", "fields", "join_clause", "where_clause")
SHOWN_APART = ("pipeline", "kind", "dataset", "place", "mapping", "checks", "schedule", "target", *SQL_PARTS)
DATAID = Field("dataid", STRING, "dataid of the interval to show")


def read_pipelines(call: Call) -> dict[str, Any]:
    """All pipelines, and the files that cannot be loaded."""
    return {"found": list_pipelines(call)}


def read_pipeline(call: Call) -> dict[str, Any]:
    """One pipeline, whole."""
    name = call.path["pipeline"]
    whole = ask(call.project, "whole", name, call.query["dataid"])
    definition = whole["definition"]
    interval = (whole["plan"] or {}).get("interval") or {}
    return {
        "title": name,
        "pipeline": definition,
        "facts": {key: value for key, value in definition.items() if key not in SHOWN_APART and value},
        "written": {key: definition[key] for key in SQL_PARTS if definition.get(key)},
        "plan": whole["plan"],
        "interval": interval,
        "origins": _list_origins(whole["columns"], definition["dataset"]),
        "problems": whole["problems"],
        "chosen": call.query,
    }


def _list_origins(columns: dict[str, Any] | None, dataset: str) -> list[tuple[str, list[str]]]:
    """Return the columns of a dataset, each with the columns it comes from."""
    if columns is None:
        return []
    names = {node["id"]: node["name"] for node in columns["nodes"]}
    found: dict[str, list[str]] = {}
    for edge in columns["edges"]:
        if names[edge["to"]].startswith(f"{dataset}."):
            found.setdefault(names[edge["to"]], []).append(names[edge["from"]])
    return sorted(found.items())


ROUTES = (
    Page("/pipelines", "Pipelines", "pipelines", "Pipelines", read_pipelines, needs_store=False).route,
    Page(
        *("/pipelines/{pipeline}", "Pipeline", "pipeline", "Pipelines", read_pipeline, (DATAID,)),
        needs_store=False,
    ).route,
)
