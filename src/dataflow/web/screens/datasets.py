"""Datasets, and one dataset with the grid of its chunks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dataflow.actions.grid import CHUNK
from dataflow.api.fields import STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.datasets import FROM, TO, list_chunks, list_datasets, show_dataset
from dataflow.api.routes.grids import PERIOD, show_grid
from dataflow.api.routes.jobs import show_status
from dataflow.model.record import replace
from dataflow.model.status import Status
from dataflow.web.grid_view import draw, list_crumbs
from dataflow.web.page import Page

ROWS = 100


def read_datasets(call: Call) -> dict[str, Any]:
    """All datasets: how many chunks they have, what is missing, and whether they are as fresh as declared."""
    return {
        "status": show_status(replace(call, query={"late_after_seconds": 3600})),
        "promises": {one["dataset"]: _promise(one) for one in list_datasets(call)},
    }


def _promise(dataset: Mapping[str, Any]) -> str:
    """Return what a dataset declares of its freshness, empty for nothing."""
    words = {"due_by": "due by", "fresh_within": "fresh within"}
    return ", ".join([f"{words[name]} {dataset[name]}" for name in words if dataset[name]])


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
)
