"""A plot of numbers over dataids, as bars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dataflow.model.record import record
from dataflow.web.html import path_to
from dataflow.web.statuses import mark_of

WIDTH, HEIGHT = 900.0, 120.0
WIDEST = 24.0
LEAST_HEIGHT = 1.0
"""Of a bar, so that a small number can be seen beside a large one."""


@record
class Bar:
    """One number: its place, what it says and where it leads."""

    left: float
    top: float
    width: float
    height: float
    kind: str
    title: str
    path: str


@record
class Plot:
    """Bars under one title; `most` is the number at the top, in words."""

    title: str
    most: str
    first: str
    last: str
    bars: tuple[Bar, ...]
    width: float = WIDTH
    height: float = HEIGHT


def plot(
    title: str, points: Sequence[Mapping[str, Any]], name: str, spell: Callable[[float], str]
) -> Plot | None:
    """Return the plot of one number of each point; None if none has it."""
    values = [point[name] for point in points]
    most = max([value for value in values if value is not None], default=None)
    if most is None:
        return None
    step = min(WIDTH / len(points), WIDEST)
    bars = [
        _bar(point, point[name] / most if most else 0.0, spell(point[name]), (number * step, step))
        for number, point in enumerate(points)
        if point[name] is not None
    ]
    return Plot(title, spell(most), points[0]["dataid"], points[-1]["dataid"], tuple(bars))


def _bar(point: Mapping[str, Any], share: float, words: str, place: tuple[float, float]) -> Bar:
    left, step = place
    height = max(LEAST_HEIGHT, round(share * HEIGHT, 1))
    title = f"{point['dataid']}: {words}, {point['outcome']}"
    width = round(max(step * 0.8, 0.5), 2)
    kind = mark_of(point["outcome"]).kind
    path = path_to("runs", point["run_id"])
    return Bar(round(left, 2), round(HEIGHT - height, 1), width, height, kind, title, path)
