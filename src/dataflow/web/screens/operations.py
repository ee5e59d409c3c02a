"""Workers, and the journal."""

from __future__ import annotations

from typing import Any

from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.journal import list_journal
from dataflow.api.routes.operations import list_workers, show_pools
from dataflow.web.page import Page


def read_workers(call: Call) -> dict[str, Any]:
    """Who is alive and does what, and the pools."""
    return {"workers": list_workers(call), "pools": show_pools(call)}


def read_journal(call: Call) -> dict[str, Any]:
    """Changes, newest first: who did what, and why."""
    lines, chosen = list_journal(call), dict(call.query)
    where = {name: value for name, value in chosen.items() if value and name not in ("limit", "before")}
    is_full = len(lines) == chosen["limit"]
    return {
        "lines": lines,
        "chosen": chosen,
        "where": where,
        "older": lines[-1]["journal_id"] if is_full else None,
    }


ROUTES = (
    Page("/workers", "Workers", "workers", "Workers", read_workers).route,
    Page(
        *("/journal", "Journal", "journal", "Journal", read_journal),
        (
            Field("job", STRING, "only of this job"),
            Field("dataset", STRING, "only of this dataset"),
            Field("dataid", STRING, "only of this dataid"),
            Field("run_id", INTEGER, "only of this run", default=0),
            Field("before", INTEGER, "only lines older than that of this id", default=0),
            Field("limit", INTEGER, "at most this many", default=100, least=1, most=1000),
        ),
    ).route,
)
