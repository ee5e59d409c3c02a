"""`dataflow lineage`: what was made from what, as a tree, JSON, Mermaid or Graphviz."""

from __future__ import annotations

import re

from dataflow.actions.descriptions import describe_lineage
from dataflow.actions.lineage import BOTH, CHUNK, DOWN, JOB, RUN, UP, Lineage, trace_chunk, trace_dataset
from dataflow.cli.options import Commands, add_switches, count
from dataflow.cli.output import as_text, show_object
from dataflow.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence

    from dataflow.actions.lineage import Edge
    from dataflow.cli.context import Context

FORMATS = ("tree", "json", "mermaid", "dot")
HEADINGS = {UP: "made from:", DOWN: "used by:"}
_SPECIAL = re.compile(r'["#&<>\\`|;{}\[\]()]')


def add_parser(commands: Commands) -> None:
    """Adds `lineage`."""
    parser = commands.add("lineage", lineage, "DATASET", "[DATAID]", "json")
    add_switches(
        parser,
        up="only what it is made from",
        down="only what is made from it",
        columns="the columns of pipelines, and the columns each comes from",
    )
    help_text = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]} (default: tree)"
    parser.add_argument("--format", choices=FORMATS, default=None, metavar="FORMAT", help=help_text)
    help_text = "at most N jobs or runs away (default: all)"
    parser.add_argument("--depth", type=count, default=0, metavar="N", help=help_text)


def lineage(args: argparse.Namespace, context: Context) -> None:
    """Shows what a dataset, or one of its chunks, is made from, and what is made from it."""
    if args.up and args.down:
        raise UsageError("Give --up or --down, or neither for both.")
    if args.json and args.format not in (None, "json"):
        raise UsageError(f"--json and --format {args.format} exclude each other.")
    shape = "json" if args.json else args.format or "tree"
    directions = (UP,) if args.up else (DOWN,) if args.down else BOTH
    if args.columns:
        if args.dataid is not None:
            raise UsageError("--columns is about a dataset: leave out the dataid.")
        from dataflow.cli.pipeline_settings import load_catalog  # start-up: loads the pipelines

        catalog = load_catalog(context)
        from dataflow.pipelines.show.columns import trace_columns

        found = trace_columns(catalog, args.dataset, directions, args.depth)
    elif args.dataid is not None:
        found = trace_chunk(context.store, args.dataset, args.dataid, directions, args.depth)
    else:
        found = trace_dataset(context.store, args.dataset, directions, args.depth)
    show(found, directions, shape)


def show(found: Lineage, directions: Sequence[str], shape: str) -> None:
    """Writes a graph to stdout."""
    if shape == "json":
        show_object(describe_lineage(found), True)
        return
    lines = {"mermaid": as_mermaid, "dot": as_dot}
    for line in lines[shape](found) if shape in lines else as_tree(found, directions):
        print(line)


def as_tree(found: Lineage, directions: Sequence[str]) -> Iterator[str]:
    """The graph as lines; what was shown before is not unfolded again."""
    leading = {direction: found.leading(direction) for direction in directions}
    for root in found.roots:
        yield as_text(found.nodes[root].label)
        for direction in directions:
            if len(directions) > 1 or root not in leading[direction]:
                yield HEADINGS[direction] + ("" if root in leading[direction] else " nothing")
            yield from _branches(found, root, leading[direction], direction)


def _branches(found: Lineage, root: str, ends: dict[str, list[Edge]], direction: str) -> Iterator[str]:
    """The lines below a root. No recursion: a line of runs may be thousands long."""
    shown = {root}
    stack = [iter(_with_last(ends.get(root, [])))]
    prefixes = [""]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            prefixes.pop()
            continue
        edge, is_last = step
        name = edge.source if direction == UP else edge.target
        again = name in shown and name in ends
        note = f" [{edge.note}]" if edge.note else ""
        mark = " (see above)" if again else ""
        branch = "└─ " if is_last else "├─ "
        yield f"{prefixes[-1]}{branch}{as_text(found.nodes[name].label)}{as_text(note)}{mark}"
        if not again:
            shown.add(name)
            prefixes.append(prefixes[-1] + ("   " if is_last else "│  "))
            stack.append(iter(_with_last(ends.get(name, []))))


def _with_last(edges: list[Edge]) -> list[tuple[Edge, bool]]:
    return [(edge, number == len(edges)) for number, edge in enumerate(edges, start=1)]


def as_mermaid(found: Lineage) -> Iterator[str]:
    """The graph as a Mermaid flowchart."""
    numbers = {name: f"n{number}" for number, name in enumerate(found.nodes)}
    yield "flowchart LR"
    for name, node in found.nodes.items():
        text = _mermaid_text(node.label)
        yield (
            f'    {numbers[name]}("{text}")' if node.kind in (JOB, RUN) else f'    {numbers[name]}["{text}"]'
        )
    for edge in found.edges:
        note = f'|"{_mermaid_text(edge.note)}"|' if edge.note else ""
        yield f"    {numbers[edge.source]} -->{note} {numbers[edge.target]}"


def _mermaid_text(text: str) -> str:
    """Text inside quotes: Mermaid knows no backslash, but the numbers of characters."""
    return _SPECIAL.sub(lambda one: f"#{ord(one[0])};", as_text(text))


def as_dot(found: Lineage) -> Iterator[str]:
    """The graph for Graphviz."""
    yield "digraph lineage {"
    yield "    rankdir=LR;"
    for name, node in found.nodes.items():
        shape = "ellipse" if node.kind in (JOB, RUN) else "note" if node.kind == CHUNK else "box"
        yield f"    {_dot_text(name)} [label={_dot_text(node.label)}, shape={shape}];"
    for edge in found.edges:
        label = f" [label={_dot_text(edge.note)}]" if edge.note else ""
        yield f"    {_dot_text(edge.source)} -> {_dot_text(edge.target)}{label};"
    yield "}"


def _dot_text(text: str) -> str:
    escaped = as_text(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
