"""Runs, and one run with its log."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import Call
from dataflow.api.routes.journal import list_journal
from dataflow.api.routes.logs import OFFSET, search, show_error, show_log
from dataflow.api.routes.runs import list_runs, show_context, show_run
from dataflow.model.record import replace
from dataflow.model.status import RunOutcome
from dataflow.web.page import Page

SHOWN_BYTES = 1 << 16
ERROR = "error"


def with_seconds(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to runs how long they took; None for one that has not ended."""
    return [run | {"seconds": _seconds(run)} for run in runs]


def _seconds(run: dict[str, Any]) -> float | None:
    if not run["ended_at"]:
        return None
    started, ended = (datetime.fromisoformat(run[name]) for name in ("started_at", "ended_at"))
    return (ended - started).total_seconds()


def read_runs(call: Call) -> dict[str, Any]:
    """The newest runs, of one job or with one outcome if asked."""
    return {"runs": with_seconds(list_runs(call)), "chosen": call.query, "outcomes": list(RunOutcome)}


def read_run(call: Call) -> dict[str, Any]:
    """One run: what it was given, its log from the end, a byte or its first error, and its changes."""
    (run,) = with_seconds([show_run(call)])
    text, offset = call.query["text"], call.query["offset"]
    error = show_error(replace(call, query={"offset": offset or 0})) if call.query["jump"] == ERROR else None
    if error and error["lines"]:
        offset = error["lines"][0]["start"]
    log = show_log(replace(call, query={"offset": offset, "limit": SHOWN_BYTES}))
    found = search(replace(call, query={"text": text, "offset": offset or 0})) if text else None
    query = {"job": None, "dataset": None, "dataid": None, "run_id": call.path["run_id"], "limit": 50}
    return {
        "title": f"Run {run['run_id']}",
        "run": run,
        "context": show_context(call),
        "log": log,
        "lines": split_lines(log["text"], log["start"]),
        "found": found,
        "error": error,
        "at": offset,
        "chosen": call.query,
        "before": max(0, log["start"] - SHOWN_BYTES),
        "journal": list_journal(replace(call, query=query | {"before": 0})),
    }


def split_lines(text: str, start: int) -> list[tuple[int, str]]:
    """Return the lines of a part of a log, each with the byte at which it begins."""
    found = []
    for line in text.split("\n"):  # not splitlines: a log may have other characters that it splits at
        found.append((start, line))
        start += len(line.encode()) + 1
    if found and not found[-1][1]:
        found.pop()
    return found


ROUTES = (
    Page(
        *("/runs", "Runs", "runs", "Runs", read_runs),
        (
            Field("job", STRING, "only of this job"),
            Field("dataid", STRING, "only of this dataid"),
            Field("outcome", STRING, "only with this outcome", choices=tuple(map(str, RunOutcome))),
            Field("limit", INTEGER, "at most this many", default=100, least=1, most=1000),
        ),
    ).route,
    Page(
        *("/runs/{run_id}", "Run", "run", "Runs", read_run),
        (
            OFFSET,
            Field("text", STRING, "lines of the log with this text"),
            Field("jump", STRING, "what to show of the log", choices=(ERROR,)),
        ),
    ).route,
)
