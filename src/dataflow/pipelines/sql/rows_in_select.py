"""Set-returning functions, such as unnest, in the SELECT list."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.aggregates import is_aggregate
from dataflow.pipelines.sql.rows import SET_FUNCTIONS, array_of, exploded
from dataflow.pipelines.sql.types import TEXT
from dataflow.pipelines.sql.work import Handler, Scope, Typed, Work, quote

_ROWS = "dataflow rows"
_NO_SCOPE = (exp.Query, exp.Subquery)


def rows_beside(work: Work, node: exp.Select, source: str) -> str:
    """The FROM item that returns one row per element; several functions advance in step."""
    calls = [each for item in node.expressions for each in _find_calls(item)]
    if not calls:
        return ""
    if node.args.get("group") or node.args.get("distinct"):
        work.refuse(node, "has a set-returning function with GROUP BY or DISTINCT; move it to a subquery")
    if any(is_aggregate(each) for call in calls for each in call.walk()):
        work.refuse(node, "has a set-returning function of an aggregate; compute the aggregate in a subquery")
    around = work.scope
    if source:  # they are LATERAL to it
        work.scope = Scope(around, is_level=True)
    try:
        arrays = [array_of(work, each.name.lower(), list(each.expressions), each)[0] for each in calls]
    finally:
        work.scope = around
    names = [f"c{number}" for number, _ in enumerate(arrays)]
    for each, array, name in zip(calls, arrays, names, strict=True):
        work.scope.rows[id(each)] = Typed(f"{quote(_ROWS)}.{name}", array.type.element or TEXT)
    start = " CROSS JOIN" if source else " FROM"
    return f"{start} LATERAL ({exploded(arrays, False)}) AS {quote(_ROWS)}({', '.join(names)})"


def _find_calls(node: exp.Expr) -> list[exp.Anonymous]:
    if isinstance(node, _NO_SCOPE):
        return []
    if isinstance(node, exp.Anonymous) and node.name.lower() in SET_FUNCTIONS:
        return [node]
    return [found for child in node.iter_expressions() for found in _find_calls(child)]


def _column(work: Work, node: exp.Anonymous) -> Typed:
    found = work.scope.rows.get(id(node))
    if found is None:
        work.refuse(node, "returns a set of rows, which is not supported here; move it to FROM")
    return found


FUNCTIONS: dict[str, Handler] = dict.fromkeys(SET_FUNCTIONS, _column)
