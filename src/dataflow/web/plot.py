"""Bars over dataids: durations and rows of the last runs of a job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dataflow.model.record import record
from dataflow.web.html import duration, number, path_to
from dataflow.web.statuses import mark_of

STEP, WIDTH, HEIGHT = 9, 7, 70
LEAST_BAR = 2.0


@record
class Bar:
    """One dataid: its place, how high it is, what it says, and its run."""

    left: int
    top: float
    height: float
    kind: str
    label: str
    path: str


@record
class Plot:
    """All bars of one measure; `most` is what the highest stands for."""

    title: str
    width: int
    most: str
    bars: tuple[Bar, ...]


def make_plots(points: Sequence[Mapping[str, Any]]) -> list[Plot]:
    """Return the plots of durations and of rows, each if there is anything to show."""
    measures = (("Seconds", "seconds", duration), ("Rows", "rows", number))
    return [
        _plot(title, name, show, points)
        for title, name, show in measures
        if any(point[name] for point in points)
    ]


def _plot(title: str, name: str, show: Any, points: Sequence[Mapping[str, Any]]) -> Plot:
    most = max(point[name] or 0 for point in points)
    bars = []
    for place, point in enumerate(points):
        value = point[name]
        if value is None:
            continue
        height = round(max(LEAST_BAR, HEIGHT * value / most), 1)
        label = f"{point['dataid']}: {show(value)}, {point['outcome']}"
        kind, path = mark_of(point["outcome"]).kind, path_to("runs", point["run_id"])
        bars.append(Bar(place * STEP, round(HEIGHT - height, 1), height, kind, label, path))
    return Plot(title, len(points) * STEP, show(most), tuple(bars))
