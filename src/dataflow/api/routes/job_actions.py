"""What an operator does to jobs and their work."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, islice
from typing import Any

from dataflow.actions.control import LARGEST, scale
from dataflow.actions.interventions import MARKS, accept, hold, mark, release, resubmit
from dataflow.actions.selection import Selection, batches_of_work, count_selected, refuse_running
from dataflow.api.bulk import (
    RESULT,
    SAMPLE,
    WHY,
    act_on_each,
    as_whole,
    preview,
    refuse_unexpected,
    selecting,
)
from dataflow.api.fields import INTEGER, STRING, Body, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import ONE_DATAID
from dataflow.api.routes.jobs import get_job
from dataflow.api.shapes import shape
from dataflow.model.principal import Permission
from dataflow.model.records import Plan
from dataflow.model.status import WorkState

WHOLE = selecting(may_choose_none=True)  # none: the whole job
STATE = Field("state", STRING, "all work in this state", choices=(WorkState.FAILED, WorkState.INVALID))
CHANGED = shape(job="text", changed="yes")
SCALED = shape(job="text", max_running="number", before="number")
MARKED = shape(job="text", dataid="text", status="text", before="text")

Move = Callable[[Selection], int]
"""Does something to the selected work; returns how much changed."""


def resubmit_work(call: Call) -> Any:
    plan, why = get_job(call), call.body["why"]
    return _act(
        call, plan, lambda selection: resubmit(call.store, plan, selection, why), refuses_running=True
    )


def accept_results(call: Call) -> Any:
    plan, why = get_job(call), call.body["why"]
    return _act(call, plan, lambda selection: accept(call.store, plan, selection, why))


def hold_work(call: Call) -> Any:
    return _move_hold(call, hold)


def release_work(call: Call) -> Any:
    return _move_hold(call, release)


def _move_hold(call: Call, move: Callable[..., int]) -> Any:
    plan, why = get_job(call), call.body["why"]
    if call.body["dataids"] is not None or call.body["from"] is not None:
        return _act(call, plan, lambda selection: move(call.store, plan, selection, why))
    if call.body["preview"]:
        return preview(None)
    return as_whole(None, move(call.store, plan, None, why))


def _act(call: Call, plan: Plan, move: Move, refuses_running: bool = False) -> Any:
    """Do something to the selected work, or say what is selected."""
    body = call.body

    def look(selection: Selection) -> int:
        if refuses_running:
            refuse_running(call.store, plan, selection)
        return count_selected(call.store, plan, selection)

    if body["dataids"] is not None:
        act = look if body["preview"] else move
        return act_on_each(body["dataids"], lambda some: act(Selection(tuple(some))), body["preview"])
    state = WorkState(body["state"]) if body.get("state") else None
    selection = Selection((), state, body["from"] or "", body["to"] or "")
    selected = look(selection)
    refuse_unexpected(body, selected)
    found = chain.from_iterable(batches_of_work(call.store, plan, selection))
    sample = [dataid for dataid, _ in islice(found, SAMPLE)]
    return preview(selected, sample) if body["preview"] else as_whole(selected, move(selection), sample)


def pause_job(call: Call) -> Any:
    plan = get_job(call)
    return {"job": plan.job.name, "changed": bool(hold(call.store, plan, None, call.body["why"]))}


def resume_job(call: Call) -> Any:
    plan = get_job(call)
    return {"job": plan.job.name, "changed": bool(release(call.store, plan, None, call.body["why"]))}


def scale_job(call: Call) -> Any:
    plan, number = get_job(call), call.body["max_running"]
    before = scale(call.store, plan, number, call.body["why"])
    return {"job": plan.job.name, "max_running": number, "before": before}


def mark_work(call: Call) -> Any:
    plan, dataid, status = get_job(call), call.body["dataid"], call.body["status"]
    before = mark(call.store, plan, dataid, status, call.body["why"])
    return {"job": plan.job.name, "dataid": dataid, "status": status, "before": before}


def _route(word: str, summary: str, handler: Callable[[Call], Any], answer: Any, body: Body) -> Route:
    path = f"{PREFIX}/jobs/{{job}}/{word}"
    is_bulk = answer is RESULT
    return Route("POST", path, Permission.OPERATE, summary, handler, answer, body=body, is_bulk=is_bulk)


_LIMIT = Field("max_running", INTEGER, "runs at a time; 0: no limit", required=True, most=LARGEST)
_STATUS = Field("status", STRING, "new status", required=True, choices=tuple(map(str, MARKS)))
ROUTES = (
    _route("resubmit", "Have work done again", resubmit_work, RESULT, selecting(STATE)),
    _route("accept", "Keep stale results as they are", accept_results, RESULT, selecting()),
    _route("hold", "Block claims of a job or of some of its work", hold_work, RESULT, WHOLE),
    _route("release", "End a hold of a job or of some of its work", release_work, RESULT, WHOLE),
    _route("pause", "Start no more work of a job", pause_job, CHANGED, Body((WHY,))),
    _route("resume", "End the pause of a job", resume_job, CHANGED, Body((WHY,))),
    _route("scale", "Set how many runs of a job may be at work", scale_job, SCALED, Body((_LIMIT, WHY))),
    _route("mark", "Set the status of work", mark_work, MARKED, Body((ONE_DATAID, _STATUS, WHY))),
)
