"""Workers, and the journal."""

from __future__ import annotations

from typing import Any

from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.operations import list_workers, show_pools
from dataflow.api.routes.runs import list_journal
from dataflow.web.page import Page


def read_workers(call: Call) -> dict[str, Any]:
    """Who is alive and does what, and the pools."""
    return {"workers": list_workers(call), "pools": show_pools(call)}


def read_journal(call: Call) -> dict[str, Any]:
    """The newest changes: who did what, and why."""
    return {"lines": list_journal(call), "chosen": call.query}


ROUTES = (
    Page("/workers", "Workers", "workers", "Workers", read_workers).route,
    Page(
        *("/journal", "Journal", "journal", "Journal", read_journal),
        (
            Field("job", STRING, "only of this job"),
            Field("dataset", STRING, "only of this dataset"),
            Field("dataid", STRING, "only of this dataid"),
            Field("run_id", INTEGER, "only of this run", default=0),
            Field("limit", INTEGER, "at most this many", default=100, least=1, most=1000),
        ),
    ).route,
)
