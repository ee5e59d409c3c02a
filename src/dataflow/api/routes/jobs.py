"""Jobs, and why their work is or is not running."""

from __future__ import annotations

from typing import Any

from dataflow.actions.descriptions import describe_job, describe_whole_job, describe_why, describe_work
from dataflow.actions.names import get_registered, get_work
from dataflow.actions.status import COUNTED, get_status
from dataflow.actions.status_description import describe_status, list_lost, list_undefined
from dataflow.actions.why import why
from dataflow.api.fields import INTEGER, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import DATAID, ONE_DATAID
from dataflow.api.shapes import many, nullable, shape, spell, texts
from dataflow.model.principal import Permission
from dataflow.model.records import Plan
from dataflow.model.status import WorkState

JOB = (
    {"job": "text", "in": "texts", "out": "texts", "environment": "map"}
    | texts("schedule start end timezone pool order on_change grain")
    | texts("catchup ordered hold", "yes")
    | texts("retries max_running priority max_crashes", "number")
    | texts("retry_delay_seconds lease_seconds grace_seconds timeout_seconds", "decimal")
    | texts("retry_max_delay_seconds late_after_seconds retry_backoff", "decimal")
    | {"final_exit_codes": "numbers"}
)
WHOLE_JOB = shape(JOB | {"kind": "text?", "script_path": "text?", "command": nullable(spell("texts"))})
WHOLE_JOB["properties"]["pairs"] = spell("counts")
ANSWER = shape(question="text", answer="text", evidence="text")
CRASH = shape(run_id="number", host="text", ended_at="text", last_lines="texts")
WHY = shape(
    texts("job dataid verdict next plan"),
    answers=many(ANSWER),
    crashes=many(CRASH),
)
WORK = shape(
    texts("job dataid reason modified_at")
    | {"state": {"type": "string", "enum": [str(state) for state in WorkState]}, "run_id": "number?"}
    | texts("hold resubmitted quarantined", "yes")
    | texts("missing attempts losses", "number")
    | {"wait_seconds": "decimal?"}
)
JOB_STATUS = shape(
    {"job": "text", "hold": "yes"}
    | {str(state): "number" for state in COUNTED}
    | dict.fromkeys(("oldest", "overdue", "skipped", "running", "asking"), nullable({"type": "object"}))
    | texts("due late gone process_gone", "yes")
    | {"quarantined": "number"}
)
DATASET_STATUS = shape(
    texts("dataset grain first last")
    | texts("chunks not_ready not_done", "number")
    | {"gaps": "number?", "missing": "texts", "late": many({"type": "object"})}
)
STATUS = shape(
    jobs=many(JOB_STATUS),
    datasets=many(DATASET_STATUS),
    failures=many({"type": "object"}),
    paused=nullable({"type": "object"}),
)


def get_job(call: Call) -> Plan:
    """The job that the path names."""
    return get_registered(call.store, call.path["job"], call.project.config.project_dir)


def list_jobs(call: Call) -> Any:
    held = {found.job: found.hold for found in call.store.read.list_job_holds()}
    return [describe_job(plan, held.get(plan.job.name, False)) for plan in call.store.read.list_plans()]


def show_job(call: Call) -> Any:
    return describe_whole_job(call.store, get_job(call), call.project.config.commands)


def explain(call: Call) -> Any:
    plan, project = get_job(call), call.project
    found = why(call.store, project.config, plan, call.query["dataid"], project.is_gone)
    return describe_why(found, plan)


def show_status(call: Call) -> Any:
    store, project = call.store, call.project
    found = get_status(store)
    late = [job.job for job in found.list_late(call.query["late_after_seconds"])]
    lost = list_lost(store, project.config.host, project.is_gone)
    gone = list_undefined(found, project.config.project_dir)
    return describe_status(found, store.read.list_producers(), late, lost, gone)


def show_work(call: Call) -> Any:
    return describe_work(get_work(call.store, get_job(call), call.query["dataid"]))


_ONE = f"{PREFIX}/jobs/{{job}}"
ROUTES = (
    Route("GET", f"{PREFIX}/jobs", Permission.READ, "List all jobs", list_jobs, many(shape(JOB))),
    Route("GET", _ONE, Permission.READ, "Show a job", show_job, WHOLE_JOB),
    Route(
        *("GET", f"{_ONE}/work", Permission.READ, "Show the work of a dataid", show_work, WORK),
        (ONE_DATAID,),
    ),
    Route(
        *("GET", f"{_ONE}/why", Permission.READ, "Explain why work is or is not running", explain, WHY),
        (DATAID,),
    ),
    Route(
        *(
            "GET",
            f"{PREFIX}/status",
            Permission.READ,
            "Show counts, gaps, late work and failures",
            show_status,
        ),
        STATUS,
        (Field("late_after_seconds", INTEGER, "open work is late after this time", default=3600),),
    ),
)
