"""The grid of a dataset, and pages of its chunks."""

from __future__ import annotations

from typing import Any

from dataflow.actions.grid import Zoom, get_grid
from dataflow.api.fields import STRING, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import FROM, TO
from dataflow.api.shapes import many, shape, texts
from dataflow.model.principal import Permission
from dataflow.model.record import as_tree

PERIOD = Field("period", STRING, "year, month or day to show: 2026, 2026-08 or 2026-08-20", least=1)
BLOCK = shape(texts("name first last status") | {"total": "number", "counts": "counts"})
GRID = shape(
    texts("dataset grain level zoom first last")
    | {"total": "number", "counts": "counts", "blocks": many(BLOCK)}
)


def show_grid(call: Call) -> Any:
    zoom = Zoom(call.query["period"] or "", call.query["from"], call.query["to"])
    return as_tree(get_grid(call.store, call.path["dataset"], zoom))


ROUTES = (
    Route(
        *("GET", f"{PREFIX}/datasets/{{dataset}}/grid", Permission.READ),
        "Count the chunks of a dataset by status, by year, month and day or in blocks",
        show_grid,
        GRID,
        (PERIOD, FROM, TO),
    ),
)
