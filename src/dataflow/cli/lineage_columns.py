"""`dataflow lineage --columns`: the columns of a dataset that a pipeline makes, and where they come from."""

from __future__ import annotations

from dataflow.actions.lineage import Edge, Lineage, Node, nearest
from dataflow.cli.pipeline_settings import installed_packages, load_catalog
from dataflow.errors import Conflict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.cli.context import Context
    from dataflow.pipelines.show.columns import Columns

COLUMN = "column"


def trace_columns(context: Context, dataset: str, directions: Sequence[str], depth: int) -> Lineage:
    """The columns of a dataset as a graph around it, from the project's pipelines."""
    catalog = load_catalog(context)
    with installed_packages("Pipelines"):
        from dataflow.pipelines.show.columns import trace_pipelines
    found = trace_pipelines(catalog)
    if dataset not in found:
        raise Conflict(
            f"No dataset or view pipeline of this project makes {dataset}, so its columns are not known. "
            "List them: dataflow pipeline list"
        )
    return nearest(_graph(found, dataset), directions, depth)


def _graph(found: dict[str, Columns], dataset: str) -> Lineage:
    """All columns of a project's pipelines, with those of one dataset as the roots."""
    nodes: dict[str, Node] = {}
    edges: dict[Edge, None] = {}
    for made, columns in found.items():
        for column, origins in columns.items():
            target = _add(nodes, made, column)
            edges |= {Edge(_add(nodes, *origin), target): None for origin in origins}
    roots = tuple(_name(dataset, column) for column in found[dataset])
    return Lineage(roots, nodes, tuple(edges))


def _add(nodes: dict[str, Node], dataset: str, column: str) -> str:
    name = _name(dataset, column)
    nodes.setdefault(name, Node(name, COLUMN, name, (("dataset", dataset), ("column", column))))
    return name


def _name(dataset: str, column: str) -> str:
    return f"{dataset}.{column}"
