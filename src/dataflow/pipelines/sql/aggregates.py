"""Aggregates, their FILTER, and window functions."""

from __future__ import annotations

from sqlglot import exp

from dataflow.pipelines.sql import functions
from dataflow.pipelines.sql.casting import cast, unify
from dataflow.pipelines.sql.numbers import divide, quotient_scale
from dataflow.pipelines.sql.operators import condition, told_apart
from dataflow.pipelines.sql.texts import integer_of, text_of
from dataflow.pipelines.sql.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    INTEGER,
    MAX_DIGITS,
    NUMBERS,
    TEXT,
    SqlType,
    as_numeric,
)
from dataflow.pipelines.sql.work import Handler, Typed, Work

_UNSORTABLE = ("array", "json", "bytea", "boolean", "uuid", "interval")


def _count(work: Work, node: exp.Count) -> Typed:
    if isinstance(node.this, exp.Star):
        return Typed(f"COUNT(*){work.suffix}", BIGINT)
    word, inner = _distinct(work, node)
    value = work.expression(inner)
    if word:
        told_apart(work, value, node)
    return Typed(f"COUNT({word}{value.sql}){work.suffix}", BIGINT)


def _distinct(work: Work, node: exp.AggFunc) -> tuple[str, exp.Expr]:
    if not isinstance(node.this, exp.Distinct):
        return "", node.this
    if (
        len(node.this.expressions) != 1
        or isinstance(node.this.expressions[0], exp.Tuple)
        or node.this.args.get("on")
    ):
        work.refuse(node, "counts distinct rows of several columns")
    return "DISTINCT ", node.this.expressions[0]


def _sum(work: Work, node: exp.Sum) -> Typed:
    word, inner = _distinct(work, node)
    value = _number(work, inner, node)
    name = value.type.name
    if name in ("smallint", "integer"):
        return Typed(f"SUM({word}{value.sql}){work.suffix}", BIGINT)
    if name == "real":
        work.refuse(node, "adds up in single precision; cast to double precision")
    if name == "double":
        return Typed(f"SUM({word}{value.sql}){work.suffix}", DOUBLE)
    value = cast(work, value, as_numeric(value.type), node)
    kind = SqlType("numeric", min(value.type.precision + 10, MAX_DIGITS), value.type.scale, value.type.fixed)
    return Typed(f"SUM({word}{value.sql}){work.suffix}", kind)


def _average(work: Work, node: exp.Avg) -> Typed:
    word, inner = _distinct(work, node)
    value = _number(work, inner, node)
    if value.type.name in ("real", "double"):
        return Typed(f"AVG({word}CAST({value.sql} AS DOUBLE)){work.suffix}", DOUBLE)
    value = cast(work, value, as_numeric(value.type), node)
    total = Typed(f"SUM({word}{value.sql}){work.suffix}", value.type)
    count = f"CAST(NULLIF(COUNT({word}{value.sql}){work.suffix}, 0) AS DECIMAL(19, 0))"
    if not value.type.own:
        return divide(work, node, total, Typed(count, SqlType("numeric", 19)))
    # PostgreSQL divides at least as far as the longest value goes, which the sum need not show.
    digits = f"SUBSTRING_INDEX(TRIM(TRAILING '0' FROM CAST({value.sql} AS STRING)), '.', -1)"
    shown = f"MAX(LENGTH({digits})){work.suffix}"
    scale = quotient_scale(total, Typed(count, SqlType("numeric", 19)))
    kind = SqlType("numeric", MAX_DIGITS, scale, fixed=False)
    return Typed(work.call(functions.average(scale), total.sql, count, shown), kind)


def _number(work: Work, inner: exp.Expr, node: exp.Expr) -> Typed:
    value = work.expression(inner)
    if value.type.name not in NUMBERS:
        work.refuse(node, f"needs numbers, not {value.type.postgres}")
    return value


def _extreme(word: str) -> Handler:
    def handle(work: Work, node: exp.AggFunc) -> Typed:
        if node.expressions:
            work.refuse(node, "has no translation to Spark SQL")
        _, inner = _distinct(work, node)
        value = work.expression(inner)
        if value.type.name in _UNSORTABLE:
            work.refuse(node, f"compares values of type {value.type.postgres}")
        value = cast(work, value, TEXT, node) if value.type.name == "unknown" else value
        return Typed(f"{word}({value.sql}){work.suffix}", value.type)

    return handle


