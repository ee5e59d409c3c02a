"""Where the nodes of a graph stand: in layers from left to right, in an order in which few edges cross."""

from __future__ import annotations

from collections.abc import Sequence

from dataflow.model.record import record

SWEEPS = 4

Edge = tuple[str, str]


@record
class Place:
    """The layer of a node, from the left, and its place in the layer, from the top."""

    layer: int
    row: float


def lay_out(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, Place]:
    """Return the place of each node: right of all it comes from, except along edges that close a cycle."""
    forward = without_cycles(names, edges)
    depth = _find_depths(names, forward)
    layers: list[list[str]] = [[] for _ in range(1 + max(depth.values(), default=-1))]
    for name in names:
        layers[depth[name]].append(name)
    _reorder(layers, forward)
    tallest = max((len(layer) for layer in layers), default=0)
    return {
        name: Place(number, (tallest - len(layer)) / 2 + row)
        for number, layer in enumerate(layers)
        for row, name in enumerate(layer)
    }


def without_cycles(names: Sequence[str], edges: Sequence[Edge]) -> list[Edge]:
    """Return the edges without those that lead back to a node on the way to them."""
    following: dict[str, list[str]] = {name: [] for name in names}
    for source, target in edges:
        following[source].append(target)
    kept: list[Edge] = []
    seen: set[str] = set()
    for start in names:
        if start in seen:
            continue
        seen.add(start)
        way, path = [(start, iter(following[start]))], {start}
        while way:
            node, rest = way[-1]
            following_node = next(rest, None)
            if following_node is None:
                way.pop()
                path.discard(node)
            elif following_node not in path:
                kept.append((node, following_node))
                if following_node not in seen:
                    seen.add(following_node)
                    path.add(following_node)
                    way.append((following_node, iter(following[following_node])))
    return kept


def _find_depths(names: Sequence[str], edges: Sequence[Edge]) -> dict[str, int]:
    """Return for each node the length of the longest way to it."""
    following: dict[str, list[str]] = {name: [] for name in names}
    missing = dict.fromkeys(names, 0)
    for source, target in edges:
        following[source].append(target)
        missing[target] += 1
    depth = dict.fromkeys(names, 0)
    free = [name for name in names if not missing[name]]
    for node in free:  # grows
        for target in following[node]:
            depth[target] = max(depth[target], depth[node] + 1)
            missing[target] -= 1
            if not missing[target]:
                free.append(target)
    return depth


def _reorder(layers: list[list[str]], edges: Sequence[Edge]) -> None:
    """Put each node near the middle of its neighbours, sweeping right and left in turns."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for source, target in edges:
        before.setdefault(target, []).append(source)
        after.setdefault(source, []).append(target)
    rows = {name: float(row) for layer in layers for row, name in enumerate(layer)}
    for sweep in range(SWEEPS):
        neighbours, order = (after, reversed(layers)) if sweep % 2 else (before, iter(layers))
        for layer in order:
            middle = {
                name: _mean([rows[one] for one in neighbours.get(name, [])], rows[name]) for name in layer
            }
            layer.sort(key=middle.__getitem__)
            rows |= {name: float(row) for row, name in enumerate(layer)}


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise
