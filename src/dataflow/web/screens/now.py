"""Now: what needs attention, oldest first; and if nothing does, what ran and what is due."""

from __future__ import annotations

from typing import Any

from dataflow.api.route import Call
from dataflow.api.routes.jobs import show_status
from dataflow.api.routes.operations import list_incidents, list_workers
from dataflow.api.routes.runs import list_runs
from dataflow.model.record import replace
from dataflow.web.page import Page
from dataflow.web.screens.runs import with_seconds

RECENT = {"job": None, "dataid": None, "outcome": None, "limit": 10}


def read_now(call: Call) -> dict[str, Any]:
    """The incidents that are open, the status of all jobs, and the last runs."""
    incidents = sorted(list_incidents(replace(call, query={"all": False})), key=lambda one: one["opened_at"])
    status = show_status(replace(call, query={"late_after_seconds": 3600}))
    return {
        "incidents": incidents,
        "status": status,
        "late": [job for job in status["jobs"] if job["late"]],
        "workers": list_workers(call),
        "runs": with_seconds(list_runs(replace(call, query=RECENT))),
    }


ROUTES = (Page("/", "Now", "now", "Now", read_now).route,)