def _logical(word: str) -> Handler:
    def handle(work: Work, node: exp.Expr) -> Typed:
        inner = node.expressions[0] if isinstance(node, exp.Anonymous) else node.this
        return Typed(f"{word}({condition(work, inner)}){work.suffix}", BOOLEAN)

    return handle


def _text_list(work: Work, node: exp.GroupConcat) -> Typed:
    separator = text_of(work, node.args.get("separator"), node)
    if separator.constant is None:
        work.refuse(node, "joins with a separator that is not written out")
    items, kind = _ordered_items(work, node, keep_nulls=False)
    if kind.name not in ("text", "unknown"):
        work.refuse(node, f"joins {kind.postgres}; add ::text")
    return Typed(f"ARRAY_JOIN({items}, {separator.sql})", TEXT)


def _array(work: Work, node: exp.ArrayAgg) -> Typed:
    items, kind = _ordered_items(work, node, keep_nulls=True)
    return Typed(items, SqlType("array", element=kind))


def _ordered_items(work: Work, node: exp.AggFunc, keep_nulls: bool) -> tuple[str, SqlType]:
    """The values in their order as an array; NULL when there are none."""
    order = node.this
    if not isinstance(order, exp.Order):
        work.refuse(node, "has no order, so neither has its result; add ORDER BY inside the parentheses")
    distinct = isinstance(order.this, exp.Distinct)
    inner = order.this.expressions[0] if distinct else order.this
    value = work.expression(inner)
    value = cast(work, value, TEXT, node) if value.type.name == "unknown" else value
    keys = [
        (told_apart(work, work.expression(each.this), node, sorting=True), each) for each in order.expressions
    ]
    if distinct and [key.sql for key, _ in keys] != [value.sql]:
        work.refuse(node, "is DISTINCT and ordered by something else")
    fields = "".join(f"'k{number}', {key.sql}, " for number, (key, _) in enumerate(keys))
    collected = (
        f"COLLECT_{'SET' if distinct else 'LIST'}(NAMED_STRUCT({fields}'v', {value.sql})){work.suffix}"
    )
    kept = collected if keep_nulls else f"FILTER({collected}, i -> i.v IS NOT NULL)"
    comparison = "0"
    for number, (_, ordered) in reversed(list(enumerate(keys))):
        comparison = _compare(
            f"k{number}", bool(ordered.args.get("desc")), bool(ordered.args.get("nulls_first")), comparison
        )
    items = f"TRANSFORM(ARRAY_SORT({kept}, (l, r) -> {comparison}), i -> i.v)"
    return f"NULLIF({items}, CAST(ARRAY() AS ARRAY<{value.type.spark}>))", value.type


def _compare(key: str, descending: bool, nulls_first: bool, otherwise: str) -> str:
    less, more = (1, -1) if descending else (-1, 1)
    left_null, right_null = (-1, 1) if nulls_first else (1, -1)
    return (
        f"CASE WHEN l.{key} IS NULL AND r.{key} IS NULL THEN {otherwise} "
        f"WHEN l.{key} IS NULL THEN {left_null} WHEN r.{key} IS NULL THEN {right_null} "
        f"WHEN l.{key} < r.{key} THEN {less} WHEN l.{key} > r.{key} THEN {more} ELSE {otherwise} END"
    )


def _filter(work: Work, node: exp.Filter) -> Typed:
    return _with_suffix(work, node.this, f" FILTER (WHERE {condition(work, node.expression.this)})")


def _with_suffix(work: Work, inner: exp.Expr, suffix: str) -> Typed:
    before = work.suffix, work.suffixed
    work.suffix, work.suffixed = suffix + work.suffix, inner
    try:
        found = work.expression(inner)
    finally:
        work.suffix, work.suffixed = before
    if suffix not in found.sql:
        work.refuse(inner, "is not an aggregate or window function that is translated")
    return found


