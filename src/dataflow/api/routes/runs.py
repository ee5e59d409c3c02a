"""Runs, and the journal of every change."""

from __future__ import annotations

from typing import Any

from dataflow.actions.descriptions import describe_line, describe_run, find_loss
from dataflow.actions.interventions import cancel
from dataflow.actions.names import find_plan, get_dataset, get_plan, get_run
from dataflow.api.bulk import WHY
from dataflow.api.fields import INTEGER, STRING, Body, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import DATAID, MOST_ROWS
from dataflow.api.shapes import many, shape, texts
from dataflow.model.job_dataid import job_dataid
from dataflow.model.principal import Permission
from dataflow.model.records import RunRow
from dataflow.model.status import RunOutcome

JOB = Field("job", STRING, "only of this job", least=1)
DATASET = Field("dataset", STRING, "only of this dataset", least=1)
RUN = shape(
    {"run_id": "number", "job": "text", "dataid": "text", "attempt": "number"}
    | {"outcome": {"type": "string", "enum": [str(outcome) for outcome in RunOutcome]}}
    | {"exit_code": "number?", "host": "text", "started_at": "text", "ended_at": "text?", "reason": "text"}
    | {"process_gone": "yes"}
)
LINE = shape(
    {"journal_id": "number"}
    | texts("at actor action job dataset dataid")
    | {"run_id": "number?", "from_state": "text", "to_state": "text", "items": "number", "why": "text"}
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


def list_journal(call: Call) -> Any:
    where = {name: call.query[name] or "" for name in ("job", "dataset", "dataid")}
    found = call.store.read.list_journal(call.query["limit"], run_id=call.query["run_id"], **where)
    if not found:  # a removed job or dataset still has its entries
        _refuse_unknown(call)
    return [describe_line(line) for line in found]


def _refuse_unknown(call: Call) -> None:
    if call.query["job"]:
        get_plan(call.store, call.query["job"])
    if call.query["dataset"]:
        get_dataset(call.store, call.query["dataset"])
    if call.query["run_id"]:
        get_run(call.store, call.query["run_id"])


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
        *("POST", f"{_ONE}/cancel", Permission.OPERATE, "Revoke a run and stop its process", cancel_run),
        CANCELLED,
        body=Body((WHY,)),
    ),
    Route(
        *("GET", f"{PREFIX}/journal", Permission.READ, "List every change, newest first", list_journal),
        many(LINE),
        (JOB, DATASET, DATAID, Field("run_id", INTEGER, "only of this run", default=0), _limit(100)),
    ),
)
