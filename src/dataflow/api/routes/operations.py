"""What runs, what is in trouble, and the pause of everything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dataflow.actions import incidents
from dataflow.actions.control import list_pools, pause_all, resume_all
from dataflow.actions.descriptions import describe_incident, describe_pool, describe_worker
from dataflow.actions.workers import list_live
from dataflow.api.bulk import WHY
from dataflow.api.fields import BOOLEAN, Body, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.shapes import many, shape, texts
from dataflow.model.principal import Permission
from dataflow.model.worker_rows import WorkerRow
from dataflow.runjob.dead_workers import is_dead_here

RUN = shape(run_id="number", job="text", dataid="text", started_at="text")
WORKER = shape(
    texts("worker host user environment version started_at")
    | texts("pid streams jobs", "number")
    | {"doing": many(RUN)}
)
NOTIFICATION = shape(
    {"event": "text", "channel": "text", "state": "text", "attempts": "number"}
    | {"sent_at": "text?", "error": "text"}
)
INCIDENT = shape(
    {"id": "number", "chunks": "number", "recovered": "yes", "closed_at": "text?", "acknowledged_at": "text?"}
    | texts("kind job dataset host dataid reason opened_at acknowledged_by acknowledged_why")
    | {"notifications": many(NOTIFICATION)}
)
POOL = shape(
    pool="text",
    size="number",
    running="number",
    jobs=many(shape(job="text", running="number", run_ids="numbers")),
)
CHANGED = shape(changed="yes")
ACKNOWLEDGED = shape(id="number")


def list_workers(call: Call) -> Any:
    return [describe_worker(row) for row in list_live(call.store, _is_dead(call))]


def list_incidents(call: Call) -> Any:
    found = incidents.list_incidents(call.store, call.query["all"], _is_dead(call))
    return [describe_incident(*one) for one in found]


def _is_dead(call: Call) -> Callable[[WorkerRow], bool]:
    return lambda row: is_dead_here(call.project.config, row)


def acknowledge(call: Call) -> Any:
    incidents.acknowledge(call.store, call.path["incident"], call.body["why"])
    return {"id": call.path["incident"]}


def show_pools(call: Call) -> Any:
    return [describe_pool(pool) for pool in list_pools(call.store)]


def pause(call: Call) -> Any:
    return {"changed": pause_all(call.store, call.body["why"])}


def resume(call: Call) -> Any:
    return {"changed": resume_all(call.store, call.body["why"])}


ROUTES = (
    Route("GET", f"{PREFIX}/workers", Permission.READ, "List the live workers", list_workers, many(WORKER)),
    Route(
        *("GET", f"{PREFIX}/incidents", Permission.READ, "List what is in trouble", list_incidents),
        many(INCIDENT),
        (Field("all", BOOLEAN, "the closed ones too", default=False),),
    ),
    Route(
        *("POST", f"{PREFIX}/incidents/{{incident}}/ack", Permission.OPERATE, "Silence an incident"),
        acknowledge,
        ACKNOWLEDGED,
        body=Body((WHY,)),
    ),
    Route("GET", f"{PREFIX}/pools", Permission.READ, "List pools and who uses them", show_pools, many(POOL)),
    Route(
        *("POST", f"{PREFIX}/pause", Permission.OPERATE, "Start no more work of any job", pause, CHANGED),
        body=Body((WHY,)),
    ),
    Route(
        *("POST", f"{PREFIX}/resume", Permission.OPERATE, "End the pause of everything", resume, CHANGED),
        body=Body((WHY,)),
    ),
)
