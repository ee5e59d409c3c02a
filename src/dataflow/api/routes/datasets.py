"""Datasets, their chunks and versions, and what comes from what."""

from __future__ import annotations

from typing import Any

from dataflow.actions.chunk_ranges import find_bounds, find_key_before
from dataflow.actions.descriptions import (
    describe_chunk,
    describe_dataset,
    describe_lineage,
    describe_version,
    describe_whole_dataset,
)
from dataflow.actions.lineage import BOTH, DOWN, UP, trace_all, trace_chunk, trace_dataset
from dataflow.actions.names import get_dataset
from dataflow.actions.versions import list_versions
from dataflow.api.fields import INTEGER, STRING, Field
from dataflow.api.route import PREFIX, Call, Route
from dataflow.api.shapes import many, nullable, shape, spell, texts
from dataflow.model.dataid import sort_key
from dataflow.model.grain import Grain
from dataflow.model.principal import Permission
from dataflow.model.status import Status

DATAID = Field("dataid", STRING, "dataid of the chunk or work", least=1)
ONE_DATAID = Field("dataid", STRING, "dataid of the chunk", required=True, least=1)
FROM = Field("from", STRING, "first dataid of a range", least=1)
TO = Field("to", STRING, "last dataid of the range, inclusive", least=1)
MOST_ROWS = 1000

DATASET = texts(
    "dataset hostname database schemaname tablename username location format grain timezone mode"
) | {
    **texts("due_by fresh_within"),
    "options": "map",
    "password": "yes",
}
WHOLE_DATASET = DATASET | {
    "produced_by": "text?",
    "read_by": "texts",
    "chunks": "number",
    "check": nullable(spell("texts")),
}
CHUNK = shape(
    dataset="text",
    dataid="text",
    status={"type": "string", "enum": [str(status) for status in Status]},
    version="number",
    modified_at="text",
    readers="numbers",
    partial="yes",
    lacked="number",
)
VERSION = shape(
    {"version": "number", "run_id": "number?", "rows": "number?", "size": "number?"}
    | {"published_at": "text", "current": "yes", "location": "text"}
)
NODE = shape(id="text", kind="text", name="text")
EDGE = shape({"from": "text", "to": "text", "note": "text"})
LINEAGE = shape(roots="texts", nodes=many(NODE), edges=many(EDGE))


def list_datasets(call: Call) -> Any:
    return [describe_dataset(dataset) for dataset in call.store.read.list_datasets()]


def show_dataset(call: Call) -> Any:
    found = get_dataset(call.store, call.path["dataset"])
    return describe_whole_dataset(call.store, found, call.project.config.checks)


def list_chunks(call: Call) -> Any:
    dataset_id, dataset = get_dataset(call.store, call.path["dataset"])
    first, last = find_bounds(dataset, call.query["from"], call.query["to"])
    status, most = call.query["status"] or "", call.query["limit"]
    found = call.store.read.list_chunk_page(dataset_id, find_key_before(first), most, status)
    grain = Grain(dataset.grain)
    return [describe_chunk(chunk) for chunk in found if sort_key(chunk.dataid, grain) <= last]


def show_versions(call: Call) -> Any:
    found = list_versions(
        call.store, call.path["dataset"], call.query["dataid"], call.project.config.project_dir
    )
    return [describe_version(one) for one in found if one.current or not one.missing]


def show_lineage(call: Call) -> Any:
    directions = {"up": (UP,), "down": (DOWN,)}.get(call.query["direction"], BOTH)
    name, dataid, depth = call.path["dataset"], call.query["dataid"], call.query["depth"]
    if dataid is None:
        return describe_lineage(trace_dataset(call.store, name, directions, depth))
    return describe_lineage(trace_chunk(call.store, name, dataid, directions, depth))


def show_all_lineage(call: Call) -> Any:
    return describe_lineage(trace_all(call.store))


_ONE = f"{PREFIX}/datasets/{{dataset}}"
ROUTES = (
    Route(
        "GET", f"{PREFIX}/datasets", Permission.READ, "List all datasets", list_datasets, many(shape(DATASET))
    ),
    Route("GET", _ONE, Permission.READ, "Show a dataset", show_dataset, shape(WHOLE_DATASET)),
    Route(
        *("GET", f"{_ONE}/chunks", Permission.READ, "List chunks of a dataset in order", list_chunks),
        many(CHUNK),
        (
            FROM,
            TO,
            Field("status", STRING, "only chunks with this status", choices=tuple(map(str, Status))),
            Field("limit", INTEGER, "at most this many", default=100, least=1, most=MOST_ROWS),
        ),
    ),
    Route(
        *("GET", f"{_ONE}/versions", Permission.READ, "List the kept versions of a chunk", show_versions),
        many(VERSION),
        (ONE_DATAID,),
    ),
    Route(
        *("GET", f"{_ONE}/lineage", Permission.READ, "Show what is made from what", show_lineage, LINEAGE),
        (
            DATAID,
            Field("direction", STRING, "which way", default="both", choices=("up", "down", "both")),
            Field("depth", INTEGER, "at most this many steps away; 0: all", default=0, most=1000),
        ),
    ),
    Route(
        *("GET", f"{PREFIX}/lineage", Permission.READ, "Show all datasets and jobs as a graph"),
        show_all_lineage,
        LINEAGE,
    ),
)
