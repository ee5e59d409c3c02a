"""What needs attention, what ran lately and what is due next."""

from __future__ import annotations

from typing import Any

from dataflow.actions.attention import get_attention
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.shapes import many, shape, texts
from dataflow.model.principal import Permission
from dataflow.model.record import as_tree

ITEM = shape(
    texts("kind job dataset dataid since_at reason next acknowledged_by")
    | {"count": "number", "incident_id": "number?"}
)
ATTENTION = shape(
    now_at="text",
    items=many(ITEM),
    ran=many(shape(job="text", outcome="text", count="number")),
    due=many(shape(texts("job dataset due_at"))),
)


def show_attention(call: Call) -> Any:
    return as_tree(get_attention(call.store))


ROUTES = (
    Route(
        *("GET", f"{PREFIX}/attention", Permission.READ, "List what needs attention, oldest first"),
        show_attention,
        ATTENTION,
    ),
)