def order_by(work: Work, order: exp.Expr) -> str:
    """A sort order with PostgreSQL's place for NULLs: last, or first when descending."""
    keys = [told_apart(work, work.expression(each.this), each, sorting=True) for each in order.expressions]
    return ", ".join(f"{key.sql}{direction(each)}" for key, each in zip(keys, order.expressions, strict=True))


def direction(ordered: exp.Expr) -> str:
    """Ascending or descending, and where NULLs go, written out."""
    nulls = "FIRST" if ordered.args.get("nulls_first") else "LAST"
    return f" {'DESC' if ordered.args.get('desc') else 'ASC'} NULLS {nulls}"


def _window(work: Work, node: exp.Window) -> Typed:
    if node.args.get("alias") is not None or node.args.get("first") is not None:
        work.refuse(node, "uses a named window; write it out")
    parts = []
    if partition := node.args.get("partition_by"):
        keys = [told_apart(work, work.expression(each), node).sql for each in partition]
        parts.append(f"PARTITION BY {', '.join(keys)}")
    if order := node.args.get("order"):
        parts.append(f"ORDER BY {order_by(work, order)}")
    if spec := node.args.get("spec"):
        parts.append(_frame(work, spec))
    return _with_suffix(work, node.this, f" OVER ({' '.join(parts)})")


def _frame(work: Work, spec: exp.WindowSpec) -> str:
    kind = str(spec.args.get("kind") or "").upper()
    bounds = [
        (spec.args.get("start"), spec.args.get("start_side")),
        (spec.args.get("end"), spec.args.get("end_side")),
    ]
    offsets = [bound for bound, _ in bounds if isinstance(bound, exp.Expr)]
    if kind not in ("ROWS", "RANGE") or spec.args.get("exclude") or (kind == "RANGE" and offsets):
        work.refuse(spec, "is a window frame that is not translated")
    if any(not each.is_int for each in offsets):
        work.refuse(spec, "is a window frame that is not written out")
    words = [f"{bound or 'CURRENT ROW'} {side or ''}".upper().strip() for bound, side in bounds]
    return f"{kind} BETWEEN {words[0]} AND {words[1]}"


def _ranking(word: str) -> Handler:
    def handle(work: Work, node: exp.Func) -> Typed:
        arguments = integer_of(work, node.this, node).sql if node.args.get("this") is not None else ""
        kind = INTEGER if word == "NTILE" else BIGINT
        return Typed(f"CAST({word}({arguments}){_over(work, node)} AS {kind.spark})", kind)

    return handle


def _neighbour(word: str) -> Handler:
    def handle(work: Work, node: exp.Func) -> Typed:
        value, *default = unify(
            work, [work.expression(each) for each in (node.this, node.args.get("default")) if each], node
        )
        parts = [value.sql]
        if node.args.get("offset") is not None:
            parts.append(integer_of(work, node.args["offset"], node).sql)
        parts += [each.sql for each in default]
        return Typed(f"{word}({', '.join(parts)}){_over(work, node)}", value.type)

    return handle


def _over(work: Work, node: exp.Expr) -> str:
    if "OVER" not in work.suffix:
        work.refuse(node, "needs OVER (…)")
    return work.suffix


HANDLERS: dict[type, Handler] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Avg: _average,
    exp.Min: _extreme("MIN"),
    exp.Max: _extreme("MAX"),
    exp.LogicalAnd: _logical("BOOL_AND"),
    exp.LogicalOr: _logical("BOOL_OR"),
    exp.GroupConcat: _text_list,
    exp.ArrayAgg: _array,
    exp.Filter: _filter,
    exp.Window: _window,
    exp.RowNumber: _ranking("ROW_NUMBER"),
    exp.Rank: _ranking("RANK"),
    exp.DenseRank: _ranking("DENSE_RANK"),
    exp.Ntile: _ranking("NTILE"),
    exp.Lag: _neighbour("LAG"),
    exp.Lead: _neighbour("LEAD"),
    exp.FirstValue: _neighbour("FIRST_VALUE"),
    exp.LastValue: _neighbour("LAST_VALUE"),
}
FUNCTIONS: dict[str, Handler] = {"every": _logical("BOOL_AND")}
