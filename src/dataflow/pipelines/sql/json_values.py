"""Conversion to JSON: to_jsonb, builders and aggregates, whose arguments may have any type."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.casting import call_function, cast
from dataflow.pipelines.sql.types import JSON, JSONB, TEXT
from dataflow.pipelines.sql.work import Handler, Typed, Work, fold, quote, text_literal


def to_document(work: Work, value: Typed, name: str, node: exp.Expr) -> Typed:
    """Convert a value to json or jsonb; NULL stays NULL."""
    kind = JSON if name == "json" else JSONB
    if value.type.name == "unknown":
        if value.constant is None:
            return Typed("CAST(NULL AS STRING)", kind)
        value = cast(work, value, TEXT, node)
    if value.type == kind:
        return value
    if value.type.name == "bpchar":
        value = Typed(value.sql, TEXT)  # with its padding
    if value.type.name in ("json", "jsonb"):
        return cast(work, value, kind, node)
    return call_function(work, f"to_{name}", [value], node)


def _convert(work: Work, node: exp.Anonymous) -> Typed:
    name = node.name.lower().rpartition("_")[2]
    if len(node.expressions) != 1:
        work.refuse(node, "needs one argument")
    if name == "jsonb" and (columns := _row_of(work, node.expressions[0])):
        return call_function(work, "jsonb_build_object", columns, node)
    value = work.expression(node.expressions[0])
    if value.type.name == "unknown":
        work.refuse(node, "needs an argument with a type; write ::text")
    return to_document(work, value, name, node)


def _row_of(work: Work, node: exp.Expr) -> list[Typed]:
    """Names and values of all columns if the name is a table's; empty if it is a column."""
    if not isinstance(node, exp.Column) or node.table or work.scope.find(fold(node.this)):
        return []
    pairs, scope = [], work.scope
    while scope.is_level and scope.outer is not None:  # a function in FROM sees the items before it
        scope = scope.outer
    for name, kind in scope.sources.get(fold(node.this), {}).items():
        value = Typed(f"{quote(fold(node.this))}.{quote(name)}", kind)
        pairs += [Typed(text_literal(name), TEXT, name), value]
    return [to_document(work, each, "jsonb", node) for each in pairs]


def _build(work: Work, node: exp.Anonymous) -> Typed:
    name = node.name.lower()
    kind = name.partition("_")[0]
    values = [to_document(work, work.expression(each), kind, node) for each in node.expressions]
    return call_function(work, name, values, node)


FUNCTIONS: dict[str, Handler] = {
    **dict.fromkeys(("to_json", "to_jsonb", "array_to_json"), _convert),
    **dict.fromkeys(
        ("jsonb_build_object", "jsonb_build_array", "json_build_object", "json_build_array"), _build
    ),
}
