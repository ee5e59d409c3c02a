"""Lineage: all datasets and jobs with their state, those around one dataset, and one chunk with versions."""

from __future__ import annotations

from typing import Any

from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.datasets import show_all_lineage, show_lineage
from dataflow.api.routes.jobs import show_status
from dataflow.model.record import replace
from dataflow.web.lineage_view import MOST_NODES, describe_state, draw, link_of, list_states
from dataflow.web.page import Page

QUERY = (
    Field("dataset", STRING, "only around this dataset"),
    Field("dataid", STRING, "only around this chunk of the dataset"),
    Field("direction", STRING, "which way", default="both", choices=("up", "down", "both")),
    Field("depth", INTEGER, "at most this many steps away; 0: all", default=0, most=1000),
)


def read_lineage(call: Call) -> dict[str, Any]:
    """A graph as a drawing and as a table."""
    lineage = _read(call)
    states = {}
    if not call.query["dataid"] or not call.query["dataset"]:
        states = list_states(show_status(replace(call, query={"late_after_seconds": 3600})))
    nodes = {
        node["id"]: node | {"link": link_of(node), "state": states.get(node["id"]) or describe_state(node)}
        for node in lineage["nodes"]
    }
    is_small = len(nodes) <= MOST_NODES
    return {
        "title": _title(call),
        "lineage": lineage,
        "nodes": nodes,
        "graph": draw(lineage, states) if is_small else None,
        "most": MOST_NODES,
        "chosen": call.query,
    }


def _read(call: Call) -> Any:
    if not call.query["dataset"]:
        return show_all_lineage(call)
    query = {name: call.query[name] for name in ("dataid", "direction", "depth")}
    return show_lineage(replace(call, path={"dataset": call.query["dataset"]}, query=query))


def _title(call: Call) -> str:
    names = [call.query[name] for name in ("dataset", "dataid") if call.query[name]]
    return f"Lineage of {'/'.join(names)}" if call.query["dataset"] else "Lineage"


ROUTES = (Page("/lineage", "Lineage", "lineage", "Lineage", read_lineage, QUERY).route,)
