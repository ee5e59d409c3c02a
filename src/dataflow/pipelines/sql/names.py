"""The names PostgreSQL gives to result columns without an alias."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql.postgres_text import write
from dataflow.pipelines.sql.types import read_type
from dataflow.pipelines.sql.work import fold

UNNAMED = "?column?"
_TRIMS = {"LEADING": "ltrim", "TRAILING": "rtrim"}
_OWN = (exp.Extract, exp.Substring, exp.Overlay, exp.Overlaps, exp.Array, exp.Exists, exp.Localtimestamp)
_NAMED: dict[type, str] = {kind: kind.key for kind in (*_OWN, exp.Interval)} | {
    exp.AtTimeZone: "timezone",
    exp.StrPosition: "position",
    exp.GroupConcat: "string_agg",
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
}
_TYPE_NAMES = {
    "smallint": "int2",
    "integer": "int4",
    "bigint": "int8",
    "real": "float4",
    "double": "float8",
    "boolean": "bool",
}


def column_name(item: exp.Expr) -> str:
    """The name of a column of a SELECT."""
    if isinstance(item, exp.Alias):
        return fold(item.args["alias"])
    return _figure(item)[0]


def _figure(node: exp.Expr) -> tuple[str, bool]:
    """A name, and whether it takes precedence over that of an enclosing cast or CASE."""
    if isinstance(node, exp.Paren | exp.Collate | exp.Filter | exp.Window | exp.WithinGroup | exp.Bracket):
        return _figure(node.this)
    if isinstance(node, exp.Column):
        return fold(node.this), True
    if isinstance(node, exp.Cast):
        name, strong = _figure(node.this)
        if strong:
            return name, True
        kind = read_type(write(node.args["to"]))
        kind = kind.element or kind
        return _TYPE_NAMES.get(kind.name, kind.name), False
    if isinstance(node, exp.Case):
        name, strong = _figure(node.args["default"]) if node.args.get("default") else ("", False)
        return (name, True) if strong else ("case", False)
    if isinstance(node, exp.Subquery | exp.Query):
        while isinstance(node, exp.Subquery | exp.SetOperation):
            node = node.this
        return column_name(node.expressions[0]) if isinstance(node, exp.Select) else "column1", True
    if isinstance(node, exp.Trim):
        return _TRIMS.get((node.args.get("position") or "").upper(), "btrim"), True
    if isinstance(node, exp.Anonymous):
        return node.name.lower(), True
    name = _NAMED.get(type(node), UNNAMED)
    return name, name not in (UNNAMED, "interval")
