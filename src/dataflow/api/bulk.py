"""Actions on many dataids: each named one is done or refused by itself, a range is done as a whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any

from dataflow.api.fields import BOOLEAN, INTEGER, STRING, STRINGS, Body, Field
from dataflow.api.shapes import many, shape
from dataflow.errors import BadInput, Conflict, DataFlowError, UnknownName

REFUSALS = (BadInput, UnknownName, Conflict)
SAMPLE = 20
MOST_IN_RANGE = 1_000_000

DATAIDS = Field("dataids", STRINGS, "dataids, each done or refused by itself")
FROM = Field("from", STRING, "first dataid of a range", least=1)
TO = Field("to", STRING, "last dataid of the range, inclusive", least=1)
WHY = Field("why", STRING, "reason, kept in the journal", default="")
PREVIEW = Field("preview", BOOLEAN, "say what would be done, and change nothing", default=False)
EXPECT = Field("expect", INTEGER, "refuse if another number is selected than the preview said")
WAYS = (("dataids",), ("from", "to"))


def selecting(*more: Field, may_choose_none: bool = False) -> Body:
    """The body of an action on a selection; `state`, if it is among `more`, is another way to select."""
    states = (("state",),) if any(field.name == "state" for field in more) else ()
    return Body((*more, DATAIDS, FROM, TO, WHY, PREVIEW, EXPECT), (*WAYS, *states), may_choose_none)


ITEM = shape(dataid="text", result="text", code="text", message="text")
RESULT = shape(
    preview="yes", selected="number?", changed="number", sample={"type": "array", "items": {"type": "string"}}
) | {"description": "selected is null for a whole job; items has one entry for each of dataids."}
RESULT["properties"]["items"] = many(ITEM)
RESULT["required"] = list(RESULT["properties"])

Act = Callable[[Sequence[str]], int]
"""Does something to some dataids, all or none; returns how many changed."""


def act_on_each(dataids: Sequence[str], act: Act, is_preview: bool = False) -> dict[str, Any]:
    """Return what became of each dataid. What one refusal holds up is found by halving."""
    refused: dict[str, DataFlowError] = {}
    changed = _act(list(dict.fromkeys(dataids)), act, refused)
    word = "selected" if is_preview else "done"
    items = [_item(dataid, refused.get(dataid), word) for dataid in dict.fromkeys(dataids)]
    selected = len(items) - len(refused)
    sample = [item["dataid"] for item in items if item["result"] == word][:SAMPLE]
    changed = 0 if is_preview else changed
    return {
        "preview": is_preview,
        "selected": selected,
        "changed": changed,
        "sample": sample,
        "items": items,
    }


def _act(dataids: list[str], act: Act, refused: dict[str, DataFlowError]) -> int:
    try:
        return act(dataids)
    except REFUSALS as error:
        if len(dataids) == 1:
            refused[dataids[0]] = error
            return 0
    half = len(dataids) // 2
    return _act(dataids[:half], act, refused) + _act(dataids[half:], act, refused)


def _item(dataid: str, error: DataFlowError | None, done: str) -> dict[str, Any]:
    if error is None:
        return {"dataid": dataid, "result": done, "code": "", "message": ""}
    return {"dataid": dataid, "result": "refused", "code": error.code, "message": str(error)}


def as_whole(selected: int | None, changed: int, sample: Sequence[str] = ()) -> dict[str, Any]:
    """Return what became of a range, a state or a whole job."""
    head = {"preview": False, "selected": selected, "changed": changed}
    return head | {"sample": list(sample), "items": []}


def preview(selected: int | None, sample: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a range, a state or a whole job would touch."""
    return as_whole(selected, 0, sample) | {"preview": True}


def refuse_unexpected(body: Mapping[str, Any], selected: int) -> None:
    """Raise Conflict if something else is selected now than in the preview that the sender saw."""
    if body["expect"] is not None and body["expect"] != selected:
        raise Conflict(
            f"{selected:,} are selected now, not {body['expect']:,}; nothing was changed. Preview again."
        )


def list_range(dataids: Any) -> list[str]:
    """Return the dataids of a range; BadInput for more than a request may have."""
    found = list(islice(dataids, MOST_IN_RANGE + 1))
    if len(found) > MOST_IN_RANGE:
        raise BadInput(f"The range has more than {MOST_IN_RANGE:,} dataids. Send several smaller ranges.")
    return found
