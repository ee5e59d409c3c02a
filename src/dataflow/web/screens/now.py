"""Now: what needs attention, oldest first; and if nothing does, what ran and what is due."""

from __future__ import annotations

from typing import Any

from dataflow.api.route import Call
from dataflow.api.routes.attention import show_attention
from dataflow.api.routes.jobs import show_status
from dataflow.api.routes.operations import list_workers
from dataflow.api.routes.runs import list_runs
from dataflow.model.record import replace
from dataflow.web.page import Page
from dataflow.web.screens.runs import with_seconds

RECENT = {"job": None, "dataid": None, "outcome": None, "limit": 10}
KINDS = {
    "failed": "FAILED",
    "invalid": "INVALID",
    "quarantine": "INVALID",
    "blocked": "PENDING",
    "asking": "STALE",
    "held": "HOLD",
    "lost": "LOST",
    "worker": "LOST",
}
"""The status whose icon a kind of trouble has; those without one are late."""


def read_now(call: Call) -> dict[str, Any]:
    """What needs attention, the counts of all jobs, and the last runs."""
    return {
        "attention": show_attention(call),
        "kinds": KINDS,
        "status": show_status(replace(call, query={"late_after_seconds": 3600})),
        "workers": list_workers(call),
        "runs": with_seconds(list_runs(replace(call, query=RECENT))),
    }


ROUTES = (Page("/", "Now", "now", "Now", read_now).route,)
