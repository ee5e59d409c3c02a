"""The log of a run: by byte offset, searched, and as a file."""

from __future__ import annotations

import os
from typing import Any

from starlette.responses import FileResponse

from dataflow.actions.names import get_run
from dataflow.actions.run_log import (
    MOST_BYTES,
    explain_silence,
    find_error,
    get_log_path,
    read_log,
    search_log,
)
from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.shapes import many, shape
from dataflow.errors import UnknownName
from dataflow.model.principal import Permission
from dataflow.model.record import as_tree

OFFSET = Field("offset", INTEGER, "first byte; without it, the last lines")
LIMIT = Field("limit", INTEGER, "at most this many bytes", default=1 << 16, least=1, most=MOST_BYTES)
TEXT = Field("text", STRING, "text that the lines contain, in any case", required=True, least=1)
START = Field("offset", INTEGER, "byte to search from", default=0)
PART = shape(
    {"run_id": "number", "host": "text", "is_running": "yes", "message": "text"}
    | {"size": "number", "start": "number", "next": "number", "text": "text"}
)
FOUND = shape(
    {"run_id": "number", "message": "text", "size": "number", "next": "number?"}
    | {"lines": many(shape(start="number", line="text"))}
)


def show_log(call: Call) -> Any:
    run_id, query = call.path["run_id"], call.query
    return as_tree(read_log(call.store, call.project.config, run_id, query["offset"], query["limit"]))


def search(call: Call) -> Any:
    run_id, query = call.path["run_id"], call.query
    return as_tree(search_log(call.store, call.project.config, run_id, query["text"], query["offset"]))


def show_error(call: Call) -> Any:
    return as_tree(find_error(call.store, call.project.config, call.path["run_id"], call.query["offset"]))


def download(call: Call) -> Any:
    config, run = call.project.config, get_run(call.store, call.path["run_id"])
    path = get_log_path(config, run.run_id)
    if not os.path.exists(path):
        raise UnknownName(explain_silence(run, path, config.host))
    return FileResponse(path, media_type="text/plain; charset=utf-8", filename=f"run-{run.run_id}.log")


_ONE = f"{PREFIX}/runs/{{run_id}}/log"
ROUTES = (
    Route(
        *("GET", _ONE, Permission.READ, "Show lines of the log of a run", show_log, PART),
        (OFFSET, LIMIT),
    ),
    Route(
        *("GET", f"{_ONE}/search", Permission.READ, "Search the log of a run", search, FOUND),
        (TEXT, START),
    ),
    Route(
        *("GET", f"{_ONE}/error", Permission.READ, "Find the first line of a log that tells of an error"),
        show_error,
        FOUND,
        (START,),
    ),
    Route(
        *("GET", f"{_ONE}/file", Permission.READ, "Download the log of a run", download),
        {"type": "string"},
        media_type="text/plain",
    ),
)
