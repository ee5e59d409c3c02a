"""Errors as answers: `{code, message, hint, request_id}` with the codes of the error table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from dataflow.errors import BadInput, DataFlowError, Throttled, UnknownName, UsageError
from dataflow.model.record import record

_HINT = re.compile(r"(?<=[.?;]) (?=[^.?]*(?:\bdataflow [a-z]|\bRunJob |\bDid you mean\b))")
UNEXPECTED = "Something failed in the server. Its log has the details under this request_id."


@record
class Problem:
    """An answer that is an error."""

    status: int
    code: str
    message: str
    hint: str = ""
    headers: Mapping[str, str] = {}

    def as_json(self, request_id: str) -> dict[str, Any]:
        """The body of the answer."""
        return {"code": self.code, "message": self.message, "hint": self.hint, "request_id": request_id}


class HttpError(Exception):
    """A request that HTTP itself calls wrong; carries its answer."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def problem_of(error: DataFlowError) -> Problem:
    """Return an error of ours as an answer; the next command is its hint."""
    message, hint = split_hint(str(error))
    headers = {"WWW-Authenticate": "Bearer"} if error.http_status == 401 else {}
    if error.http_status == 503:
        headers = {"Retry-After": "2"}
    if isinstance(error, Throttled):
        headers = {"Retry-After": str(error.seconds)}
    return Problem(error.http_status, error.code, message, hint, headers)


def split_hint(text: str) -> tuple[str, str]:
    """Return a message without, and then only, the sentences that say what to do next."""
    found = _HINT.search(text)
    return (text, "") if found is None else (text[: found.start()], text[found.end() :])


def no_such_path(path: str) -> Problem:
    """The answer for a path that no route has."""
    return Problem(404, UnknownName.code, f"No such path: {path[:200]}", "See /api/v1/openapi.json")


def wrong_method(method: str, allowed: str) -> Problem:
    """The answer for a method that the route of a path does not take."""
    return Problem(
        405, UsageError.code, f"{method} is not allowed here; use {allowed}.", "", {"Allow": allowed}
    )


def too_large(most: int) -> Problem:
    """The answer for a body that is too long."""
    return Problem(
        413, BadInput.code, f"The body is longer than {most:,} bytes.", "Send fewer items, or a range."
    )


def not_json() -> Problem:
    """The answer for a body of another kind."""
    return Problem(
        415, BadInput.code, "The body must be JSON.", "Send it with Content-Type: application/json"
    )


def unexpected() -> Problem:
    """The answer for an error that is a bug."""
    return Problem(500, DataFlowError.code, UNEXPECTED)
