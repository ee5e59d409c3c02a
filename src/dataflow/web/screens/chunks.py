"""One chunk: status, versions, why, what it was made from and what was made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.actions.lineage import CHUNK
from dataflow.api.route import Call
from dataflow.api.routes.datasets import (
    ONE_DATAID,
    list_chunks,
    show_dataset,
    show_lineage,
    show_versions,
)
from dataflow.api.routes.jobs import explain
from dataflow.errors import BadInput
from dataflow.model.record import replace
from dataflow.web.page import Page


def read_chunk(call: Call) -> dict[str, Any]:
    """One chunk, also one that is not published yet."""
    dataset, dataid = show_dataset(call), call.query["dataid"]
    only = {"from": dataid, "to": dataid, "status": None, "limit": 1}
    (chunk, *_) = list_chunks(replace(call, query=only)) or [None]
    versions, unkept = _versions(call) if chunk else ([], "")
    sources, uses = _lineage(call) if chunk and chunk["version"] else ([], [])
    why = None
    if dataset["produced_by"]:
        why = explain(replace(call, path={"job": dataset["produced_by"]}))
    return {
        "title": f"{dataset['dataset']}/{chunk['dataid'] if chunk else dataid}",
        "dataset": dataset,
        "chunk": chunk,
        "versions": versions,
        "unkept": unkept,
        "sources": sources,
        "uses": uses,
        "why": why,
    }


def _versions(call: Call) -> tuple[Any, str]:
    """Return the kept versions of a chunk, or why none but the current one is kept."""
    try:
        return show_versions(call), ""
    except BadInput as error:
        return [], str(error)


def _lineage(call: Call) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the chunks that a chunk was made from, and the runs that read it with what they made."""
    around = {"dataid": call.query["dataid"], "direction": "both", "depth": 1}
    graph = show_lineage(replace(call, query=around))
    nodes = {node["id"]: _linked(node) for node in graph["nodes"]}
    (root,) = graph["roots"]
    makers = [edge["from"] for edge in graph["edges"] if edge["to"] == root]
    sources = [nodes[edge["from"]] for edge in graph["edges"] if edge["to"] in makers]
    uses = [
        nodes[edge["to"]]
        | {"note": edge["note"]}
        | {"made": [nodes[more["to"]] for more in graph["edges"] if more["from"] == edge["to"]]}
        for edge in graph["edges"]
        if edge["from"] == root
    ]
    return sources, uses


def _linked(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return a node with the dataset and dataid of a chunk, for its link; a dataset's name has no slash."""
    dataset, _, dataid = node["name"].partition("/")
    return dict(node) | ({"dataset": dataset, "dataid": dataid} if node["kind"] == CHUNK else {})


ROUTES = (Page("/chunks/{dataset}", "Chunk", "chunk", "Datasets", read_chunk, (ONE_DATAID,)).route,)
