"""Graphs are laid out in layers, with or without cycles."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dataflow.web.graph_layout import lay_out, without_cycles

NAMES = [f"n{number}" for number in range(12)]


def test_a_node_stands_right_of_all_that_it_comes_from() -> None:
    places = lay_out(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")])
    assert [places[name].layer for name in "abcd"] == [0, 1, 2, 0]


def test_edges_do_not_cross_if_they_need_not() -> None:
    edges = [("a", "y"), ("b", "x"), ("c", "z")]
    places = lay_out(["a", "b", "c", "x", "y", "z"], edges)
    assert [places[source].row - places[target].row for source, target in edges] == [0, 0, 0]


def test_a_job_that_reads_its_own_output_is_drawn_once() -> None:
    edges = [("job", "data"), ("data", "job")]
    assert without_cycles(["job", "data"], edges) == [("job", "data")]
    assert [place.layer for place in lay_out(["job", "data"], edges).values()] == [0, 1]


def test_a_long_line_of_nodes_is_no_recursion() -> None:
    names = [str(number) for number in range(5000)]
    places = lay_out(names, list(pairwise(names)))
    assert places["4999"].layer == 4999


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), max_size=40))
def test_every_node_has_a_place_of_its_own_and_edges_lead_right(edges: list[tuple[str, str]]) -> None:
    places = lay_out(NAMES, edges)
    assert len(set(places.values())) == len(NAMES)
    forward = without_cycles(NAMES, edges)
    assert all(places[source].layer < places[target].layer for source, target in forward)
    assert set(forward) <= set(edges)
