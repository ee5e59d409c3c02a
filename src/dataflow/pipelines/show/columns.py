"""Which columns the columns of pipelines come from: by the SQL of views and by field mappings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from dataflow.actions.lineage import Edge, Lineage, Node, nearest
from dataflow.errors import BadInput, Conflict
from dataflow.model.records import DATASET, VIEW
from dataflow.pipelines.declare.catalog import Catalog
from dataflow.pipelines.declare.definitions import DatasetDefinition, ViewDefinition
from dataflow.pipelines.register.interval_plan import view_select
from dataflow.pipelines.register.spans import list_samples
from dataflow.pipelines.sql.column_origins import EVERY, Origin, list_origins

Columns = dict[str, tuple[Origin, ...]]

COLUMN = "column"
SOURCE = " (source)"
"""Follows the name of a dataset whose columns are the fields of its source."""


def trace_pipelines(catalog: Catalog) -> dict[str, Columns]:
    """Return the columns of each dataset that a pipeline makes, each with the columns it comes from.

    A column of a dataset pipeline comes from a field of its source, which counts as a dataset of its own.
    Python jobs say nothing about columns.
    """
    found: dict[str, Columns] = {}
    for definition in catalog.definitions.values():  # each after what it reads
        if definition.kind == DATASET:
            found[definition.dataset] = _mapped(cast("DatasetDefinition", definition))
        elif definition.kind == VIEW:
            found[definition.dataset] = _selected(
                cast("ViewDefinition", definition), found, catalog.constants
            )
    return found


def _mapped(definition: DatasetDefinition) -> Columns:
    source = definition.dataset + SOURCE
    columns: Columns = {field.column: ((source, field.source),) for field in definition.mapped}
    return columns | ({EVERY: ((source, EVERY),)} if definition.has_others else {})


def _selected(
    definition: ViewDefinition, known: Mapping[str, Columns], constants: Mapping[str, object]
) -> Columns:
    columns = {
        name: () if EVERY in known.get(name, {EVERY: ()}) else tuple(known[name]) for name in definition.reads
    }
    for span in list_samples(definition.timing):
        try:
            select = view_select(definition, span, constants)
            return list_origins(select, definition.sql.dialect, columns, definition.origin)
        except BadInput:
            continue  # `pipeline list` says what is wrong with it
    return {EVERY: tuple((name, EVERY) for name in definition.reads)}


def trace_columns(catalog: Catalog, dataset: str, directions: Sequence[str], depth: int) -> Lineage:
    """The columns of a dataset as a graph around it, from the project's pipelines."""
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
