"""Jobs, one job with its work, and why."""

from __future__ import annotations

from typing import Any

from dataflow.api.fields import STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.jobs import explain, show_job, show_status
from dataflow.api.routes.logs import show_log
from dataflow.api.routes.runs import list_runs
from dataflow.api.routes.statistics import show_statistics
from dataflow.model.record import replace
from dataflow.model.status import RunOutcome
from dataflow.web.page import Page
from dataflow.web.plot import make_plots
from dataflow.web.screens.runs import with_seconds

JOB = Field("job", STRING, "name of the job", required=True, least=1)
DATAID = Field("dataid", STRING, "dataid of the work")
POINTS = 100
LAST_BYTES = 4096
"""Of the log of an attempt that did not succeed."""


def read_jobs(call: Call) -> dict[str, Any]:
    """All jobs with their counts."""
    return {"status": show_status(replace(call, query={"late_after_seconds": 3600}))}


def read_job(call: Call) -> dict[str, Any]:
    """One job: declaration, progress, failures by reason, why its next work is not running, last runs."""
    name = call.path["job"]
    job = show_job(call)
    status = show_status(replace(call, query={"late_after_seconds": 3600}))
    statistics = show_statistics(replace(call, query={"limit": POINTS}))
    recent = {"job": name, "dataid": None, "outcome": None, "limit": 20}
    return {
        "title": name,
        "job": job,
        "counts": next((one for one in status["jobs"] if one["job"] == name), None),
        "statistics": statistics,
        "plots": make_plots(statistics["points"]),
        "why": explain(replace(call, query={"dataid": None})),
        "runs": with_seconds(list_runs(replace(call, query=recent))),
    }


def read_why(call: Call) -> dict[str, Any]:
    """One work: the five answers, the next command, and its attempts."""
    name, dataid = call.query["job"], call.query["dataid"]
    inner = replace(call, path={"job": name}, query={"dataid": dataid})
    why = explain(inner)
    attempts = {"job": name, "dataid": why["dataid"] or None, "outcome": None, "limit": 20}
    runs = with_seconds(list_runs(replace(call, query=attempts))) if why["dataid"] else []
    log = None
    if runs and runs[0]["outcome"] != RunOutcome.DONE:
        last = {"offset": None, "limit": LAST_BYTES}
        log = show_log(replace(call, path={"run_id": runs[0]["run_id"]}, query=last))
    title = f"{name} {why['dataid']}".strip()
    return {"title": title, "why": why, "runs": runs, "log": log, "outputs": show_job(inner)["out"]}


ROUTES = (
    Page("/jobs", "Jobs", "jobs", "Jobs", read_jobs).route,
    Page("/jobs/{job}", "Job", "job", "Jobs", read_job).route,
    Page("/why", "Why", "why", "Jobs", read_why, (JOB, DATAID)).route,
)
