"""The Idempotency-Key of a request, which makes it safe to send twice."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from dataflow.actions.repeats import answer_once
from dataflow.api.route import Call, Route
from dataflow.errors import BadInput

LONGEST_KEY = 255
KEY_PATTERN = "^[!-~]+$"


def answer_with_key(route: Route, call: Call, key: str) -> Any:
    """Return the answer of the first request with this key; keys of different people do not meet."""
    if len(key) > LONGEST_KEY or not re.fullmatch(KEY_PATTERN, key):
        raise BadInput(f"An Idempotency-Key has 1 to {LONGEST_KEY} characters of ASCII, without spaces.")
    request = json.dumps([route.operation, dict(call.path), dict(call.body)], sort_keys=True)
    token = "api-" + _digest(f"{call.principal.actor}\n{key}")
    return answer_once(call.store, token, _digest(request), lambda: route.handler(call))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
