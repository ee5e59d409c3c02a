"""Runs, and what each was given."""

from __future__ import annotations

from typing import Any

from dataflow.actions.descriptions import describe_run, find_loss
from dataflow.actions.interventions import cancel
from dataflow.actions.names import find_plan, get_plan, get_run
from dataflow.actions.run_context import get_run_context
from dataflow.api.bulk import WHY
from dataflow.api.fields import INTEGER, STRING, Body, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import DATAID, MOST_ROWS
from dataflow.api.shapes import many, shape, texts
from dataflow.model.job_dataid import job_dataid
from dataflow.model.principal import Permission
from dataflow.model.record import as_tree
from dataflow.model.records import RunRow
from dataflow.model.status import RunOutcome

JOB = Field("job", STRING, "only of this job", least=1)
RUN = shape(
    {"run_id": "number", "job": "text", "dataid": "text", "attempt": "number"}
    | {"outcome": {"type": "string", "enum": [str(outcome) for outcome in RunOutcome]}}
    | {"exit_code": "number?", "host": "text", "started_at": "text", "ended_at": "text?", "reason": "text"}
    | {"process_gone": "yes"}
)
PINNED = shape(
    texts("dataset dataid") | texts("read_version version", "number") | texts("withdrawn stale", "yes")
)
CONTEXT = shape(
    {"run_id": "number", "inputs": many(PINNED), "environment": "map"}
    | texts("user environment_name script_path note spark_ui")
    | {"steps": many(shape(step="text", seconds="decimal"))}
)
CANCELLED = shape(run_id="number", job="text", dataid="text", host="text")


def _limit(default: int) -> Field:
    return Field(
        "limit", INTEGER, "at most this many, newest first", default=default, least=1, most=MOST_ROWS
    )


def list_runs(call: Call) -> Any:
    job, dataid = call.query["job"] or "", call.query["dataid"] or ""
    plan = find_plan(call.store, job) if job else None
    if plan and dataid:
        dataid = job_dataid(dataid, plan)
    found = call.store.read.list_runs(call.query["limit"], job, dataid, call.query["outcome"] or "")
    if job and not plan and not found:
        get_plan(call.store, job)  # a removed job would still have its runs: the name is unknown
    return [_describe(call, run) for run in found]


def show_run(call: Call) -> Any:
    return _describe(call, get_run(call.store, call.path["run_id"]))


def _describe(call: Call, run: RunRow) -> Any:
    return describe_run(run, find_loss(run, call.project.config.host, call.project.is_gone))


def cancel_run(call: Call) -> Any:
    run = cancel(call.store, call.path["run_id"], call.body["why"])
    return {"run_id": run.run_id, "job": run.job, "dataid": run.dataid, "host": run.host}


def show_context(call: Call) -> Any:
    found = as_tree(get_run_context(call.store, call.project.config, call.path["run_id"]))
    found["environment"] = dict(found["environment"])
    return call.project.secrets.redact_all(found)


_ONE = f"{PREFIX}/runs/{{run_id}}"
ROUTES = (
    Route(
        *("GET", f"{PREFIX}/runs", Permission.READ, "List runs, newest first", list_runs, many(RUN)),
        (
            JOB,
            DATAID,
            Field("outcome", STRING, "only runs with this outcome", choices=tuple(map(str, RunOutcome))),
            _limit(50),
        ),
    ),
    Route("GET", _ONE, Permission.READ, "Show a run", show_run, RUN),
    Route(
        *("GET", f"{_ONE}/context", Permission.READ, "Show what a run was given", show_context, CONTEXT),
    ),
    Route(
        *("POST", f"{_ONE}/cancel", Permission.OPERATE, "Revoke a run and stop its process", cancel_run),
        CANCELLED,
        body=Body((WHY,)),
    ),
)
