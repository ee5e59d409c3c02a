"""The journal of every change: a page of it, and as a file."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from starlette.responses import Response

from dataflow.actions.descriptions import describe_line
from dataflow.actions.names import get_dataset, get_plan, get_run
from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.routes.datasets import DATAID, MOST_ROWS
from dataflow.api.routes.runs import JOB
from dataflow.api.shapes import many, shape, texts
from dataflow.model.principal import Permission

DATASET = Field("dataset", STRING, "only of this dataset", least=1)
RUN_ID = Field("run_id", INTEGER, "only of this run", default=0)
BEFORE = Field("before", INTEGER, "only lines older than that of this id", default=0)
WHERE = (JOB, DATASET, DATAID, RUN_ID, BEFORE)
CSV, JSON_LINES = "csv", "jsonl"
MOST_EXPORTED = 100_000
TEXT = "text/plain"
"""Of both formats: an operation of the document has one type, and the name of the file says the rest."""
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A cell that begins with one of these is a formula to a spreadsheet."""
LINE = shape(
    {"journal_id": "number"}
    | texts("at actor action job dataset dataid")
    | {"run_id": "number?", "from_state": "text", "to_state": "text", "items": "number", "why": "text"}
)


def list_journal(call: Call) -> Any:
    found = list(_read(call, call.query["limit"]))
    if not found:  # a removed job or dataset still has its entries
        _refuse_unknown(call)
    return found


def export_journal(call: Call) -> Any:
    kind = call.query["format"]
    lines = _read(call, call.query["limit"])
    text = _as_csv(lines) if kind == CSV else "".join([json.dumps(one, default=str) + "\n" for one in lines])
    headers = {"Content-Disposition": f'attachment; filename="journal.{kind}"'}
    return Response(text, media_type=f"{TEXT}; charset=utf-8", headers=headers)


def _read(call: Call, most: int) -> Iterator[dict[str, Any]]:
    """Yield the newest lines, read in parts."""
    where = {field.name: call.query[field.name] for field in WHERE if call.query[field.name]}
    while most > 0:
        found = call.store.read.list_journal(min(most, MOST_ROWS), **where)
        yield from map(describe_line, found)
        if len(found) < MOST_ROWS:
            return
        most -= len(found)
        where["before"] = found[-1].journal_id


def _as_csv(lines: Iterator[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(LINE["properties"])
    for line in lines:
        writer.writerow([_cell(line[name]) for name in LINE["properties"]])
    return out.getvalue()


def _cell(value: Any) -> Any:
    is_formula = isinstance(value, str) and value.startswith(FORMULA_STARTS)
    return f"'{value}" if is_formula else value


def _refuse_unknown(call: Call) -> None:
    if call.query["job"]:
        get_plan(call.store, call.query["job"])
    if call.query["dataset"]:
        get_dataset(call.store, call.query["dataset"])
    if call.query["run_id"]:
        get_run(call.store, call.query["run_id"])


def _limit(default: int, most: int) -> Field:
    return Field("limit", INTEGER, "at most this many, newest first", default=default, least=1, most=most)


ROUTES = (
    Route(
        *("GET", f"{PREFIX}/journal", Permission.READ, "List every change, newest first", list_journal),
        many(LINE),
        (*WHERE, _limit(100, MOST_ROWS)),
    ),
    Route(
        *("GET", f"{PREFIX}/journal/file", Permission.READ, "Download the journal", export_journal),
        {"type": "string"},
        (
            *WHERE,
            _limit(10_000, MOST_EXPORTED),
            Field("format", STRING, "how it is written", default=CSV, choices=(CSV, JSON_LINES)),
        ),
        media_type=TEXT,
    ),
)
