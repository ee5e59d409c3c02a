"""What a person saw of the named dataids when a form was made, so that it is not done to something else.

Of two people with the same form, the second is refused: the first has changed what both saw.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from dataflow.api.bulk import REFUSALS
from dataflow.api.route import Call
from dataflow.api.routes.datasets import list_chunks
from dataflow.api.routes.jobs import show_work
from dataflow.errors import Conflict
from dataflow.model.record import record, replace

MOST = 100
"""Dataids of a form that are looked at; more are acted on all the same."""


@record
class SeenState:
    """The status of a dataid, and since when."""

    dataid: str
    status: str
    modified_at: str


def list_seen(call: Call, given: Mapping[str, Any]) -> list[SeenState]:
    """Return the state of the dataids that a form names."""
    dataids = given.get("dataids") or ([given["dataid"]] if given.get("dataid") else [])
    look = _look_at_work if "job" in call.path else _look_at_chunk
    return [look(call, dataid) for dataid in dataids[:MOST]]


def _look_at_work(call: Call, dataid: str) -> SeenState:
    try:
        found = show_work(replace(call, query={"dataid": dataid}))
    except REFUSALS:  # the preview says it
        return SeenState(dataid, "", "")
    return SeenState(dataid, str(found["state"]), found["modified_at"])


def _look_at_chunk(call: Call, dataid: str) -> SeenState:
    only = {"from": dataid, "to": dataid, "status": None, "limit": 1}
    try:
        (found, *_) = list_chunks(replace(call, query=only)) or [None]
    except REFUSALS:
        found = None
    return SeenState(dataid, found["status"], found["modified_at"]) if found else SeenState(dataid, "", "")


def digest(seen: list[SeenState]) -> str:
    """Return a short text that changes with the state; empty if there is none."""
    rows = [(one.dataid, one.status, one.modified_at) for one in seen]
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:32] if rows else ""


def refuse_changed(call: Call, given: Mapping[str, Any], before: str | None) -> None:
    """Raise Conflict if the dataids of a form are not any more as they were."""
    now = list_seen(call, given)
    if before and digest(now) != before:
        states = ", ".join([f"{one.dataid} is {one.status or 'gone'}" for one in now[:3]])
        more = " …" if len(now) > 3 else ""
        raise Conflict(f"This has changed since the form was opened: {states}{more}. Nothing was changed.")
