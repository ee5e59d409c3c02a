"""Plots and drawings of lineage: what is drawn, and what it says."""

from __future__ import annotations

from typing import Any

from dataflow.web.html import duration, rate
from dataflow.web.lineage_view import draw, list_states
from dataflow.web.plot import HEIGHT, WIDTH, plot
from dataflow.web.screens.runs import split_lines


def make_points(*seconds: float | None) -> list[dict[str, Any]]:
    return [
        {"dataid": f"d{number}", "run_id": number, "outcome": "DONE", "seconds": value}
        for number, value in enumerate(seconds, 1)
    ]


def test_the_largest_number_is_as_high_as_the_plot_and_the_least_can_be_seen() -> None:
    found = plot("Duration", make_points(10.0, None, 5.0, 0.001), "seconds", duration)
    assert found is not None
    assert [bar.height for bar in found.bars] == [HEIGHT, HEIGHT / 2, 1.0]
    assert found.bars[0].title == "d1: 10 s, DONE"
    assert (found.most, found.first, found.last) == ("10 s", "d1", "d4")


def test_many_bars_stay_inside_the_plot() -> None:
    found = plot("Duration", make_points(*[1.0] * 1000), "seconds", duration)
    assert found is not None
    assert max(bar.left + bar.width for bar in found.bars) <= WIDTH


def test_nothing_is_plotted_if_nothing_was_counted() -> None:
    assert plot("Duration", make_points(None, None), "seconds", duration) is None
    assert plot("Duration", [], "seconds", duration) is None
    zeros = plot("Duration", make_points(0.0), "seconds", duration)
    assert zeros is not None
    assert zeros.bars[0].height == 1.0


def test_a_rate_has_the_unit_in_which_it_is_more_than_one() -> None:
    assert [rate(2.0), rate(0.5), rate(0.001), rate(0.0001)] == [
        "2.0 per s",
        "30.0 per min",
        "3.6 per h",
        "8.6 per day",
    ]


def test_the_boxes_of_a_graph_are_links_with_a_state() -> None:
    nodes = [
        {"id": "dataset:a/b", "kind": "dataset", "name": "a/b"},
        {"id": "job:j", "kind": "job", "name": "j"},
    ]
    edges = [{"from": "dataset:a/b", "to": "job:j", "note": ""}]
    counts = {"DONE": 1, "RUNNING": 2, "FAILED": 3, "INVALID": 0, "CLAIMABLE": 0, "WAITING": 0}
    states = list_states({"jobs": [{"job": "j", "hold": False} | counts], "datasets": []})
    found = draw({"roots": [], "nodes": nodes, "edges": edges}, states)
    assert [box.path for box in found.boxes] == ["/datasets/a%2Fb", "/jobs/j"]
    assert found.boxes[1].state == "3 failed, 2 running"
    assert found.boxes[1].mark.kind == "bad"
    assert len(found.lines) == 1


def test_the_lines_of_a_log_have_the_bytes_at_which_they_begin() -> None:
    assert split_lines("añ\nb\r\n\u2028c\n", 10) == [(10, "añ"), (14, "b\r"), (17, "\u2028c")]
    assert split_lines("no end", 0) == [(0, "no end")]
    assert split_lines("", 5) == []
