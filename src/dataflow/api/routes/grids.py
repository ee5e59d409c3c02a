"""The grid of a dataset, and pages of its chunks."""

from __future__ import annotations

from typing import Any

from dataflow.actions.chunk_list import MOST_CHUNKS, get_chunk_page
from dataflow.actions.grid import Zoom, get_grid
from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import CHUNK, FROM, TO
from dataflow.api.shapes import many, shape, texts
from dataflow.model.principal import Permission
from dataflow.model.record import as_tree
from dataflow.model.status import Status

PERIOD = Field("period", STRING, "year, month or day to show: 2026, 2026-08 or 2026-08-20", least=1)
BLOCK = shape(texts("name first last status") | {"total": "number", "counts": "counts"})
GRID = shape(
    texts("dataset grain level zoom first last")
    | {"total": "number", "counts": "counts", "blocks": many(BLOCK)}
)

PAGE = shape(dataset="text", chunks=many(CHUNK), next="text?")


def show_grid(call: Call) -> Any:
    zoom = Zoom(call.query["period"] or "", call.query["from"], call.query["to"])
    return as_tree(get_grid(call.store, call.path["dataset"], zoom))


def list_page(call: Call) -> Any:
    query = call.query
    after, status = query["after"] or "", query["status"] or ""
    return as_tree(get_chunk_page(call.store, call.path["dataset"], after, query["limit"], status))


ROUTES = (
    Route(
        *("GET", f"{PREFIX}/datasets/{{dataset}}/pages", Permission.READ),
        "List chunks of a dataset in order, page by page",
        list_page,
        PAGE,
        (
            Field("after", STRING, "dataid after which the page begins; it need not exist", least=1),
            Field("status", STRING, "only chunks with this status", choices=tuple(map(str, Status))),
            Field("limit", INTEGER, "at most this many", default=100, least=1, most=MOST_CHUNKS),
        ),
    ),
    Route(
        *("GET", f"{PREFIX}/datasets/{{dataset}}/grid", Permission.READ),
        "Count the chunks of a dataset by status, by year, month and day or in blocks",
        show_grid,
        GRID,
        (PERIOD, FROM, TO),
    ),
)
