"""WITH RECURSIVE: a query that reads its own rows, iteration by iteration, on Spark as well."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from dataflow.pipelines.sql.casting import to_common
from dataflow.pipelines.sql.types import NUMERIC, SqlType
from dataflow.pipelines.sql.work import Columns, Typed, Work, fold, quote

if TYPE_CHECKING:
    from dataflow.pipelines.sql.queries import Queries, Query


def is_recursive(node: exp.CTE) -> bool:
    """Whether a CTE reads itself."""
    name = fold(node.args["alias"].this)
    return any(len(each.parts) == 1 and fold(each.this) == name for each in node.this.find_all(exp.Table))


def recursive_table(queries: Queries, work: Work, node: exp.CTE) -> tuple[Columns, str]:
    """Columns and text of a CTE that reads itself. Its first part determines the types of all rows."""
    union, alias = node.this, node.args["alias"]
    if not isinstance(union, exp.Union) or union.args.get("distinct"):
        work.refuse(
            node, "reads itself; write it as SELECT … UNION ALL SELECT … with a condition that stops it"
        )
    if any(union.args.get(key) for key in ("order", "limit", "offset", "with_")):
        work.refuse(node, "reads itself and has ORDER BY or LIMIT; move them to the query that reads it")
    first = queries.query(work, union.this)
    kinds = [NUMERIC if kind.is_decimal and not kind.declared else kind for _, kind in first.columns]
    names = [fold(column) for column in alias.args.get("columns") or []]
    named = queries.name_columns(work, node, first, names)
    columns = dict(zip(named, kinds, strict=True))
    queries.tables.common[fold(alias.this)] = columns
    second = queries.query(work, union.expression, kinds)
    if [kind.postgres for _, kind in second.columns] != [kind.postgres for kind in kinds]:
        work.refuse(node, "reads itself with other types in its second part; add casts to its first part")
    sides = [_in_types(work, each, kinds, node) for each in (first, second)]
    return columns, f"({sides[0]}) UNION ALL ({sides[1]})"


def _in_types(work: Work, query: Query, kinds: list[SqlType], node: exp.Expr) -> str:
    names = [f"c{number}" for number, _ in enumerate(kinds)]
    values = [
        to_common(work, Typed(name, given), kind, node).sql
        for name, kind, (_, given) in zip(names, kinds, query.columns, strict=True)
    ]
    listed = ", ".join(f"{value} AS {quote(name)}" for value, name in zip(values, names, strict=True))
    return f"SELECT {listed} FROM ({query.sql}) AS part({', '.join(names)})"
