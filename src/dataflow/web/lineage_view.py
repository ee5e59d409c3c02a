"""Lineage as a drawing: boxes with a state, which are links, and lines between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataflow.model.record import record
from dataflow.model.status import Status
from dataflow.model.wording import counted
from dataflow.web.graph_layout import Place, lay_out, without_cycles
from dataflow.web.html import path_to
from dataflow.web.statuses import Mark, mark_of

WIDTH, HEIGHT, ACROSS, DOWN = 190, 44, 60, 14
LONGEST = 26
MOST_NODES = 400
"""Nodes of one drawing; a larger graph is for a table, or a part of it for a drawing."""
JOB_STATES = ("FAILED", "INVALID", "RUNNING", "CLAIMABLE", "WAITING")


@record
class Box:
    """A node: its place, its name, cut if it is long, its state and where it leads."""

    left: float
    top: float
    kind: str
    name: str
    title: str
    state: str
    mark: Mark
    path: str
    is_root: bool


@record
class Line:
    """An edge as the path of a curve; one that closes a cycle leads back."""

    path: str
    note: str
    is_back: bool


@record
class Graph:
    """A drawing of a graph."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]


def draw(lineage: Mapping[str, Any], states: Mapping[str, tuple[str, str]]) -> Graph:
    """Return the drawing of a graph as the API describes it; `states`: a status and words by id of node."""
    nodes = lineage["nodes"]
    names = [node["id"] for node in nodes]
    edges = [(edge["from"], edge["to"]) for edge in lineage["edges"]]
    places = lay_out(names, edges)
    forward = set(without_cycles(names, edges))
    roots = set(lineage["roots"])
    boxes = [_box(node, places[node["id"]], states.get(node["id"]), node["id"] in roots) for node in nodes]
    lines = [
        _line(places[edge["from"]], places[edge["to"]], edge["note"], (edge["from"], edge["to"]) in forward)
        for edge in lineage["edges"]
    ]
    width = max((box.left for box in boxes), default=0) + WIDTH + 2
    height = max((box.top for box in boxes), default=0) + HEIGHT + 2
    return Graph(width, height, tuple(boxes), tuple(lines))


def _box(node: Mapping[str, Any], place: Place, state: tuple[str, str] | None, is_root: bool) -> Box:
    status, words = state or describe_state(node)
    left, top = _corner(place)
    name = node["name"]
    short = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    title = f"{node['kind']} {name}: {words}" if words else f"{node['kind']} {name}"
    return Box(left, top, node["kind"], short, title, words, mark_of(status), link_of(node), is_root)


def describe_state(node: Mapping[str, Any]) -> tuple[str, str]:
    """Return the status and the words of a chunk or a run, which carry it themselves."""
    if node["kind"] == "chunk":
        version = f"version {node['version']}"
        if node["version"] != node["current_version"]:
            return Status.STALE, f"{version}, now {node['current_version']}"
        return node["status"], version if node["status"] == "READY" else f"{version}, {node['status']}"
    if node["kind"] == "run":
        return (
            ("RUNNING", f"run {node['run_id']}, at work")
            if node["at_work"]
            else ("DONE", f"run {node['run_id']}")
        )
    return "", ""


def link_of(node: Mapping[str, Any]) -> str:
    """Return the page of a node."""
    if node["kind"] == "chunk":
        return path_to("chunks", node["dataset"], dataid=node["dataid"])
    if node["kind"] == "run":
        return path_to("runs", node["run_id"])
    return path_to("jobs" if node["kind"] == "job" else "datasets", node["name"])


def list_states(status: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the state of all jobs and datasets, by the id of their node, from what the API says of them."""
    found = {f"job:{job['job']}": _job_state(job) for job in status["jobs"]}
    return found | {f"dataset:{one['dataset']}": _dataset_state(one) for one in status["datasets"]}


def _job_state(job: Mapping[str, Any]) -> tuple[str, str]:
    counts = [(word, job[word]) for word in JOB_STATES if job[word]]
    words = ", ".join([f"{count:,} {word.lower()}" for word, count in counts[:2]])
    if job["hold"]:
        return Status.HOLD, f"on hold{', ' if words else ''}{words}"
    if not counts:
        return ("DONE", f"{job['DONE']:,} done") if job["DONE"] else ("", "no work yet")
    return counts[0][0], words


def _dataset_state(dataset: Mapping[str, Any]) -> tuple[str, str]:
    if not dataset["chunks"]:
        return "", "no chunks"
    words = f"{counted(dataset['chunks'], 'chunk')}, to {dataset['last']}"
    return (Status.STALE, f"late; {words}") if dataset["late"] else (Status.READY, words)


def _corner(place: Place) -> tuple[float, float]:
    return 1 + place.layer * (WIDTH + ACROSS), 1 + place.row * (HEIGHT + DOWN)


def _line(source: Place, target: Place, note: str, is_forward: bool) -> Line:
    left, top = _corner(source)
    right, bottom = _corner(target)
    if is_forward:
        begin, end, bend = (left + WIDTH, top + HEIGHT / 2), (right, bottom + HEIGHT / 2), ACROSS / 2
        bends = (begin[0] + bend, begin[1]), (end[0] - bend, end[1])
    else:
        begin, end = (left + WIDTH / 2, top + HEIGHT), (right + WIDTH / 2, bottom + HEIGHT)
        low = max(begin[1], end[1]) + DOWN
        bends = (begin[0], low), (end[0], low)
    path = f"M{_point(begin)} C{_point(bends[0])} {_point(bends[1])} {_point(end)}"
    return Line(path, note, not is_forward)


def _point(place: Sequence[float]) -> str:
    return f"{place[0]:.0f} {place[1]:.0f}"
