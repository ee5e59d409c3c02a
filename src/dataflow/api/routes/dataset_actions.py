"""What an operator does to chunks: ready, withdraw, invalidate, rollback."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dataflow.actions.descriptions import describe_wrong_data
from dataflow.actions.invalidate import WrongData, find_wrong, find_wrong_between, invalidate
from dataflow.actions.make_ready import Publication, make_ready, withdraw
from dataflow.actions.names import get_dataset
from dataflow.actions.versions import roll_back
from dataflow.api.bulk import (
    RESULT,
    SAMPLE,
    WHY,
    act_on_each,
    as_whole,
    list_range,
    preview,
    refuse_unexpected,
    selecting,
)
from dataflow.api.fields import BOOLEAN, INTEGER, Body, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import ONE_DATAID
from dataflow.api.shapes import many, shape, spell
from dataflow.model.dataid import canonical_dataid, dataid_range
from dataflow.model.grain import Grain
from dataflow.model.principal import Permission
from dataflow.model.record import as_dict

MOST_SHOWN = 1000
"""Chunks and runs that an invalidation names; `counts` has all of them."""
AGAIN = Field("again", BOOLEAN, "publish a new version of chunks that are ready", default=False)
VERSION = Field("version", INTEGER, "version to publish; the previous one without it", least=1)
AFFECTED = shape(dataset="text", dataid="text", version="number", run_id="number?")
RUNNING = shape(run_id="number", job="text", dataid="text")
INVALIDATION = shape(
    *({"preview": "yes", "dataset": "text", "dataids": "texts", "jobs": "texts", "changed": "number"},),
    affected=many(AFFECTED),
    running=many(RUNNING),
    done_without_output=many(RUNNING),
    counts=spell("counts"),
)
ROLLED_BACK = shape(version="number", as_version="number", job="text", work_state="text")


def ready_chunks(call: Call) -> Any:
    how = Publication(call.body["again"], call.body["why"])
    name = call.path["dataset"]
    return _act(call, lambda some: make_ready(call.store, name, some, how).changed)


def withdraw_chunks(call: Call) -> Any:
    name, why = call.path["dataset"], call.body["why"]
    return _act(call, lambda some: withdraw(call.store, name, some, why)[0])


def _act(call: Call, act: Callable[[Sequence[str]], int]) -> Any:
    """Do something to the chunks of a request, or check that it may be done."""
    body = call.body
    _, dataset = get_dataset(call.store, call.path["dataset"])
    grain, timezone = Grain(dataset.grain), dataset.timezone

    def look(some: Sequence[str]) -> int:
        return len([canonical_dataid(dataid, grain, timezone) for dataid in some])

    if body["dataids"] is not None:
        return act_on_each(body["dataids"], look if body["preview"] else act, body["preview"])
    found = list_range(dataid_range(body["from"], body["to"], grain, timezone))
    refuse_unexpected(body, len(found))
    if body["preview"]:
        return preview(len(found), found[:SAMPLE])
    return as_whole(len(found), act(found), found[:SAMPLE])


def invalidate_chunks(call: Call) -> Any:
    """Withdraw wrong chunks and redo what was made from them; all or none, since their results overlap."""
    body, name = call.body, call.path["dataset"]
    if body["dataids"] is not None:
        found = find_wrong(call.store, name, body["dataids"])
    else:
        found = find_wrong_between(call.store, name, body["from"], body["to"])
    refuse_unexpected(body, len(found.chunks))
    changed = 0 if body["preview"] else invalidate(call.store, found, body["why"])
    return {"preview": body["preview"], "changed": changed} | _bounded(found)


def _bounded(found: WrongData) -> dict[str, Any]:
    record = describe_wrong_data(found)
    lists = ("dataids", "affected", "running", "done_without_output")
    counts = {name: len(record[name]) for name in lists}
    return record | {name: record[name][:MOST_SHOWN] for name in lists} | {"counts": counts}


def roll_back_chunk(call: Call) -> Any:
    chunk = (call.path["dataset"], call.body["dataid"])
    folder, why = call.project.config.project_dir, call.body["why"]
    return as_dict(roll_back(call.store, chunk, call.body["version"], folder, why))


def _route(word: str, summary: str, handler: Callable[[Call], Any], answer: Any, body: Body) -> Route:
    path = f"{PREFIX}/datasets/{{dataset}}/{word}"
    is_bulk = answer is not ROLLED_BACK
    return Route("POST", path, Permission.OPERATE, summary, handler, answer, body=body, is_bulk=is_bulk)


ROUTES = (
    _route("ready", "Make chunks ready", ready_chunks, RESULT, selecting(AGAIN)),
    _route("withdraw", "Withdraw published chunks", withdraw_chunks, RESULT, selecting()),
    _route(
        "invalidate",
        "Withdraw wrong chunks and redo their results",
        invalidate_chunks,
        INVALIDATION,
        selecting(),
    ),
    _route(
        *("rollback", "Publish an older version of a chunk again", roll_back_chunk, ROLLED_BACK),
        Body((ONE_DATAID, VERSION, WHY)),
    ),
)
