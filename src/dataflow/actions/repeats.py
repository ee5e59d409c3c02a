"""Repeats: a request that is sent twice is done once, and both times gets the same answer."""

from __future__ import annotations

import json

from dataflow.errors import Conflict, DataFlowError
from dataflow.store.requests import RequestVerbs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from dataflow.store.store import Store


def answer_once(store: Store, token: str, request: str, act: Callable[[], Any]) -> Any:
    """Return what `act` returned for the first request with this token, as JSON gives it back.

    The token is taken before anything is changed: if the process dies in between, a repeat is refused rather
    than done a second time. If `act` refuses, the token is free again. Conflict: the token belongs to another
    request, or the first one has not ended.
    """
    tokens = RequestVerbs(store.database)
    kept = tokens.begin(token, {"request": request})
    if kept is not None:
        return _first_answer(kept, request)
    try:
        answer = json.loads(json.dumps(act(), default=str))
    except DataFlowError:
        tokens.forget(token)
        raise
    tokens.keep(token, {"request": request, "answer": answer})
    return answer


def _first_answer(kept: dict[str, Any], request: str) -> Any:
    if kept["request"] != request:
        raise Conflict("This Idempotency-Key was used for another request. Use a new key for each request.")
    if "answer" not in kept:
        raise Conflict(
            "The first request with this Idempotency-Key has not ended. If it is gone, see what it did, then "
            "use a new key: dataflow journal"
        )
    return kept["answer"]
