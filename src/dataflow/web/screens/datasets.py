"""Datasets, one dataset with its chunks, and one chunk."""

from __future__ import annotations

from typing import Any

from dataflow.actions.grid import CHUNK
from dataflow.api.fields import STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.datasets import FROM, TO, list_chunks, show_dataset, show_lineage, show_versions
from dataflow.api.routes.grids import PERIOD, show_grid
from dataflow.api.routes.jobs import explain, show_status
from dataflow.errors import BadInput
from dataflow.model.record import replace
from dataflow.model.status import Status
from dataflow.web.grid_view import draw, list_crumbs
from dataflow.web.page import Page

ROWS = 100


def read_datasets(call: Call) -> dict[str, Any]:
    """All datasets with how many chunks they have and what is missing."""
    return {"status": show_status(replace(call, query={"late_after_seconds": 3600}))}


def read_dataset(call: Call) -> dict[str, Any]:
    """One dataset: the grid of all chunks or of a part; a small part, or one status, also as a list."""
    dataset = show_dataset(call)
    zoom = {name: call.query[name] for name in ("period", "from", "to")}
    grid = show_grid(replace(call, query=zoom))
    chunks = None
    if grid["total"] and (grid["level"] == CHUNK or call.query["status"]):
        ends = {"from": grid["first"], "to": grid["last"], "status": call.query["status"], "limit": ROWS}
        chunks = list_chunks(replace(call, query=ends))
    return {
        "title": dataset["dataset"],
        "dataset": dataset,
        "grid": grid,
        "drawing": draw(grid),
        "crumbs": list_crumbs(grid, zoom["from"], zoom["to"]),
        "is_part": any(zoom.values()),
        "chunks": chunks,
        "chosen": call.query,
        "rows": ROWS,
    }


def read_chunk(call: Call) -> dict[str, Any]:
    """One chunk: status, versions, what it was made from and who reads it, and why."""
    dataset = show_dataset(call)
    dataid = call.query["dataid"]
    only = {"from": dataid, "to": dataid, "status": None, "limit": 1}
    (chunk, *_) = list_chunks(replace(call, query=only)) or [None]
    versions, unkept = _versions(replace(call, query={"dataid": dataid})) if chunk else ([], "")
    lineage = None
    if chunk and chunk["version"]:
        around = {"dataid": dataid, "direction": "both", "depth": 1}
        lineage = show_lineage(replace(call, query=around))
    why = None
    if dataset["produced_by"]:
        why = explain(replace(call, path={"job": dataset["produced_by"]}, query={"dataid": dataid}))
    return {
        "title": f"{dataset['dataset']}/{chunk['dataid'] if chunk else dataid}",
        "dataset": dataset,
        "chunk": chunk,
        "versions": versions,
        "unkept": unkept,
        "lineage": lineage,
        "why": why,
    }


def _versions(call: Call) -> tuple[Any, str]:
    """Return the kept versions of a chunk, or why none but the current one is kept."""
    try:
        return show_versions(call), ""
    except BadInput as error:
        return [], str(error)


ROUTES = (
    Page("/datasets", "Datasets", "datasets", "Datasets", read_datasets).route,
    Page(
        *("/datasets/{dataset}", "Dataset", "dataset", "Datasets", read_dataset),
        (
            PERIOD,
            FROM,
            TO,
            Field("status", STRING, "only with this status", choices=tuple(map(str, Status))),
        ),
    ).route,
    Page(
        *("/chunks/{dataset}", "Chunk", "chunk", "Datasets", read_chunk),
        (Field("dataid", STRING, "dataid of the chunk", required=True, least=1),),
    ).route,
)
